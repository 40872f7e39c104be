//! C++ operator new and delete. \[UNSAFE\]
//!
//! libstdc++ and libc++ implement them by malloc and free, which are hooked anyway: then these functions
//! only jump on. Allocators that programs bring (jemalloc, tcmalloc) implement them directly, or some of
//! them: then the block is counted here. Which it is, is found out by trying each: does the next
//! `operator new` move this thread's countdown?
//!
//! There may be no next definition in the link order, when a C program loads a C++ plugin with a
//! runtime of its own scope. It is then looked for, at the first call, in each loaded module.
//!
//! The functions are "C" because the next `operator new` may throw through them.

#![allow(non_snake_case, non_upper_case_globals, reason = "C++ mangled names")]

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use lifetrace_agent::sampler::footprint;
use lifetrace_agent::{sys, tls};

use crate::interpose::{freed, sampled};
use crate::live::filter;
use crate::modules;
use crate::next::{NEXT, comes_by_our_malloc, lookup};

/// Whether some of the next operators bypass malloc, and so free.
static BYPASS: AtomicBool = AtomicBool::new(false);

/// An operator's next definition.
struct Operator {
    symbol: &'static CStr,
    next: AtomicPtr<c_void>,
    /// It gives memory, and not by way of malloc: we count here.
    bypasses: AtomicBool,
}

impl Operator {
    const fn new(symbol: &'static CStr) -> Self {
        let next = AtomicPtr::new(core::ptr::null_mut());
        Operator { symbol, next, bypasses: AtomicBool::new(false) }
    }

    #[inline(always)]
    fn bypasses(&self) -> bool {
        self.bypasses.load(Ordering::Relaxed)
    }

    /// Finds out whether it goes through malloc, by `new`, which calls it.
    fn try_out(&self, new: impl FnOnce(*mut c_void) -> *mut u8, delete: &CStr, alignment: usize) {
        let Some(next) = lookup(self.symbol) else { return };
        let is_observed = comes_by_our_malloc(|| {
            let block = new(next);
            if let Some(delete) = lookup(delete) {
                // SAFETY: the operator that matches it; one that takes no alignment does not look at it.
                unsafe {
                    let delete: unsafe extern "C" fn(*mut u8, usize) = core::mem::transmute(delete);
                    delete(block, alignment);
                }
            }
        });
        self.bypasses.store(!is_observed, Ordering::Relaxed);
        BYPASS.fetch_or(!is_observed, Ordering::Relaxed);
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
    ($($name:ident = $symbol:literal (size $(, $argument:ident: $kind:ty = $trial:expr)*)
        aligned to $alignment:expr, deleted by $delete:literal;)*) => {
        $(
            /// # Safety
            /// As C++'s.
            #[inline(always)]
            pub unsafe extern "C" fn $name(size: usize $(, $argument: $kind)*) -> *mut u8 {
                let operator = &next_operators::$name;
                let next = move || match operator.next() {
                    // SAFETY: the definition of this operator has this type; the caller's contract.
                    Some(next) => unsafe {
                        let next: unsafe extern "C" fn(usize $(, $kind)*) -> *mut u8 =
                            core::mem::transmute(next);
                        next(size $(, $argument)*)
                    },
                    None => plain_malloc(size, $alignment),
                };
                if operator.bypasses() && tls::take(footprint(size)) {
                    return sampled(size, next);
                }
                next()
            }
        )*

        mod next_operators {
            use super::Operator;
            $(pub(super) static $name: Operator = Operator::new($symbol);)*
        }

        /// Finds out which operators are observed without. To be called when the next malloc is known, and again
        /// when more is hooked.
        pub fn resolve() {
            BYPASS.store(false, Ordering::Relaxed);
            $(
                $(let $argument: $kind = $trial;)*
                let new = |next: *mut c_void| {
                    // SAFETY: the definition of this operator has this type.
                    unsafe {
                        let next: unsafe extern "C" fn(usize $(, $kind)*) -> *mut u8 =
                            core::mem::transmute(next);
                        next(1 $(, $argument)*)
                    }
                };
                next_operators::$name.try_out(new, $delete, $alignment);
            )*
        }
    };
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
                if BYPASS.load(Ordering::Relaxed) && filter::may_be_sampled(block) {
                    freed(block);
                }
                let Some(next) = OPERATOR.next() else { return NEXT.free()(block) };
                let next: unsafe extern "C" fn(*mut u8 $(, $kind)*) =
                    core::mem::transmute(next);
                next(block $(, $argument)*)
            }
        }
    )*};
}

/// What `std::nothrow` is: nothing.
const NOTHROW: *const u8 = core::ptr::dangling();

operators_new! {
    _Znwm = c"_Znwm" (size) aligned to 16, deleted by c"_ZdlPv";
    _Znam = c"_Znam" (size) aligned to 16, deleted by c"_ZdaPv";
    _ZnwmRKSt9nothrow_t = c"_ZnwmRKSt9nothrow_t" (size, tag: *const u8 = NOTHROW)
        aligned to 16, deleted by c"_ZdlPv";
    _ZnamRKSt9nothrow_t = c"_ZnamRKSt9nothrow_t" (size, tag: *const u8 = NOTHROW)
        aligned to 16, deleted by c"_ZdaPv";
    _ZnwmSt11align_val_t = c"_ZnwmSt11align_val_t" (size, alignment: usize = 64)
        aligned to alignment, deleted by c"_ZdlPvSt11align_val_t";
    _ZnamSt11align_val_t = c"_ZnamSt11align_val_t" (size, alignment: usize = 64)
        aligned to alignment, deleted by c"_ZdaPvSt11align_val_t";
    _ZnwmSt11align_val_tRKSt9nothrow_t = c"_ZnwmSt11align_val_tRKSt9nothrow_t"
        (size, alignment: usize = 64, tag: *const u8 = NOTHROW)
        aligned to alignment, deleted by c"_ZdlPvSt11align_val_t";
    _ZnamSt11align_val_tRKSt9nothrow_t = c"_ZnamSt11align_val_tRKSt9nothrow_t"
        (size, alignment: usize = 64, tag: *const u8 = NOTHROW)
        aligned to alignment, deleted by c"_ZdaPvSt11align_val_t";
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
