//! How to get from a frame to its caller, in 8 bytes, and how to find that out.
//!
//! Nearly all code says where its caller's frame is by a constant distance from the stack or the frame
//! pointer, and where it has saved the frame pointer by a constant distance from there:
//!
//! ```text
//! cfa = sp + a  or  bp + a        return address at cfa - 8        caller's sp = cfa
//! caller's bp = bp  or  the word at cfa - 8 - b                    a, b: multiples of 8
//! ```
//!
//! framehop knows that, and how to handle all else, but looks it up anew too often. A rule is got out
//! of it by letting it unwind one frame with made-up registers, on a made-up stack whose words tell
//! where they were read: if the results are at constant distances, those are the rule; if not (a signal
//! frame, an over-aligned function), there is none, and framehop does that frame every time. So by
//! construction a rule does what framehop would do.
//!
//! In which of the four ways a frame is left is as good as random from one to the next, so taking a rule
//! ([`Rule::climb`]) is a computation without branches for that.

use core::hint::select_unpredictable;

use super::frame_registers::FrameRegisters;
use super::map::{Engine, Rules};
use super::readable::{Climb, Readable};
use framehop::FrameAddress;

/// How to get from a frame to its caller, in 8 bytes:
///
/// ```text
/// 63           32 31        3  2   1   0
///  │ a, in bytes │ b, in words │ o │ s │ p │      p: a counts from bp, not sp
///                                             s: the caller's bp is saved, and b says where
///                                             o: there is no caller
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule(u64);

/// What the distance to the caller's frame counts from.
#[cfg(any(test, target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum Base {
    Sp = 0,
    Bp = FROM_BP,
}

const FROM_BP: u64 = 1;
const SAVED: u64 = 2;
const OUTERMOST: u64 = 4;

/// A frame's caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Goes on at this return address, with this frame.
    At(u64, FrameRegisters),
    /// There is none.
    None,
    /// The stack can't be read there, or leads backwards.
    Unreadable,
}

impl Rule {
    /// Of the outermost frame.
    #[cfg(any(test, target_arch = "x86_64"))]
    const OUTERMOST: Rule = Rule(OUTERMOST);

    /// From `base`, `cfa` bytes on, is the caller's frame; its frame pointer is saved `bp` bytes from
    /// there. Nothing if these are not whole words, or it is not saved below.
    #[cfg(any(test, target_arch = "x86_64"))]
    fn new(base: Base, cfa: i32, bp: Option<i32>) -> Option<Rule> {
        let bytes = bp.map_or(Some(0), |bp| bp.checked_add(8)?.checked_neg())?;
        let down = u32::try_from(bytes).ok()?;
        let saved = if bp.is_some() { SAVED } else { 0 };
        let rule = u64::from(cfa.cast_unsigned()) << 32 | u64::from(down) | base as u64 | saved;
        (cfa % 8 == 0 && down % 8 == 0).then_some(Rule(rule))
    }

    /// None: it leads nowhere.
    pub const NONE: Rule = Rule(0);

    /// As a note; that of no rule is 0.
    #[inline]
    pub fn note(self) -> u64 {
        self.0
    }

    /// From a note.
    #[inline]
    pub fn noted(note: u64) -> Rule {
        Rule(note)
    }

    /// The frame above `frame`.
    pub fn caller(self, frame: FrameRegisters, stack: &mut Readable<'_>) -> Caller {
        if self.0 & OUTERMOST != 0 || self.0 & FROM_BP != 0 && frame.bp == 0 {
            return Caller::None;
        }
        let cfa = self.cfa(frame);
        if cfa <= frame.sp {
            return Caller::Unreadable;
        }
        let bp = if self.0 & SAVED == 0 {
            Some(frame.bp)
        } else {
            stack.word(cfa.wrapping_sub(8 + u64::from(self.down())))
        };
        match (stack.word(cfa - 8), bp) {
            (Some(0), _) => Caller::None,
            (Some(address), Some(bp)) => Caller::At(address, FrameRegisters { sp: cfa, bp }),
            _ => Caller::Unreadable,
        }
    }

    /// From a frame with the frame pointer `bp` to its caller's return address and frame pointer, in
    /// the ordinary case; `None` is for [`Rule::caller`] to look at. The address is 0 if there is no
    /// caller.
    #[inline(always)]
    pub fn climb(self, stack: &mut Climb<'_>, bp: u64) -> Option<(u64, u64)> {
        let cfa = self.cfa(FrameRegisters { sp: stack.sp(), bp });
        let (address, saved) = stack.go(cfa, self.down())?;
        let bp = select_unpredictable(self.0 & SAVED != 0, saved, bp);
        Some((address, bp))
    }

    #[inline(always)]
    fn cfa(self, frame: FrameRegisters) -> u64 {
        let base = select_unpredictable(self.0 & FROM_BP != 0, frame.bp, frame.sp);
        base.wrapping_add_signed(self.0.cast_signed() >> 32)
    }

    /// How many bytes below the return address the caller's bp is.
    #[inline(always)]
    fn down(self) -> u32 {
        self.0 as u32 & !7
    }

