//! The interpreter's small objects, which it has in arenas of its own. \[UNSAFE\]
//!
//! Blocks of at most 512 bytes never come to malloc. The interpreter lets programs that have it inside put functions of
//! their own before its allocators (`PyMem_SetAllocator`): ours stand before those for memory and for objects. What is larger
//! goes on to malloc, and is heard there.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU8, Ordering};

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

/// How the small objects are heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Hearing {
    /// That is not decided yet.
    Undecided = 0,
    /// By functions of ours.
    Ours = 1,
    /// As malloc's, which they are.
    Mallocs = 2,
    /// They are not: others have put functions of their own there, or nobody wants to know of them.
    Not = 3,
}

static HEARING: AtomicU8 = AtomicU8::new(Hearing::Undecided as u8);

/// How they are heard now.
pub(crate) fn hearing() -> Hearing {
    const ALL: [Hearing; 4] = [Hearing::Undecided, Hearing::Ours, Hearing::Mallocs, Hearing::Not];
    ALL[usize::from(HEARING.load(Ordering::Relaxed)) % ALL.len()]
}

/// Hears them from now on, unless that has been decided before.
///
/// # Safety
/// No other thread is within the interpreter's allocators for memory and objects: the program does not run yet, or this
/// thread has the interpreter's lock.
pub(crate) unsafe fn hear() {
    if hearing() == Hearing::Undecided {
        // SAFETY: by contract.
        let hearing = unsafe { put_in() };
        HEARING.store(hearing as u8, Ordering::Relaxed);
    }
}

/// # Safety
/// As [`hear`].
unsafe fn put_in() -> Hearing {
    // SAFETY: exported by all versions, with this type; they may be called before the interpreter is set up.
    let access = |name| unsafe {
        let found = loader::symbol(name)?;
        Some(core::mem::transmute::<*mut c_void, Access>(found.as_ptr()))
    };
    let (get, set) = (access(c"PyMem_GetAllocator"), access(c"PyMem_SetAllocator"));
    let (Some(get), Some(set)) = (get, set) else { return Hearing::Not };
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
    // The interpreter's own functions have none; those that check or trace have, and may take away what stands before them.
    if found.iter().any(|functions| !functions.context.is_null()) {
        return Hearing::Not;
    }
    if found.iter().any(|functions| functions.malloc as usize == raw) {
        return Hearing::Mallocs;
    }
    // SAFETY: nobody reads it now: by contract, and as our functions are not known yet.
    unsafe { *BEHIND.0.get() = found.map(core::mem::MaybeUninit::new) };
    // SAFETY: of this type, and by contract. Whoever reads them meanwhile (an interpreter beside, which has a lock of its
    // own) may get some of ours and some of those behind, which do the same.
    unsafe {
        set(DOMAINS[0], &mut ours::<0>());
        set(DOMAINS[1], &mut ours::<1>());
    }
    Hearing::Ours
}

fn ours<const DOMAIN: usize>() -> Functions {
    Functions {
        context: core::ptr::null_mut(),
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

// The fast paths are a few instructions in front of a jump: what is rare is in functions of the same arguments. So what goes on
// to malloc has none of ours in its backtrace.

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
    unsafe {
        match count.checked_mul(size) {
            Some(bytes) if is_small(bytes) && pools::may_be_hit(bytes) => {
                calloc_hit::<DOMAIN>(context, count, size)
            }
            _ => (behind::<DOMAIN>().calloc)(context, count, size),
        }
    }
}

/// # Safety
/// As [`malloc`].
#[cold]
#[inline(never)]
unsafe extern "C" fn calloc_hit<const DOMAIN: usize>(
    context: *mut c_void,
    count: usize,
    size: usize,
) -> *mut u8 {
    let bytes = count.saturating_mul(size);
    // SAFETY: the caller's contract.
    pools::born(bytes, || unsafe { (behind::<DOMAIN>().calloc)(context, count, size) })
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
        if block.is_null() {
            malloc::<DOMAIN>(context, size)
        } else if is_small(size) || pools::may_be_sampled(block) {
            resize::<DOMAIN>(context, block, size)
        } else {
            (behind::<DOMAIN>().realloc)(context, block, size)
        }
    }
}

/// # Safety
/// As [`malloc`]; there is a block.
#[inline(never)]
unsafe extern "C" fn resize<const DOMAIN: usize>(
    context: *mut c_void,
    block: *mut u8,
    size: usize,
) -> *mut u8 {
    // SAFETY: the caller's contract.
    pools::resized(block, size, is_small(size), || unsafe {
        (behind::<DOMAIN>().realloc)(context, block, size)
    })
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
