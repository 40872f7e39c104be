//! How to get from a frame to its caller, in 12 bytes, and how to find that out.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    base: Base,
    cfa: i32,
    bp: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Base {
    Sp,
    Bp,
    /// There is no caller.
    Outermost,
}

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

const UNCHANGED: i32 = i32::MIN;

impl Rule {
    /// The frame above `frame`.
    #[inline(always)]
    pub fn caller(self, frame: Frame, stack: &mut Readable<'_>) -> Caller {
        let base = match self.base {
            Base::Sp => frame.sp,
            Base::Bp if frame.bp == 0 => return Caller::None,
            Base::Bp => frame.bp,
            Base::Outermost => return Caller::None,
        };
        let cfa = base.wrapping_add_signed(i64::from(self.cfa));
        if cfa <= frame.sp {
            return Caller::Unreadable;
        }
        let bp = match self.bp {
            UNCHANGED => Some(frame.bp),
            offset => stack.word(cfa.wrapping_add_signed(i64::from(offset))),
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
            return Some(Rule { base: Base::Outermost, cfa: 0, bp: UNCHANGED });
        };
        let cfa = registers.sp();
        let (base, offset) = distance(cfa, SP)
            .map(|offset| (Base::Sp, offset))
            .or_else(|| Some((Base::Bp, distance(cfa, BP)?)))?;
        let bp = match registers.bp() {
            BP => UNCHANGED,
            word => distance(word_at(word), cfa)?,
        };
        (caller == word_at(cfa.wrapping_sub(8))).then_some(Rule { base, cfa: offset, bp })
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

/// Places of a [`RuleCache`]: two for each hash.
const PLACES: usize = 4096;

/// The rules of return addresses that were met before, two-way associative.
#[derive(Debug)]
pub struct RuleCache {
    /// Of which map the rules are.
    map: u64,
    entries: alloc::boxed::Box<[Entry]>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    rule: Rule,
}

impl RuleCache {
    const EMPTY: Entry =
        Entry { address: 0, rule: Rule { base: Base::Outermost, cfa: 0, bp: UNCHANGED } };

    /// Empty.
    pub fn new() -> Self {
        RuleCache { map: 0, entries: alloc::vec![Self::EMPTY; PLACES].into_boxed_slice() }
    }

    /// Forgets the rules of other maps than this.
    pub fn keep_only(&mut self, map: u64) {
        if self.map != map {
            self.entries.fill(Self::EMPTY);
            self.map = map;
        }
    }

    /// The rule of a return address.
    #[inline]
    pub fn get(&self, address: u64) -> Option<Rule> {
        let [first, second] = *self.set(address)?;
        if first.address == address {
            return Some(first.rule);
        }
        (second.address == address).then_some(second.rule)
    }

    /// Remembers a rule in place of the older one of its hash.
    pub fn insert(&mut self, address: u64, rule: Rule) {
        let at = Self::hash(address);
        if let Some([first, second]) =
            self.entries.get_mut(at..).and_then(|it| it.first_chunk_mut())
        {
            *second = *first;
            *first = Entry { address, rule };
        }
    }

    #[inline]
    fn set(&self, address: u64) -> Option<&[Entry; 2]> {
        self.entries.get(Self::hash(address)..)?.first_chunk()
    }

    /// Fibonacci hashing (Knuth, vol. 3, 6.4) to an even index.
    #[inline]
    fn hash(address: u64) -> usize {
        let bits = PLACES.ilog2() - 1;
        (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)) as usize * 2
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
    fn the_cache_keeps_two_of_a_hash_and_forgets_other_maps() {
        let rule = |cfa| Rule { base: Base::Sp, cfa, bp: UNCHANGED };
        let mut cache = RuleCache::new();
        cache.keep_only(1);
        let same_hash: alloc::vec::Vec<u64> = (1..1_000_000)
            .filter(|&address| RuleCache::hash(address) == RuleCache::hash(77))
            .take(3)
            .collect();
        for (index, &address) in same_hash.iter().enumerate() {
            assert_eq!(cache.get(address), None);
            cache.insert(address, rule(index as i32));
            assert_eq!(cache.get(address), Some(rule(index as i32)));
        }
        assert_eq!(cache.get(same_hash[0]), None);
        assert_eq!(cache.get(same_hash[1]), Some(rule(1)));
        cache.keep_only(1);
        assert_eq!(cache.get(same_hash[2]), Some(rule(2)));
        cache.keep_only(2);
        assert_eq!(cache.get(same_hash[2]), None);
    }
}
