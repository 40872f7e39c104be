//! Functions in modules that may go: those of a C++ runtime which a C program's plugin has brought along.
//!
//! What was found is remembered with the code that it begins with, and believed as long as that stands there.
//! Who calls such a function has the runtime loaded, so that it does not go meanwhile.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use lifetrace_agent::loader;
use lifetrace_agent::loader::image::Access;

/// There are no more operators.
const PLACES: usize = 32;

struct Found {
    name: AtomicPtr<c_char>,
    function: AtomicPtr<c_void>,
    code: AtomicU64,
}

static FOUND: [Found; PLACES] = [const {
    Found {
        name: AtomicPtr::new(ptr::null_mut()),
        function: AtomicPtr::new(ptr::null_mut()),
        code: AtomicU64::new(0),
    }
}; PLACES];

/// A definition of `symbol` outside this library, in whichever module has one.
pub fn find_symbol(symbol: &'static CStr) -> Option<*mut c_void> {
    let place = place(symbol);
    if let Some(known) = place.and_then(Found::get) {
        return Some(known);
    }
    let here = find_symbol as *const () as u64;
    let function = loader::symbol_elsewhere(symbol, here)?.as_ptr();
    if let Some((place, code)) = place.zip(code_at(function)) {
        place.code.store(code, Ordering::Relaxed);
        place.function.store(function, Ordering::Release);
    }
    Some(function)
}

/// Where a symbol's function is remembered: each symbol is one string.
fn place(symbol: &'static CStr) -> Option<&'static Found> {
    let name = symbol.as_ptr().cast_mut();
    FOUND.iter().find(|place| {
        let (null, order) = (ptr::null_mut(), Ordering::Relaxed);
        let taken = place.name.compare_exchange(null, name, order, order);
        taken.is_ok() || taken == Err(name)
    })
}

impl Found {
    fn get(&self) -> Option<*mut c_void> {
        let function = NonNull::new(self.function.load(Ordering::Acquire))?.as_ptr();
        (code_at(function)? == self.code.load(Ordering::Relaxed)).then_some(function)
    }
}

fn code_at(function: *mut c_void) -> Option<u64> {
    Access::Probed.word(function as u64)
}
