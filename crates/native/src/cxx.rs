//! C++ operator new and delete. \[UNSAFE\]
//!
//! libstdc++ and libc++ implement them by malloc and free, which we hear anyway: then these functions
//! only jump on. Allocators that programs bring (jemalloc, tcmalloc) implement them directly: then the
//! block is counted here. Which it is, is found out by trying: does the next `operator new` move this
//! thread's countdown?
//!
//! There may be no next definition in the link order, when a C program loads a C++ plugin with a
//! runtime of its own scope. It is then looked for, at the first call, in each loaded module.
//!
//! The functions are "C" because the next `operator new` may throw through them.

#![allow(non_snake_case, reason = "C++ mangled names")]

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use lifetrace_agent::sampler::footprint;
use lifetrace_agent::{sys, tls};

use crate::interpose::{Malloc, sampled_or};
use crate::next::{NEXT, comes_by_our_malloc, lookup};
use crate::{modules, region, sample};

/// Whether the next operators bypass malloc, so that we count here.
static BYPASS: AtomicBool = AtomicBool::new(false);

/// An operator's next definition.
struct Operator {
    symbol: &'static CStr,
    next: AtomicPtr<c_void>,
}

impl Operator {
    const fn new(symbol: &'static CStr) -> Self {
        Operator { symbol, next: AtomicPtr::new(core::ptr::null_mut()) }
    }

    #[inline(always)]
    fn next(&self) -> Option<*mut c_void> {
        let next = self.next.load(Ordering::Relaxed);
        if next.is_null() { self.find() } else { Some(next) }
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> Option<*mut c_void> {
        let Some(found) = lookup(self.symbol) else { return modules::find_symbol(self.symbol) };
        self.next.store(found, Ordering::Relaxed);
        Some(found)
    }
}

/// Finds out whether operator new goes through malloc. To be called once, when the next malloc is
/// known.
pub fn resolve() {
    let (Some(new), Some(delete)) = (lookup(c"_Znwm"), lookup(c"_ZdlPv")) else { return };
    // SAFETY: the operators' types; the block is deleted by the operator that matches its new.
    let heard = comes_by_our_malloc(|| unsafe {
        let new: unsafe extern "C" fn(usize) -> *mut u8 = core::mem::transmute(new);
        let delete: unsafe extern "C" fn(*mut u8) = core::mem::transmute(delete);
        delete(new(1));
    });
    BYPASS.store(!heard, Ordering::Relaxed);
}

/// There is no C++ runtime to be found, so nobody who could throw.
#[cold]
#[inline(never)]
fn plain_malloc(size: usize, alignment: usize) -> *mut u8 {
    // SAFETY: an ordinary allocation.
    let block = unsafe { NEXT.memalign()(alignment.max(16), size) };
    if block.is_null() {
        sys::abort();
    }
    block
}

macro_rules! operators_new {
    ($($name:ident = $symbol:literal (size $(, $argument:ident: $kind:ty)*) aligned to $alignment:expr;)*) => {$(
        /// # Safety
        /// As C++'s.
        #[inline(always)]
        pub unsafe extern "C" fn $name(size: usize $(, $argument: $kind)*) -> *mut u8 {
            static OPERATOR: Operator = Operator::new($symbol);
            let next = move || match OPERATOR.next() {
                // SAFETY: the definition of this operator has this type; the caller's contract.
                Some(next) => unsafe {
                    let next: unsafe extern "C" fn(usize $(, $kind)*) -> *mut u8 =
                        core::mem::transmute(next);
                    next(size $(, $argument)*)
                },
                None => plain_malloc(size, $alignment),
            };
            if BYPASS.load(Ordering::Relaxed) && tls::take(footprint(size)) {
                return sampled_or(size, $alignment, next);
            }
            next()
        }
    )*};
}

macro_rules! operators_delete {
    ($($name:ident = $symbol:literal (block $(, $argument:ident: $kind:ty)*);)*) => {$(
        /// # Safety
        /// As C++'s.
        #[inline(always)]
        pub unsafe extern "C" fn $name(block: *mut u8 $(, $argument: $kind)*) {
            static OPERATOR: Operator = Operator::new($symbol);
            // SAFETY: the definition of this operator has this type; the caller's contract.
            unsafe {
                if region::contains(block) && sample::freed(&Malloc, block) {
                    return;
                }
                let Some(next) = OPERATOR.next() else { return NEXT.free()(block) };
                let next: unsafe extern "C" fn(*mut u8 $(, $kind)*) =
                    core::mem::transmute(next);
                next(block $(, $argument)*)
            }
        }
    )*};
}

operators_new! {
    _Znwm = c"_Znwm" (size) aligned to 16;
    _Znam = c"_Znam" (size) aligned to 16;
    _ZnwmRKSt9nothrow_t = c"_ZnwmRKSt9nothrow_t" (size, tag: *const u8) aligned to 16;
    _ZnamRKSt9nothrow_t = c"_ZnamRKSt9nothrow_t" (size, tag: *const u8) aligned to 16;
    _ZnwmSt11align_val_t = c"_ZnwmSt11align_val_t" (size, alignment: usize) aligned to alignment;
    _ZnamSt11align_val_t = c"_ZnamSt11align_val_t" (size, alignment: usize) aligned to alignment;
    _ZnwmSt11align_val_tRKSt9nothrow_t = c"_ZnwmSt11align_val_tRKSt9nothrow_t"
        (size, alignment: usize, tag: *const u8) aligned to alignment;
    _ZnamSt11align_val_tRKSt9nothrow_t = c"_ZnamSt11align_val_tRKSt9nothrow_t"
        (size, alignment: usize, tag: *const u8) aligned to alignment;
}

operators_delete! {
    _ZdlPv = c"_ZdlPv" (block);
    _ZdaPv = c"_ZdaPv" (block);
    _ZdlPvm = c"_ZdlPvm" (block, size: usize);
    _ZdaPvm = c"_ZdaPvm" (block, size: usize);
    _ZdlPvRKSt9nothrow_t = c"_ZdlPvRKSt9nothrow_t" (block, tag: *const u8);
    _ZdaPvRKSt9nothrow_t = c"_ZdaPvRKSt9nothrow_t" (block, tag: *const u8);
    _ZdlPvSt11align_val_t = c"_ZdlPvSt11align_val_t" (block, alignment: usize);
    _ZdaPvSt11align_val_t = c"_ZdaPvSt11align_val_t" (block, alignment: usize);
    _ZdlPvmSt11align_val_t = c"_ZdlPvmSt11align_val_t" (block, size: usize, alignment: usize);
    _ZdaPvmSt11align_val_t = c"_ZdaPvmSt11align_val_t" (block, size: usize, alignment: usize);
    _ZdlPvSt11align_val_tRKSt9nothrow_t = c"_ZdlPvSt11align_val_tRKSt9nothrow_t"
        (block, alignment: usize, tag: *const u8);
    _ZdaPvSt11align_val_tRKSt9nothrow_t = c"_ZdaPvSt11align_val_tRKSt9nothrow_t"
        (block, alignment: usize, tag: *const u8);
}
