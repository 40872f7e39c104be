//! How to get from a frame to its caller, in 8 bytes, and how to find that out.
//!
//! Nearly all code says where its caller's frame is by a constant distance from the stack or the frame
//! pointer, and where it has saved the frame pointer by a constant distance from there:
//!
//! ```text
//! cfa = sp + a  or  bp + a        return address at cfa - 8        caller's sp = cfa
//! caller's bp = bp  or  the word at cfa + b
//! ```
//!
//! framehop knows that, and how to handle all else, but looks it up anew too often. A rule is got out
//! of it by letting it unwind one frame with made-up registers, on a made-up stack whose words tell
//! where they were read: if the results are at constant distances, those are the rule; if not (a signal
//! frame, an over-aligned function), there is none, and framehop does that frame every time. So by
//! construction a rule does what framehop would do.

use super::engine::{Engine, Rules};
use super::readable::Readable;
use super::registers::Registers;
use framehop::{FrameAddress, Unwinder as _};

/// What a walk knows of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Stack pointer, when it is this frame's turn.
    pub sp: u64,
    /// Frame pointer, if the code keeps one.
    pub bp: u64,
}

/// See the module.
///
/// ```text
/// 63            32 31             3 2 1 0
///  │ a, in bytes  │ b, in 8 bytes  │s│base│      s: the caller's bp is at cfa + b, not bp as it is
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule(u64);

/// What the distance to the caller's frame counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum Base {
    Sp = 1,
    Bp = 2,
    /// There is no caller.
    Outermost = 3,
}

const BASE: u64 = 3;
const SAVED: u64 = 4;

/// A frame's caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Goes on at this return address, with this frame.
    At(u64, Frame),
    /// There is none.
    None,
    /// The stack can't be read there, or leads backwards.
    Unreadable,
}

impl Rule {
    /// Of the outermost frame.
    #[cfg(target_arch = "x86_64")]
    const OUTERMOST: Rule = Rule(Base::Outermost as u64);

    /// From `base`, `cfa` bytes on, is the caller's frame; its frame pointer is saved `bp` bytes, a
    /// multiple of 8, from there.
    #[cfg(any(test, target_arch = "x86_64"))]
    fn new(base: Base, cfa: i32, bp: Option<i32>) -> Rule {
        let saved = bp.map_or(0, |offset| u64::from(offset.cast_unsigned()) | SAVED);
        Rule(u64::from(cfa.cast_unsigned()) << 32 | saved | base as u64)
    }

    /// As a note, which is not 0.
    #[inline]
    pub fn note(self) -> u64 {
        self.0
    }

    /// From a note; `None` for 0.
    #[inline]
    pub fn noted(note: u64) -> Option<Rule> {
        (note != 0).then_some(Rule(note))
    }

    /// The frame above `frame`.
    #[inline(always)]
    pub fn caller(self, frame: Frame, stack: &mut Readable<'_>) -> Caller {
        let base = match self.0 & BASE {
            base if base == Base::Sp as u64 => frame.sp,
            base if base == Base::Bp as u64 && frame.bp != 0 => frame.bp,
            _ => return Caller::None,
        };
        let cfa = base.wrapping_add_signed(self.0.cast_signed() >> 32);
        if cfa <= frame.sp {
            return Caller::Unreadable;
        }
        let bp = if self.0 & SAVED == 0 {
            Some(frame.bp)
        } else {
            let offset = (self.0 as u32 & !7).cast_signed();
            stack.word(cfa.wrapping_add_signed(i64::from(offset)))
        };
        match (stack.word(cfa - 8), bp) {
            (Some(0), _) => Caller::None,
            (Some(address), Some(bp)) => Caller::At(address, Frame { sp: cfa, bp }),
            _ => Caller::Unreadable,
        }
    }

