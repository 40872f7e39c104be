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
use lifetrace_agent::backtrace::{Backtraces, Note};
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
    /// This library's own frames by their distance from the walk's beginning: return addresses, and
    /// notes of their rules. They never change, as the library is never unloaded.
    own: [[u64; 2]; 8],
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
/// [`Readable`]; `thread` is any number of its own.
#[inline(never)]
pub fn walk(thread: usize, readable: &mut Range<u64>, backtraces: &mut Backtraces) -> Walk {
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
        let Some(caller) = walker.leave_own(ip, registers) else { break };
        return walker.outwards(caller);
    }
    backtraces.leave_out();
    Walk::CutOff
}

impl Map {
    /// The modules of a moment.
    pub fn new(engine: Engine, text: Vec<Range<u64>>, own: Range<u64>) -> Self {
        Map { engine, text, own, number: 0 }
    }

    fn knows(&self, address: u64) -> bool {
        let after = self.text.partition_point(|range| range.start <= address);
        after > 0 && address <= self.text[after - 1].end
    }
}

/// A walk under way.
struct Walker<'a, 'stack> {
    map: &'a Map,
    tools: &'a mut Tools,
    stack: &'a mut Readable<'stack>,
    backtraces: &'a mut Backtraces,
}

/// The rule of a frame, if it has one; or that its code is of no known module.
enum Way {
    Rule(Rule),
    Framehop,
    Unknown,
}

impl Walker<'_, '_> {
    /// From here to the first frame outside this library; `None` if the walk ends before that.
    fn leave_own(&mut self, ip: u64, registers: Registers) -> Option<Caller> {
        let frame = Frame { sp: registers.sp(), bp: frame_pointer(&registers) };
        // The code here has set up its frame, so its address will do for a return address.
        let mut caller = Caller::At(ip, frame);
        let mut distance = 0;
        while let Caller::At(address, frame) = caller
            && self.map.own.contains(&address)
        {
            caller = match self.own_way(distance, address) {
                Way::Rule(rule) => rule.caller(frame, self.stack),
                Way::Framehop => self.framehop(address, frame),
                Way::Unknown => return None,
            };
            distance += 1;
        }
        Some(caller)
    }

    #[inline]
    fn own_way(&mut self, distance: usize, address: u64) -> Way {
        if let Some([known, note]) = self.tools.own.get(distance)
            && *known == address
            && let Some(rule) = Rule::noted(*note)
        {
            return Way::Rule(rule);
        }
        let way = self.way(address);
        if let (Way::Rule(rule), Some(place)) = (&way, self.tools.own.get_mut(distance)) {
            *place = [address, rule.note()];
        }
        way
    }

    /// From the innermost frame to the outermost, over frames that are met again where possible.
    fn outwards(&mut self, mut caller: Caller) -> Walk {
        loop {
            let (address, frame) = match caller {
                Caller::At(address, frame) => (address, frame),
                Caller::None => return self.end(0, Walk::Complete),
                Caller::Unreadable => return self.end(0, Walk::CutOff),
            };
            if let Some(met) = self.backtraces.meet(address, frame.sp) {
                match self.follow(met, frame) {
                    Followed::ToTheEnd => return self.end(met + 1, Walk::Complete),
                    Followed::ToFrame(last, next) => {
                        if !self.backtraces.push_met(met, last) {
                            return self.end(0, Walk::CutOff);
                        }
                        caller = next;
                        continue;
                    }
                    Followed::Nowhere => {}
                }
            }
            let way = self.way(address);
            let rule = if let Way::Rule(rule) = way { rule.note() } else { 0 };
            if !self.backtraces.push(address, Note { sp: frame.sp, rule }) {
                return self.end(0, Walk::CutOff);
            }
            caller = match way {
                Way::Rule(rule) => rule.caller(frame, self.stack),
                Way::Framehop => self.framehop(address, frame),
                Way::Unknown => return self.end(0, Walk::Unknown(address)),
            };
        }
    }

    /// Follows the last backtrace from a frame that was met again, as far as it is as it was. Each
    /// step is taken anew on the stack as it is now; only the search for its rule is saved.
    #[inline]
    fn follow(&mut self, met: usize, mut frame: Frame) -> Followed {
        let (addresses, notes) = self.backtraces.last(met);
        let mut followed = Followed::Nowhere;
        for (place, (address, note)) in addresses.iter().zip(notes).enumerate().rev() {
            if place != met {
                let Followed::ToFrame(_, Caller::At(next, outer)) = followed else { break };
                if next != *address || outer.sp != note.sp {
                    break;
                }
                frame = outer;
            }
            let Some(rule) = Rule::noted(note.rule) else { break };
            let caller = rule.caller(frame, self.stack);
            if place == 0 && caller == Caller::None {
                return Followed::ToTheEnd;
            }
            followed = Followed::ToFrame(place, caller);
        }
        followed
    }

    #[inline]
    fn way(&mut self, address: u64) -> Way {
        match self.tools.cache.get(address) {
            Some(rule) => Way::Rule(rule),
            None => self.search(address),
        }
    }

    #[cold]
    #[inline(never)]
    fn search(&mut self, address: u64) -> Way {
        let code = FrameAddress::from_return_address(address);
        let Some(code) = code.filter(|_| self.map.knows(address)) else { return Way::Unknown };
        match Rule::infer(&self.map.engine, &mut self.tools.rules, code) {
            Some(rule) => {
                self.tools.cache.insert(address, rule);
                Way::Rule(rule)
            }
            None => Way::Framehop,
        }
    }

    #[cold]
    #[inline(never)]
    fn framehop(&mut self, address: u64, frame: Frame) -> Caller {
        match FrameAddress::from_return_address(address) {
            Some(code) => self.slow_caller(code, frame),
            None => Caller::None,
        }
    }

    fn slow_caller(&mut self, code: FrameAddress, frame: Frame) -> Caller {
        let mut registers = registers::of(code.address(), frame);
        let mut read = |address| self.stack.word(address).ok_or(());
        let rules = &mut self.tools.rules;
        match self.map.engine.unwind_frame(code, &mut registers, rules, &mut read) {
            Ok(Some(address)) => {
                let bp = frame_pointer(&registers);
                Caller::At(address, Frame { sp: registers.sp(), bp })
            }
            Ok(None) => Caller::None,
            Err(_) => Caller::Unreadable,
        }
    }

    fn end(&mut self, shared: usize, walk: Walk) -> Walk {
        self.backtraces.settle(shared);
        walk
    }
}

/// How far the last backtrace led.
enum Followed {
    /// To the outermost frame.
    ToTheEnd,
    /// To the frame at this place, whose caller this is.
    ToFrame(usize, Caller),
    /// It doesn't say how to leave the first frame.
    Nowhere,
}
