//! The modules of a moment, as walks need them.

use core::ops::Range;

use alloc::vec::Vec;
use framehop::MustNotAllocateDuringUnwind;

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
    /// By which caches know whose rules they have.
    pub(super) number: u64,
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
    pub(super) fn stale_among(&self, frames: &[u64]) -> Option<u64> {
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
