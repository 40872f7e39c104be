//! The interpreter's small objects, which it has in arenas of its own. \[UNSAFE\]
//!
//! Blocks of at most 512 bytes never come to malloc. The interpreter lets programs that have it inside put functions of
//! their own before its allocators (`PyMem_SetAllocator`): ours stand before those for memory and for objects. What is larger
//! goes on to malloc, and is heard there.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::loader;
use lifetrace_native::pools;

/// `SMALL_REQUEST_THRESHOLD` in CPython's `Objects/obmalloc.c`, the same in all versions.
const LARGEST: usize = 512;

/// `PYMEM_DOMAIN_RAW`, whose blocks are malloc's, and those that have arenas.
const RAW: i32 = 0;
const DOMAINS: [i32; 2] = [1, 2];

/// `PyMemAllocatorEx`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Functions {
    context: *mut c_void,
    malloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut u8,
    calloc: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut u8,
    realloc: unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> *mut u8,
    free: unsafe extern "C" fn(*mut c_void, *mut u8),
}

type Access = unsafe extern "C" fn(i32, *mut Functions);

/// The functions behind ours, by domain.
struct Behind(core::cell::UnsafeCell<[core::mem::MaybeUninit<Functions>; DOMAINS.len()]>);

// SAFETY: written once, before the functions that read it are called.
unsafe impl Sync for Behind {}

static BEHIND: Behind = Behind(core::cell::UnsafeCell::new(
    [const { core::mem::MaybeUninit::uninit() }; DOMAINS.len()],
));
static ARE_HEARD: AtomicBool = AtomicBool::new(false);

/// Whether they are heard.
pub(crate) fn are_heard() -> bool {
    ARE_HEARD.load(Ordering::Relaxed)
}

/// To be called once, before the program runs: hears them, unless they are malloc's anyway.
///
/// # Safety
/// No thread is within the interpreter's allocators.
pub(crate) unsafe fn hear() {
    // SAFETY: exported by all versions, with this type; they may be called before the interpreter is set up.
    let access = |name| unsafe {
        let found = loader::symbol(name)?;
        Some(core::mem::transmute::<*mut c_void, Access>(found.as_ptr()))
    };
    let (get, set) = (access(c"PyMem_GetAllocator"), access(c"PyMem_SetAllocator"));
    let (Some(get), Some(set)) = (get, set) else { return };
    let read = |domain| {
        let mut functions = core::mem::MaybeUninit::<Functions>::uninit();
        // SAFETY: fills what it is given, of a domain that there is.
        unsafe {
            get(domain, functions.as_mut_ptr());
            functions.assume_init()
        }
    };
    let raw = read(RAW).malloc as usize;
    let found = DOMAINS.map(read);
    if found.iter().any(|functions| functions.malloc as usize == raw) {
        return;
    }
    // SAFETY: by contract nobody reads it now.
    unsafe { *BEHIND.0.get() = found.map(core::mem::MaybeUninit::new) };
    let [memory, objects] = found.map(|it| it.context);
    // SAFETY: of this type, and by contract.
    unsafe {
        set(DOMAINS[0], &mut ours::<0>(memory));
        set(DOMAINS[1], &mut ours::<1>(objects));
    }
    ARE_HEARD.store(true, Ordering::Relaxed);
}

fn ours<const DOMAIN: usize>(context: *mut c_void) -> Functions {
    Functions {
        context,
        malloc: malloc::<DOMAIN>,
        calloc: calloc::<DOMAIN>,
        realloc: realloc::<DOMAIN>,
        free: free::<DOMAIN>,
    }
}

#[inline(always)]
fn behind<const DOMAIN: usize>() -> &'static Functions {
    // SAFETY: written before `set` has made our functions known.
    unsafe { (*BEHIND.0.get())[DOMAIN].assume_init_ref() }
}

fn is_small(size: usize) -> bool {
    size.wrapping_sub(1) < LARGEST
}

// The fast paths are a few instructions in front of a jump: what is rare is in functions of the same arguments.

/// # Safety
/// The interpreter's contract; the same holds for all functions here.
unsafe extern "C" fn malloc<const DOMAIN: usize>(context: *mut c_void, size: usize) -> *mut u8 {
    // SAFETY: the caller's contract, here and below.
    unsafe {
        if is_small(size) && pools::may_be_hit(size) {
            return malloc_hit::<DOMAIN>(context, size);
        }
        (behind::<DOMAIN>().malloc)(context, size)
    }
}

/// # Safety
/// As [`malloc`].
#[cold]
#[inline(never)]
unsafe extern "C" fn malloc_hit<const DOMAIN: usize>(context: *mut c_void, size: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    pools::born(size, || unsafe { (behind::<DOMAIN>().malloc)(context, size) })
}

/// # Safety
/// As [`malloc`].
unsafe extern "C" fn calloc<const DOMAIN: usize>(
    context: *mut c_void,
    count: usize,
    size: usize,
) -> *mut u8 {
    // SAFETY: the caller's contract.
    let next = || unsafe { (behind::<DOMAIN>().calloc)(context, count, size) };
    match count.checked_mul(size) {
        Some(bytes) if is_small(bytes) && pools::may_be_hit(bytes) => pools::born(bytes, next),
        _ => next(),
    }
}

/// # Safety
/// As [`malloc`].
unsafe extern "C" fn realloc<const DOMAIN: usize>(
    context: *mut c_void,
    block: *mut u8,
    size: usize,
) -> *mut u8 {
    // SAFETY: the caller's contract.
    unsafe {
        match block.is_null() {
            true => malloc::<DOMAIN>(context, size),
            false => pools::resized(block, size, is_small(size), || {
                (behind::<DOMAIN>().realloc)(context, block, size)
            }),
        }
    }
}

/// # Safety
/// As [`malloc`].
unsafe extern "C" fn free<const DOMAIN: usize>(context: *mut c_void, block: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe {
        if pools::may_be_sampled(block) {
            return free_maybe_sampled::<DOMAIN>(context, block);
        }
        (behind::<DOMAIN>().free)(context, block)
    }
}

/// # Safety
/// As [`malloc`].
#[cold]
#[inline(never)]
unsafe extern "C" fn free_maybe_sampled<const DOMAIN: usize>(context: *mut c_void, block: *mut u8) {
    pools::freed(block);
    // SAFETY: the caller's contract.
    unsafe { (behind::<DOMAIN>().free)(context, block) }
}
