//! framehop over the loaded modules, shared by all threads. \[UNSAFE\]
//!
//! A [`Map`] (the modules and framehop's view of them) is immutable; a new one replaces it when modules
//! come or go. Walkers hold a slot's lock while they use a map, so whoever has replaced it passes
//! once through every slot's lock and then knows that nobody is left inside the old one.
//!
//! The slot also holds our cache of rules, in which a thread that keeps to its slot finds nearly all
//! frames ([`super::cache`]), and what framehop needs for the others: working space that is too large
//! for the stack of a thread that we do not own.

use core::cell::UnsafeCell;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use alloc::boxed::Box;
use lifetrace_agent::backtrace::Backtraces;
use lifetrace_agent::lock::{Lock, Patience};

use super::cache::RuleCache;
use super::map::{Map, Rules};
use super::readable::Readable;
use super::registers;
use super::walker::{Tools, Walk, Walker};

const SLOTS: usize = 4;

struct Slot {
    lock: Lock,
    tools: UnsafeCell<Option<Tools>>,
}

// SAFETY: `tools` is touched under `lock` only.
unsafe impl Sync for Slot {}

static NUMBER: AtomicU64 = AtomicU64::new(0);
static MAP: AtomicPtr<Map> = AtomicPtr::new(core::ptr::null_mut());
static SLOT: [Slot; SLOTS] =
    [const { Slot { lock: Lock::new(), tools: UnsafeCell::new(None) } }; SLOTS];

/// Makes the slots' caches. They are built on the stack first, so this is for the program's start,
/// on its main thread.
pub fn prepare() {
    for slot in &SLOT {
        let Some(_held) = slot.lock.acquire(Patience::Short) else { continue };
        // SAFETY: under the lock.
        let tools = unsafe { &mut *slot.tools.get() };
        tools.get_or_insert_with(|| Tools {
            cache: RuleCache::new(),
            own: [[0; 2]; 8],
            rules: Rules::new_in(),
        });
    }
}

/// Replaces the map.
pub fn publish(mut map: Map) {
    map.number = NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
    let old = MAP.swap(Box::into_raw(Box::new(map)), Ordering::AcqRel);
    let unused = SLOT.iter().all(|slot| slot.lock.acquire(Patience::Short).is_some());
    if unused && !old.is_null() {
        // SAFETY: it came from a box, and every walker that could have seen it has left its slot.
        drop(unsafe { Box::from_raw(old) });
    }
}

/// In a forked child: walkers are in the parent.
pub fn reset_after_fork() {
    SLOT.iter().for_each(|slot| slot.lock.reset());
}

/// Walks this thread's stack and leaves the address of every frame outside this library in
/// `backtraces`, as return addresses. `readable` is what is known of this thread's stack, see
/// [`Readable`]; `thread` is any number of its own; frames up to the stack pointer `own_stack` are left
/// out, too. Where other threads walk in all the slots, it waits for one within `patience`, and then ends cut
/// off.
#[inline(never)]
pub fn walk(
    thread: usize,
    patience: Patience,
    own_stack: u64,
    readable: &mut Range<u64>,
    backtraces: &mut Backtraces,
) -> Walk {
    let (ip, registers) = registers::here();
    let mut stack = Readable::new(readable, registers.sp());
    for attempt in 0..=SLOTS {
        let slot = &SLOT[(thread + attempt) % SLOTS];
        let patience = if attempt < SLOTS { Patience::None } else { patience };
        let Some(_held) = slot.lock.acquire(patience) else { continue };
        // SAFETY: under the slot's lock the tools are ours, and the map is not dropped.
        let (map, tools) =
            unsafe { (MAP.load(Ordering::Acquire).as_ref(), &mut *slot.tools.get()) };
        let (Some(map), Some(tools)) = (map, tools.as_mut()) else { break };
        tools.cache.keep_only(map.number);
        backtraces.start(map.number);
        let mut walker = Walker { map, tools, stack: &mut stack, backtraces };
        let Some(caller) = walker.leave_own(ip, registers, own_stack) else { break };
        let end = walker.outwards(caller);
        return map.stale_among(backtraces.frames()).map_or(end, Walk::Stale);
    }
    backtraces.leave_out();
    Walk::CutOff
}
