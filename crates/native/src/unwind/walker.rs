//! One walk, from frame to frame.
//!
//! Nearly all frames are passed in one of two tight loops, within the known part of the stack: those
//! that the thread's last backtrace has too by its notes ([`Walker::follow`]), new ones by rules from the
//! cache ([`Walker::climb`]). A frame that these can't pass is looked at closer, by itself.
//!
//! The loops are functions of their own so that what they work with stays in registers.

use framehop::{FrameAddress, Unwinder as _};
use lifetrace_agent::backtrace::{Backtraces, Climber, Note};
use lifetrace_agent::sys;

use super::cache::{Places, RuleCache};
use super::frame_registers::FrameRegisters;
use super::map::{Map, Rules};
use super::readable::{Climb, Readable};
use super::registers::{self, Registers, frame_pointer};
use super::rule::{Caller, Rule};
use super::{made_code, tables};

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

/// A walk under way.
pub struct Walker<'a, 'stack> {
    /// The modules.
    pub map: &'a Map,
    /// The slot's.
    pub tools: &'a mut Tools,
    /// This thread's stack.
    pub stack: &'a mut Readable<'stack>,
    /// Where the frames go.
    pub backtraces: &'a mut Backtraces,
}

/// The rule of a frame, if it has one; or that its code is of no known module.
enum Way {
    Rule(Rule),
    Framehop,
    Unknown,
}

