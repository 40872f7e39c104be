//! framehop over the loaded modules, shared by all threads. \[UNSAFE\]
//!
//! A [`Map`] (the modules and framehop's view of them) is immutable; a new one replaces it when modules
//! come or go. Walkers hold a slot's lock while they use a map, so whoever has replaced it passes
//! once through every slot's lock and then knows that nobody is left inside the old one.
//!
//! The slot also holds framehop's rule caches, each with its working space, which is too large for
//! the stack of a thread that we do not own. One such cache has 509 places; a program's stacks have
//! more frames than that, so a slot has [`BANKS`] of them, and an address belongs to one. A thread
//! keeps to its slot, where its frames are. This is the place for a cache of our own.

use core::cell::UnsafeCell;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, Ordering};

use alloc::boxed::Box;
use alloc::vec::Vec;
use framehop::{FrameAddress, MustNotAllocateDuringUnwind, Unwinder as _};
use lifetrace_agent::lock::{Lock, Patience};

use super::readable::Readable;
use super::registers;

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{CacheAarch64 as Cache, UnwinderAarch64 as Unwinder};
#[cfg(target_arch = "x86_64")]
use framehop::x86_64::{CacheX86_64 as Cache, UnwinderX86_64 as Unwinder};

/// framehop's unwinder, which must not allocate while it works.
pub type Engine = Unwinder<&'static [u8], MustNotAllocateDuringUnwind>;
type Rules = Cache<MustNotAllocateDuringUnwind>;

/// The modules of a moment.
pub struct Map {
    /// framehop's.
    pub engine: Engine,
    /// Executable address ranges, in order.
    pub text: Vec<Range<u64>>,
    /// The range of this library, whose frames are left out.
    pub own: Range<u64>,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// At the outermost frame.
    Complete,
    /// Before that, in code of no known module, at this address.
    Unknown(u64),
    /// Before that, for another reason.
    CutOff,
}

const SLOTS: usize = 4;

/// Caches of a slot: together they have 4072 places.
const BANKS: usize = 8;

/// Places of one of framehop's caches, of which it takes the one at the address modulo this.
const PLACES: u64 = 509;

struct Slot {
    lock: Lock,
    rules: UnsafeCell<Option<[Rules; BANKS]>>,
}

// SAFETY: `rules` is touched under `lock` only.
unsafe impl Sync for Slot {}

static MAP: AtomicPtr<Map> = AtomicPtr::new(core::ptr::null_mut());
static SLOT: [Slot; SLOTS] =
    [const { Slot { lock: Lock::new(), rules: UnsafeCell::new(None) } }; SLOTS];

/// Makes the slots' caches. They are built on the stack first, so this is for the program's start,
/// on its main thread.
pub fn prepare() {
    for slot in &SLOT {
        let Some(_held) = slot.lock.acquire(Patience::Short) else { continue };
        // SAFETY: under the lock.
        let rules = unsafe { &mut *slot.rules.get() };
        rules.get_or_insert_with(|| core::array::from_fn(|_| Rules::new_in()));
    }
}

/// Replaces the map.
pub fn publish(map: Map) {
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

/// Walks this thread's stack and gives the address of every frame outside this library to `push`,
/// innermost first, as return addresses; `push` says whether it wants more. `readable` is what is known
/// of this thread's stack, see [`Readable`]; `thread` is any number of its own.
#[inline(never)]
pub fn walk(thread: usize, readable: &mut Range<u64>, push: impl FnMut(u64) -> bool) -> Walk {
    let (ip, registers) = registers::here();
    let mut stack = Readable::new(readable, registers.sp());
    for attempt in 0..=SLOTS {
        let slot = &SLOT[(thread + attempt) % SLOTS];
        let patience = if attempt < SLOTS { Patience::None } else { Patience::Short };
        let Some(_held) = slot.lock.acquire(patience) else { continue };
        // SAFETY: under the slot's lock the cache is ours, and the map is not dropped.
        let (map, rules) =
            unsafe { (MAP.load(Ordering::Acquire).as_ref(), &mut *slot.rules.get()) };
        let (Some(map), Some(rules)) = (map, rules.as_mut()) else { return Walk::CutOff };
        return map.walk(rules, ip, registers, &mut stack, push);
    }
    Walk::CutOff
}

impl Map {
    fn walk(
        &self,
        rules: &mut [Rules; BANKS],
        ip: u64,
        mut registers: registers::Registers,
        stack: &mut Readable<'_>,
        mut push: impl FnMut(u64) -> bool,
    ) -> Walk {
        let mut frame = FrameAddress::from_instruction_pointer(ip);
        let mut inside = true;
        let mut read = |address| stack.word(address).ok_or(());
        loop {
            let bank = &mut rules[bank(frame)];
            let caller = match self.engine.unwind_frame(frame, &mut registers, bank, &mut read) {
                Ok(Some(caller)) => caller,
                Ok(None) => return Walk::Complete,
                Err(_) => return Walk::CutOff,
            };
            inside = inside && self.own.contains(&caller);
            if !inside && !push(caller) {
                return Walk::CutOff;
            }
            match FrameAddress::from_return_address(caller) {
                Some(next) if self.knows(caller) => frame = next,
                _ => return Walk::Unknown(caller),
            }
        }
    }

    fn knows(&self, address: u64) -> bool {
        let after = self.text.partition_point(|range| range.start <= address);
        after > 0 && address <= self.text[after - 1].end
    }
}

/// The cache that an address belongs to: all together work like one of `PLACES * BANKS` places.
fn bank(frame: FrameAddress) -> usize {
    (frame.address_for_lookup() / PLACES) as usize % BANKS
}
