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
use alloc::vec::Vec;
use framehop::MustNotAllocateDuringUnwind;
use lifetrace_agent::backtrace::Backtraces;
use lifetrace_agent::lock::{Lock, Patience};

use super::cache::RuleCache;
use super::readable::Readable;
use super::registers;
use super::walker::Walker;
use crate::modules::late::Late;

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{CacheAarch64 as Cache, UnwinderAarch64 as Unwinder};
#[cfg(target_arch = "x86_64")]
use framehop::x86_64::{CacheX86_64 as Cache, UnwinderX86_64 as Unwinder};

/// framehop's unwinder, which must not allocate while it works.
pub type Engine = Unwinder<&'static [u8], MustNotAllocateDuringUnwind>;
/// framehop's own rules and working space.
pub type Rules = Cache<MustNotAllocateDuringUnwind>;

/// The modules of a moment.
pub struct Map {
    /// framehop's.
    pub engine: Engine,
    /// Executable address ranges, in order.
    pub text: Vec<Range<u64>>,
    /// The range of this library, whose frames are left out; empty where the agent is a part of the
    /// program.
    pub own: Range<u64>,
    /// The modules that may go, in the order of their code.
    late: Vec<Late>,
    number: u64,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// At the outermost frame.
    Complete,
    /// There as well, past code of no known module at this address and maybe others.
    Past(u64),
    /// Before that, in code of no known module, at this address.
    Unknown(u64),
    /// Somewhere, as a module that had code at this address is gone.
    Stale(u64),
    /// Before that, for another reason.
    CutOff,
}

const SLOTS: usize = 4;

struct Slot {
    lock: Lock,
    tools: UnsafeCell<Option<Tools>>,
}

/// What a walk works with.
pub struct Tools {
    /// The rules of most frames.
    pub cache: RuleCache,
    /// This library's own frames by their distance from the walk's beginning: return addresses, and
    /// notes of their rules. They never change, as the library is never unloaded.
    pub own: [[u64; 2]; 8],
    /// framehop's.
    pub rules: Rules,
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
/// out, too.
#[inline(never)]
pub fn walk(
    thread: usize,
    own_stack: u64,
    readable: &mut Range<u64>,
    backtraces: &mut Backtraces,
) -> Walk {
    let (ip, registers) = registers::here();
    let mut stack = Readable::new(readable, registers.sp());
    for attempt in 0..=SLOTS {
        let slot = &SLOT[(thread + attempt) % SLOTS];
        let patience = if attempt < SLOTS { Patience::None } else { Patience::Short };
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

impl Map {
    /// The modules of a moment.
    pub fn new(
        engine: Engine,
        text: Vec<Range<u64>>,
        own: Range<u64>,
        mut late: Vec<Late>,
    ) -> Self {
        late.sort_unstable_by_key(|module| module.text.start);
        Map { engine, text, own, late, number: 0 }
    }

    /// Whether the module that has code before `address` is gone. Asked for a frame of this thread's.
    pub fn is_stale(&self, address: u64) -> bool {
        self.late_at(address).is_some_and(|place| !self.late[place].is_around_us())
    }

    /// The first of these frames of this thread's whose module is gone.
    fn stale_among(&self, frames: &[u64]) -> Option<u64> {
        let all = self.late.first()?.text.start..self.late.last()?.text.end;
        let mut last_seen = usize::MAX;
        let mut seen = 0u64;
        frames.iter().copied().find(|&address| {
            let Some(place) = all.contains(&address).then(|| self.late_at(address)).flatten()
            else {
                return false;
            };
            let bit = 1u64.checked_shl(place as u32).unwrap_or(0);
            if place == last_seen || seen & bit != 0 {
                return false;
            }
            (last_seen, seen) = (place, seen | bit);
            !self.late[place].is_around_us()
        })
    }

    /// The module that may go and has code before `address`.
    fn late_at(&self, address: u64) -> Option<usize> {
        let after = self.late.partition_point(|module| module.text.start < address);
        let place = after.checked_sub(1)?;
        (address <= self.late[place].text.end).then_some(place)
    }

    /// Whether there is code at `address`.
    pub fn knows(&self, address: u64) -> bool {
        let after = self.text.partition_point(|range| range.start <= address);
        after > 0 && address <= self.text[after - 1].end
    }
}