impl Walker<'_, '_> {
    /// From here to the first frame outside this library and above `own_stack`; `None` if the walk ends
    /// before that.
    pub fn leave_own(&mut self, ip: u64, registers: Registers, own_stack: u64) -> Option<Caller> {
        let frame = FrameRegisters { sp: registers.sp(), bp: frame_pointer(&registers) };
        // The code here has set up its frame, so its address will do for a return address.
        let (mut distance, mut caller) = self.leave_known_own(ip, frame);
        while let Caller::At(address, frame) = caller
            && (self.map.own.contains(&address) || frame.sp <= own_stack)
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

    /// The way of earlier walks, as far as it is the same and the stack is known; how many frames that
    /// are.
    #[inline]
    fn leave_known_own(&self, mut address: u64, frame: FrameRegisters) -> (usize, Caller) {
        let Some(mut stack) = self.stack.climb(frame.sp) else {
            return (0, Caller::At(address, frame));
        };
        let (mut bp, mut distance) = (frame.bp, 0);
        for &[known, note] in &self.tools.own {
            if known != address {
                break;
            }
            let Some(next) = Rule::noted(note).climb(&mut stack, bp) else { break };
            (address, bp) = next;
            distance += 1;
        }
        (distance, Caller::At(address, FrameRegisters { sp: stack.sp(), bp }))
    }

    #[inline]
    fn own_way(&mut self, distance: usize, address: u64) -> Way {
        if let Some([known, note]) = self.tools.own.get(distance)
            && *known == address
            && *note != 0
        {
            return Way::Rule(Rule::noted(*note));
        }
        let way = self.way(address);
        if let (Way::Rule(rule), Some(place)) = (&way, self.tools.own.get_mut(distance)) {
            *place = [address, rule.note()];
        }
        way
    }

    /// From the innermost frame to the outermost, over frames that are met again where possible.
    pub fn outwards(&mut self, mut caller: Caller) -> Walk {
        let mut complete = Walk::Complete;
        loop {
            let (address, frame) = match caller {
                Caller::At(address, frame) => (address, frame),
                Caller::None => return self.end(0, complete),
                Caller::Unreadable => return self.end(0, Walk::CutOff),
            };
            let (met, address, frame) = self.climb(address, frame);
            if address == 0 {
                return self.end(0, complete);
            }
            if let Some(met) = met {
                match self.follow(met, frame) {
                    Followed::ToTheEnd => return self.end(met + 1, complete),
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
                Way::Unknown => match self.past_made_code(address, frame) {
                    Some(known) => {
                        complete = Walk::Past(address);
                        known
                    }
                    None => return self.end(0, Walk::Unknown(address)),
                },
            };
        }
    }

    /// Pushes the frames above one of code that is in no module, out to the first of a module, which is
    /// returned; `None` if nothing proves that they are frames.
    #[cold]
    #[inline(never)]
    fn past_made_code(&mut self, address: u64, mut frame: FrameRegisters) -> Option<Caller> {
        if !sys::is_readable(address) {
            return None;
        }
        let steps = made_code::steps_to_known(self.map, self.stack, address, frame)?;
        let (known, above) = (0..steps)
            .try_fold((address, frame), |(_, frame), _| made_code::step(self.stack, frame))?;
        if !self.leads_on(address, known, above) {
            return None;
        }
        for _ in 1..steps {
            let (caller, above) = made_code::step(self.stack, frame)?;
            if !self.backtraces.push(caller, Note { sp: above.sp, rule: 0 }) {
                return Some(Caller::Unreadable);
            }
            frame = above;
        }
        Some(Caller::At(known, above))
    }

    /// Whether a frame of a module, reached from made code near `address`, has a caller or is the
    /// outermost.
    fn leads_on(&mut self, address: u64, known: u64, frame: FrameRegisters) -> bool {
        let caller = match self.way(known) {
            Way::Rule(rule) => rule.caller(frame, self.stack),
            Way::Framehop => self.framehop(known, frame),
            Way::Unknown => Caller::Unreadable,
        };
        match caller {
            Caller::At(caller, _) => self.map.knows(caller) || made_code::is_near(address, caller),
            Caller::None => true,
            Caller::Unreadable => false,
        }
    }

    /// Pushes new frames, of which this may be the first, until one is met or has to be looked at closer.
    /// That one, and its place if it was met.
    #[inline(never)]
    fn climb(
        &mut self,
        address: u64,
        frame: FrameRegisters,
    ) -> (Option<usize>, u64, FrameRegisters) {
        let Some(stack) = self.stack.climb(frame.sp) else { return (None, address, frame) };
        let rules = self.tools.cache.places();
        let mut climber = ByRules { rules, stack, address, bp: frame.bp };
        let met = self.backtraces.push_until_met(&mut climber);
        (met, climber.address, FrameRegisters { sp: climber.stack.sp(), bp: climber.bp })
    }

    /// Follows the last backtrace from a frame that was met again, as far as it is as it was. Each
    /// step is taken anew on the stack as it is now; only the search for its rule is saved.
    #[inline(never)]
    fn follow(&mut self, met: usize, frame: FrameRegisters) -> Followed {
        let (addresses, notes) = self.backtraces.last(met);
        let Some(mut stack) = self.stack.climb(frame.sp) else { return Followed::Nowhere };
        let (mut bp, mut steps) = (frame.bp, 0);
        for ((note, outer), known) in notes.iter().zip(&notes[1..]).zip(&addresses[1..]) {
            let Some(next) = Rule::noted(note.rule).climb(&mut stack, bp) else { break };
            bp = next.1;
            if next.0 != *known || stack.sp() != outer.sp {
                let frame = FrameRegisters { sp: stack.sp(), bp };
                return Followed::ToFrame(met - steps, Caller::At(next.0, frame));
            }
            steps += 1;
        }
        let (address, rule) = (addresses[steps], Rule::noted(notes[steps].rule));
        let frame = FrameRegisters { sp: stack.sp(), bp };
        if rule != Rule::NONE {
            return match rule.caller(frame, self.stack) {
                Caller::None if steps == met => Followed::ToTheEnd,
                caller => Followed::ToFrame(met - steps, caller),
            };
        }
        match steps {
            0 => Followed::Nowhere,
            _ => Followed::ToFrame(met - steps + 1, Caller::At(address, frame)),
        }
    }

    #[inline]
    fn way(&mut self, address: u64) -> Way {
        match self.tools.cache.places().get(address) {
            Rule::NONE => self.search(address),
            rule => Way::Rule(rule),
        }
    }

    #[cold]
    #[inline(never)]
    fn search(&mut self, address: u64) -> Way {
        let code = FrameAddress::from_return_address(address);
        // The tables of a module that is gone may be gone, too.
        let is_known = self.map.knows(address) && !self.map.is_stale(address);
        let Some(code) = code.filter(|_| is_known) else { return Way::Unknown };
        let rule = Rule::infer(&self.map.engine, &mut self.tools.rules, code);
        tables::looked_up();
        match rule {
            Some(rule) => {
                self.tools.cache.insert(address, rule);
                Way::Rule(rule)
            }
            None => Way::Framehop,
        }
    }

    #[cold]
    #[inline(never)]
    fn framehop(&mut self, address: u64, frame: FrameRegisters) -> Caller {
        match FrameAddress::from_return_address(address) {
            Some(code) => self.slow_caller(code, frame),
            None => Caller::None,
        }
    }

    fn slow_caller(&mut self, code: FrameAddress, frame: FrameRegisters) -> Caller {
        let mut registers = registers::of(code.address(), frame);
        let mut read = |address| self.stack.word(address).ok_or(());
        let rules = &mut self.tools.rules;
        match self.map.engine.unwind_frame(code, &mut registers, rules, &mut read) {
            Ok(Some(address)) => {
                let bp = frame_pointer(&registers);
                Caller::At(address, FrameRegisters { sp: registers.sp(), bp })
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

/// A walk by rules from the cache, within the known part of the stack.
struct ByRules<'a> {
    rules: &'a Places,
    stack: Climb<'a>,
    address: u64,
    bp: u64,
}

impl Climber for ByRules<'_> {
    #[inline(always)]
    fn at(&self) -> (u64, u64) {
        (self.address, self.stack.sp())
    }

    #[inline(always)]
    fn go_on(&mut self) -> Option<u64> {
        let rule = self.rules.get(self.address);
        (self.address, self.bp) = rule.climb(&mut self.stack, self.bp)?;
        Some(rule.note())
    }
}