    /// The rule of the frame at a return address, if it has one.
    #[cfg(target_arch = "x86_64")]
    pub fn infer(engine: &Engine, rules: &mut Rules, frame: FrameAddress) -> Option<Rule> {
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
            word => Some(distance(word_at(word), cfa).filter(|offset| offset % 8 == 0)?),
        };
        (caller == word_at(cfa.wrapping_sub(8))).then(|| Rule::new(base, offset, bp))
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

/// Places of a [`RuleCache`]: four for each hash, which is a cache line where the memory begins at one.
const PLACES: usize = 4096;
const WAYS: usize = 4;

/// The rules of return addresses that were met before, four-way associative, the latest first.
#[derive(Debug)]
pub struct RuleCache {
    /// Of which map the rules are.
    map: u64,
    sets: alloc::boxed::Box<[Set]>,
}

/// Return addresses and the notes of their rules, zero where there is none.
type Set = [[u64; 2]; WAYS];

impl RuleCache {
    const EMPTY: Set = [[0; 2]; WAYS];

    /// Empty.
    pub fn new() -> Self {
        RuleCache { map: 0, sets: alloc::vec![Self::EMPTY; PLACES / WAYS].into_boxed_slice() }
    }

    /// Forgets the rules of other maps than this.
    pub fn keep_only(&mut self, map: u64) {
        if self.map != map {
            if self.map != 0 {
                self.sets.fill(Self::EMPTY);
            }
            self.map = map;
        }
    }

    /// The rule of a return address.
    #[inline]
    pub fn get(&self, address: u64) -> Option<Rule> {
        let set = self.sets.get(Self::hash(address))?;
        let [_, note] = set.iter().find(|[key, _]| *key == address)?;
        Rule::noted(*note)
    }

    /// Remembers a rule in place of the oldest one of its hash.
    pub fn insert(&mut self, address: u64, rule: Rule) {
        if let Some(set) = self.sets.get_mut(Self::hash(address)) {
            set.copy_within(..WAYS - 1, 1);
            set[0] = [address, rule.note()];
        }
    }

    /// Fibonacci hashing (Knuth, vol. 3, 6.4).
    #[inline]
    fn hash(address: u64) -> usize {
        let bits = (PLACES / WAYS).ilog2();
        (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)) as usize
    }
}

impl Default for RuleCache {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_keeps_four_of_a_hash_and_forgets_other_maps() {
        let rule = |cfa| Rule::new(Base::Sp, cfa, None);
        let mut cache = RuleCache::new();
        cache.keep_only(1);
        let same_hash: alloc::vec::Vec<u64> = (1..1_000_000)
            .filter(|&address| RuleCache::hash(address) == RuleCache::hash(77))
            .take(5)
            .collect();
        for (index, &address) in same_hash.iter().enumerate() {
            assert_eq!(cache.get(address), None);
            cache.insert(address, rule(index as i32));
            assert_eq!(cache.get(address), Some(rule(index as i32)));
        }
        assert_eq!(cache.get(same_hash[0]), None);
        assert_eq!(cache.get(same_hash[1]), Some(rule(1)));
        cache.keep_only(1);
        assert_eq!(cache.get(same_hash[4]), Some(rule(4)));
        cache.keep_only(2);
        assert_eq!(cache.get(same_hash[4]), None);
    }

    #[test]
    fn a_rule_leads_to_the_words_that_it_names() {
        let words = [11u64, 22, 33, 44, 55, 66];
        let sp = words.as_ptr() as u64;
        let lead = |rule: Rule, bp: u64| {
            rule.caller(Frame { sp, bp }, &mut Readable::new(&mut (0..0), sp))
        };
        let at = |address, cfa: u64, bp| Caller::At(address, Frame { sp: sp + cfa, bp });
        assert_eq!(lead(Rule::new(Base::Sp, 24, None), 7), at(33, 24, 7));
        assert_eq!(lead(Rule::new(Base::Sp, 24, Some(-24)), 7), at(33, 24, 11));
        assert_eq!(lead(Rule::new(Base::Bp, 16, Some(-16)), sp + 24), at(55, 40, 44));
        assert_eq!(lead(Rule::new(Base::Bp, -8, Some(16)), sp + 24), at(22, 16, 55));
        assert_eq!(lead(Rule::new(Base::Bp, 16, None), 0), Caller::None);
        assert_eq!(lead(Rule::new(Base::Sp, 0, None), 0), Caller::Unreadable);
        assert_eq!(lead(Rule::OUTERMOST, 7), Caller::None);
        assert_eq!(Rule::noted(Rule::OUTERMOST.note()), Some(Rule::OUTERMOST));
    }
}