    /// The rule of the frame at a return address, if it has one.
    #[cfg(target_arch = "x86_64")]
    pub fn infer(engine: &Engine, rules: &mut Rules, frame: FrameAddress) -> Option<Rule> {
        use super::registers::Registers;
        use framehop::Unwinder as _;

        const SP: u64 = 0x1000_0000_0000;
        const BP: u64 = 0x5000_0000_0000;
        let mut registers = Registers::new(frame.address(), SP, BP);
        let mut read = |address| Ok(word_at(address));
        let caller = engine.unwind_frame(frame, &mut registers, rules, &mut read);
        let Some(caller) = caller.ok()? else {
            return Some(Rule::OUTERMOST);
        };
        let cfa = registers.sp();
        let (base, offset) = distance(cfa, SP)
            .map(|offset| (Base::Sp, offset))
            .or_else(|| Some((Base::Bp, distance(cfa, BP)?)))?;
        let bp = match registers.bp() {
            BP => None,
            word => Some(distance(word_at(word), cfa)?),
        };
        Rule::new(base, offset, bp).filter(|_| caller == word_at(cfa.wrapping_sub(8)))
    }

    /// Return addresses are not at constant places there: framehop does every frame.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn infer(_: &Engine, _: &mut Rules, _: FrameAddress) -> Option<Rule> {
        None
    }
}

/// The word at `address` of the made-up stack. It is its own inverse, and no address.
#[cfg(target_arch = "x86_64")]
fn word_at(address: u64) -> u64 {
    address ^ 1 << 62
}

/// `to - from`, if that can be a distance within a frame.
#[cfg(target_arch = "x86_64")]
fn distance(to: u64, from: u64) -> Option<i32> {
    const LARGEST: i64 = 1 << 30;
    let distance = to.wrapping_sub(from) as i64;
    (-LARGEST..LARGEST).contains(&distance).then_some(distance as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_leads_to_the_words_that_it_names() {
        let words = [11u64, 22, 33, 44, 55, 66];
        let sp = words.as_ptr() as u64;
        let rule = |base, cfa, saved| Rule::new(base, cfa, saved).unwrap();
        let lead = |rule: Rule, bp: u64| {
            rule.caller(FrameRegisters { sp, bp }, &mut Readable::new(&mut (0..0), sp))
        };
        let at = |address, cfa: u64, bp| Caller::At(address, FrameRegisters { sp: sp + cfa, bp });
        assert_eq!(lead(rule(Base::Sp, 24, None), 7), at(33, 24, 7));
        assert_eq!(lead(rule(Base::Sp, 24, Some(-24)), 7), at(33, 24, 11));
        assert_eq!(lead(rule(Base::Bp, 16, Some(-16)), sp + 24), at(55, 40, 44));
        assert_eq!(lead(rule(Base::Bp, -8, Some(-16)), sp + 24), at(22, 16, 11));
        assert_eq!(lead(rule(Base::Bp, 16, None), 0), Caller::None);
        assert_eq!(lead(rule(Base::Sp, 0, None), 0), Caller::Unreadable);
        assert_eq!(lead(Rule::OUTERMOST, 7), Caller::None);
        assert_eq!(lead(Rule::NONE, 7), Caller::Unreadable);
        assert_eq!(Rule::noted(Rule::OUTERMOST.note()), Rule::OUTERMOST);
    }

    #[test]
    fn a_rule_is_of_whole_words_and_the_frame_pointer_below() {
        assert_eq!(Rule::new(Base::Sp, 12, None), None);
        for bp in [-12, 0, 8, i32::MAX] {
            assert_eq!(Rule::new(Base::Sp, 16, Some(bp)), None);
        }
        let widest = Rule::new(Base::Bp, -1 << 30, Some(-1 << 30)).unwrap();
        assert_eq!(widest.cfa(FrameRegisters { sp: 0, bp: 2 << 30 }), 1 << 30);
        assert_eq!(widest.down(), (1 << 30) - 8);
        assert_eq!(Rule::new(Base::Sp, 16, Some(-8)).map(Rule::down), Some(0));
    }

    /// Random rules on a small random stack, whose words often point into it. No rule leads out of it.
    #[test]
    fn a_climb_leads_where_the_closer_look_leads() {
        let mut random = lifetrace_agent::random::Random::new(3, 3);
        let mut words = [0u64; 128];
        let (start, mut climbed) = (words.as_ptr() as u64, 0);
        let mut below = |end: u64| random.word() % end;
        for _ in 0..100_000 {
            words.fill_with(|| [0, start + below(600), below(u64::MAX)][below(3) as usize]);
            let sp = start + 8 * below(64);
            let bp = [sp + 8 * below(8), start + below(600), 0][below(3) as usize];
            let base = [Base::Sp, Base::Bp][below(2) as usize];
            let saved = (below(2) == 0).then(|| -8 * (1 + below(10) as i32));
            let rule = Rule::new(base, 8 * (below(16) as i32 - 2), saved).unwrap();
            let (mut known, frame) = (0..0, FrameRegisters { sp, bp });
            let mut stack = Readable::new(&mut known, start);
            assert_eq!(stack.word(start + 8 * 127), Some(words[127]));
            let mut climb = stack.climb(sp).unwrap();
            if let Some((address, bp)) = rule.climb(&mut climb, bp) {
                let caller = match address {
                    0 => Caller::None,
                    _ => Caller::At(address, FrameRegisters { sp: climb.sp(), bp }),
                };
                assert_eq!(rule.caller(frame, &mut stack), caller, "{rule:?} of {frame:x?}");
                climbed += 1;
            }
        }
        assert!(climbed > 20_000, "{climbed}");
    }
}
