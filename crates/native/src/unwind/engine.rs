//! framehop over the loaded modules, shared by all threads. \[UNSAFE\]
//!
//! A [`Map`] (the modules and framehop's view of them) is immutable; a new one replaces it when modules
//! come or go. Walkers hold a slot's lock while they use a map, so whoever has replaced it passes
//! once through every slot's lock and then knows that nobody is left inside the old one.
//!
//! The slot also holds our cache of rules, in which a thread that keeps to its slot finds nearly all
//! frames ([`super::rule`]), and what framehop needs for the others: working space that is too large
//! for the stack of a thread that we do not own.

use core::cell::UnsafeCell;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use alloc::boxed::Box;
use alloc::vec::Vec;
use framehop::{FrameAddress, MustNotAllocateDuringUnwind, Unwinder as _};
use lifetrace_agent::lock::{Lock, Patience};

use super::readable::Readable;
use super::registers::{self, Registers, frame_pointer};
use super::rule::{Caller, Frame, Rule, RuleCache};

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
    /// The range of this library, whose frames are left out.
    pub own: Range<u64>,
    number: u64,
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

struct Slot {
    lock: Lock,
    tools: UnsafeCell<Option<Tools>>,
}

/// What a walk works with.
struct Tools {
    cache: RuleCache,
    rules: Rules,
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
        tools.get_or_insert_with(|| Tools { cache: RuleCache::new(), rules: Rules::new_in() });
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
        // SAFETY: under the slot's lock the tools are ours, and the map is not dropped.
        let (map, tools) =
            unsafe { (MAP.load(Ordering::Acquire).as_ref(), &mut *slot.tools.get()) };
        let (Some(map), Some(tools)) = (map, tools.as_mut()) else { return Walk::CutOff };
        tools.cache.keep_only(map.number);
        return map.walk(tools, (ip, registers), &mut stack, push);
    }
    Walk::CutOff
}

impl Map {
    /// The modules of a moment.
    pub fn new(engine: Engine, text: Vec<Range<u64>>, own: Range<u64>) -> Self {
        Map { engine, text, own, number: 0 }
    }

    fn walk(
        &self,
        tools: &mut Tools,
        (ip, registers): (u64, Registers),
        stack: &mut Readable<'_>,
        mut push: impl FnMut(u64) -> bool,
    ) -> Walk {
        let mut inside = true;
        let frame = Frame { sp: registers.sp(), bp: frame_pointer(&registers) };
        let first = FrameAddress::from_instruction_pointer(ip);
        let mut caller = self.slow_caller(tools, first, frame, stack);
        loop {
            let (address, frame) = match caller {
                Caller::At(address, frame) => (address, frame),
                Caller::None => return Walk::Complete,
                Caller::Unreadable => return Walk::CutOff,
            };
            inside = inside && self.own.contains(&address);
            if !inside && !push(address) {
                return Walk::CutOff;
            }
            caller = match tools.cache.get(address) {
                Some(rule) => rule.caller(frame, stack),
                None if !self.knows(address) => return Walk::Unknown(address),
                None => self.uncached_caller(tools, address, frame, stack),
            };
        }
    }

    #[cold]
    #[inline(never)]
    fn uncached_caller(
        &self,
        tools: &mut Tools,
        address: u64,
        frame: Frame,
        stack: &mut Readable<'_>,
    ) -> Caller {
        let Some(code) = FrameAddress::from_return_address(address) else { return Caller::None };
        match Rule::infer(&self.engine, &mut tools.rules, code) {
            Some(rule) => {
                tools.cache.insert(address, rule);
                rule.caller(frame, stack)
            }
            None => self.slow_caller(tools, code, frame, stack),
        }
    }

    fn slow_caller(
        &self,
        tools: &mut Tools,
        code: FrameAddress,
        frame: Frame,
        stack: &mut Readable<'_>,
    ) -> Caller {
        let mut registers = registers::of(code.address(), frame);
        let mut read = |address| stack.word(address).ok_or(());
        match self.engine.unwind_frame(code, &mut registers, &mut tools.rules, &mut read) {
            Ok(Some(address)) => {
                let bp = frame_pointer(&registers);
                Caller::At(address, Frame { sp: registers.sp(), bp })
            }
            Ok(None) => Caller::None,
            Err(_) => Caller::Unreadable,
        }
    }

    fn knows(&self, address: u64) -> bool {
        let after = self.text.partition_point(|range| range.start <= address);
        after > 0 && address <= self.text[after - 1].end
    }
}
