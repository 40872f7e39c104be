//! The allocator that the program would have without us: the next definition of each function in
//! the link order, be it glibc's or that of a library that the program brings. \[UNSAFE\]
//!
//! The table starts with the functions of [`crate::boot`], which serve until the real ones are
//! known, so that no call ever tests a pointer.

use core::ffi::{CStr, c_int, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use lifetrace_agent::{loader, tls};

use crate::boot;

/// A table of functions: `static NAME: Type`, and for each its type and its stand-in.
macro_rules! table {
    (static $table:ident: $type:ident; $($field:ident: $kind:ty = $start:expr;)*) => {
        /// One pointer per function.
        #[derive(Debug)]
        pub struct $type {
            $($field: core::sync::atomic::AtomicPtr<core::ffi::c_void>,)*
        }

        /// The table.
        pub static $table: $type = $type {
            $($field: core::sync::atomic::AtomicPtr::new(
                $start as $kind as *mut core::ffi::c_void,
            ),)*
        };

        impl $type {
            $(
                #[doc = concat!("The next `", stringify!($field), "`.")]
                #[inline(always)]
                pub fn $field(&self) -> $kind {
                    // SAFETY: only functions of this type are ever stored here, and only while the
                    // process has a single thread, so a plain load will do, which a compiler makes
                    // the operand of a jump.
                    unsafe { core::mem::transmute(*self.$field.as_ptr()) }
                }
            )*

            /// Puts what `by` says in place of each function. To be called while the process has a single
            /// thread.
            pub(crate) fn replace(
                &self,
                by: &mut impl FnMut(*mut core::ffi::c_void) -> *mut core::ffi::c_void,
            ) {
                for place in [$(&self.$field),*] {
                    let old = place.load(core::sync::atomic::Ordering::Relaxed);
                    place.store(by(old), core::sync::atomic::Ordering::Relaxed);
                }
            }

            /// Looks all functions up. Those that nobody defines keep their stand-in.
            fn look_up(&self) {
                $({
                    const NAME: &[u8] = concat!(stringify!($field), "\0").as_bytes();
                    if let Ok(name) = core::ffi::CStr::from_bytes_with_nul(NAME)
                        && let Some(found) = $crate::next::lookup(name)
                    {
                        self.$field.store(found, core::sync::atomic::Ordering::Relaxed);
                    }
                })*
            }
        }
    };
}

pub(crate) use table;

type Allocate = unsafe extern "C" fn(usize) -> *mut u8;
type AllocateTwo = unsafe extern "C" fn(usize, usize) -> *mut u8;

table! {
    static NEXT: Next;
    malloc: Allocate = boot::malloc;
    free: unsafe extern "C" fn(*mut u8) = boot::free;
    calloc: AllocateTwo = boot::calloc;
    realloc: unsafe extern "C" fn(*mut u8, usize) -> *mut u8 = boot::realloc;
    posix_memalign: unsafe extern "C" fn(*mut *mut u8, usize, usize) -> c_int = boot::posix_memalign;
    aligned_alloc: AllocateTwo = boot::memalign;
    memalign: AllocateTwo = boot::memalign;
    valloc: Allocate = boot::valloc;
    pvalloc: Allocate = boot::valloc;
    malloc_usable_size: unsafe extern "C" fn(*mut u8) -> usize = boot::malloc_usable_size;
    free_sized: unsafe extern "C" fn(*mut u8, usize) = free_sized;
    free_aligned_sized: unsafe extern "C" fn(*mut u8, usize, usize) = free_aligned_sized;
}

/// Whether the next `malloc_usable_size` is of the allocator that the next `malloc` is of. A program may
/// bring an allocator without one, and then never ask; another one's might crash on its blocks.
static TELLS_USABLE_SIZE: AtomicBool = AtomicBool::new(false);

/// Whether blocks of the next allocator may be asked for their usable size.
pub(crate) fn tells_usable_size() -> bool {
    TELLS_USABLE_SIZE.load(Ordering::Relaxed)
}

/// Where the next allocator does not have it.
unsafe extern "C" fn free_sized(block: *mut u8, _size: usize) {
    // SAFETY: the caller's contract.
    unsafe { NEXT.free()(block) }
}

/// Where the next allocator does not have it.
unsafe extern "C" fn free_aligned_sized(block: *mut u8, _alignment: usize, _size: usize) {
    // SAFETY: the caller's contract.
    unsafe { NEXT.free()(block) }
}

impl Next {
    /// Looks all functions up. To be called once, while the process has a single thread.
    pub fn resolve(&self) {
        self.look_up();
        let bias_of = |function: *const c_void| loader::bias_at(function as u64);
        let tells = bias_of(self.malloc() as _) == bias_of(self.malloc_usable_size() as _);
        TELLS_USABLE_SIZE.store(tells, Ordering::Relaxed);
        boot::stay_if_used(self);
    }

    /// Puts the functions that know boot memory back in front of those that take a block.
    pub(crate) fn guard_boot_memory(&self) {
        boot::remember(self.free(), self.realloc(), self.malloc_usable_size());
        let pointers = [
            (&self.free, boot::free as *mut c_void),
            (&self.realloc, boot::realloc as *mut c_void),
            (&self.malloc_usable_size, boot::malloc_usable_size as *mut c_void),
        ];
        for (slot, function) in pointers {
            slot.store(function, Ordering::Relaxed);
        }
    }
}

/// The next function of a name, which may not be known yet.
pub(crate) struct Named {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Named {
    pub(crate) const fn new(name: &'static CStr) -> Named {
        Named { name, found: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// It, which is looked up if need be.
    pub(crate) fn get(&self) -> Option<*mut c_void> {
        self.known().or_else(|| {
            let found = lookup(self.name)?;
            self.found.store(found, Ordering::Relaxed);
            Some(found)
        })
    }

    /// Has it be this function, which is not to be looked up.
    pub(crate) fn lead_to(&self, function: usize) {
        self.found.store(function as *mut c_void, Ordering::Relaxed);
    }

    /// It, if it has been looked up.
    #[inline(always)]
    pub(crate) fn known(&self) -> Option<*mut c_void> {
        let known = self.found.load(Ordering::Relaxed);
        (!known.is_null()).then_some(known)
    }
}

/// The next definition of a symbol after ours.
pub(crate) fn lookup(name: &CStr) -> Option<*mut c_void> {
    loader::next_symbol(name, lookup as *const () as u64).map(NonNull::as_ptr)
}

/// Does `work`; whether it came by our malloc: did it move this thread's countdown? Nothing is
/// sampled or counted meanwhile.
pub(crate) fn comes_by_our_malloc(work: impl FnOnce()) -> bool {
    tls::aside(|| {
        let countdown = tls::countdown();
        work();
        tls::countdown() != countdown
    })
}
