//! The runtime's functions asked for roots: each calls back with a word and where that stands. \[UNSAFE\]

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::fibers::Fibers;
use super::holder::Holder;
use super::stacks::Stacks;

/// What is told of each root: who holds it, where it stands, the word.
pub(super) type Told<'a> = dyn FnMut(Holder, u64, u64) + 'a;

pub(super) type Action4 = unsafe extern "C" fn(u64, *const u64);
pub(super) type Action5 = unsafe extern "C" fn(*mut c_void, u64, *const u64);

/// By what it is known which frame a root is of that lies on a stack.
#[derive(Debug)]
pub(super) enum Way {
    None,
    /// The stacks of OCaml 4, which know whose they are.
    Four(Stacks),
    /// One stack of OCaml 5's.
    Five(Fibers),
}

/// By whom the runtime's functions are being asked: the child of a fork, which has one thread.
static ASKING: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

struct Asking<'a, 'b> {
    of: Holder,
    way: &'a mut Way,
    told: &'a mut Told<'b>,
}

/// Has all told of which the runtime tells while `ask` runs. What it tells of is `of` somebody.
pub(super) fn asking(of: Holder, way: &mut Way, told: &mut Told<'_>, ask: impl FnOnce()) {
    let mut asking = Asking { of, way, told };
    let before = ASKING.swap((&raw mut asking).cast(), Ordering::Relaxed);
    ask();
    ASKING.store(before, Ordering::Relaxed);
}

/// As OCaml 4 calls it.
pub(super) unsafe extern "C" fn root4(word: u64, slot: *const u64) {
    // SAFETY: null, or set by `asking` for as long as the runtime is asked.
    let Some(Asking { of, way, told }) =
        (unsafe { ASKING.load(Ordering::Relaxed).cast::<Asking<'_, '_>>().as_mut() })
    else {
        return;
    };
    // SAFETY: the runtime tells of it, in the child of a fork.
    let holder = unsafe {
        match way {
            Way::None => *of,
            Way::Four(stacks) => stacks.holder(of.sort, slot as u64, word),
            Way::Five(fibers) => fibers.holder(*of, slot as u64),
        }
    };
    told(holder, slot as u64, word);
}

/// As OCaml 5 calls it.
pub(super) unsafe extern "C" fn root5(_: *mut c_void, word: u64, slot: *const u64) {
    // SAFETY: as above.
    unsafe { root4(word, slot) }
}
