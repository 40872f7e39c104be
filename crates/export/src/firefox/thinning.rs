//! A share of the blocks, where all would be too many.
//!
//! Blocks of one backtrace that are alike in what reports ask (whether they live at the peak, and at
//! the end) are a *stratum*. Of each stratum every second, third or so block is written, the last one in any
//! case, with the bytes of those before it that were not. So what a backtrace allocated, has at the
//! peak and has at the end is what it would be if all were written; between these it is near.

use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::{Death, Observer};
use lifetrace_study::Study;
use lifetrace_trace::ids::Timestamp;
use rustc_hash::FxHashMap;

/// More births than this are thinned to about as many: some 100 MB of JSON.
const MOST: u64 = 1_000_000;

/// Which blocks are written, and with how many bytes.
#[derive(Debug)]
pub struct Thinning {
    births: u64,
    most: u64,
    strata: FxHashMap<(NodeId, Kind), Stratum>,
    kinds: Kinds,
}

/// Whether a block lives at the peak, and whether at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Kind(u8);

const AT_PEAK: u8 = 1;
const AT_END: u8 = 2;

/// The kinds of blocks by their numbers, four to a byte.
#[derive(Debug, Default)]
struct Kinds(Vec<u8>);

#[derive(Clone, Copy, Debug, Default)]
struct Stratum {
    /// How many there are, and how many have come.
    all: u64,
    passed: u64,
    /// Bytes of those that have come and were not written.
    pending: f64,
}

impl Thinning {
    /// Of a trace; it is read once more if it has too many births.
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub fn of(study: &Study) -> anyhow::Result<Self> {
        let profile = &study.reading.profile;
        let mut plan = Plan::new(profile.summary().samples, MOST, profile.peak_time());
        if plan.0.is_thin() {
            study.replay(&mut plan)?;
        }
        Ok(plan.0)
    }

    /// The bytes that a block is written with, which has so many itself; nothing if it is not. Blocks
    /// come in the order of their births.
    pub fn take(&mut self, block: &Block) -> Option<f64> {
        let bytes = block.tally().amount().bytes.value;
        if !self.is_thin() {
            return Some(bytes);
        }
        let key = (block.backtrace, self.kinds.get(block.index));
        let stratum = self.strata.get_mut(&key)?;
        stratum.pending += bytes;
        stratum.passed += 1;
        let written = written(stratum.all, self.most, self.births);
        let share =
            |passed: u64| u128::from(passed) * u128::from(written) / u128::from(stratum.all);
        let is_written = share(stratum.passed) > share(stratum.passed - 1);
        is_written.then(|| std::mem::take(&mut stratum.pending))
    }

    fn is_thin(&self) -> bool {
        self.births > self.most
    }

    /// What people should know of it.
    pub fn remark(&self) -> Option<String> {
        let percent = 100.0 * self.most as f64 / self.births as f64;
        self.is_thin().then(|| {
            format!(
                "a share of them is here, {percent:.2} %, each with the bytes of others of its \
                 backtrace: what was allocated, lived at the peak and lives at the end is that of all"
            )
        })
    }
}

/// How many of a stratum's blocks are written: at least one.
fn written(all: u64, most: u64, births: u64) -> u64 {
    let share = u128::from(all) * u128::from(most) / u128::from(births.max(1));
    u64::try_from(share).unwrap_or(all).clamp(1, all.max(1))
}

impl Kinds {
    fn get(&self, index: u64) -> Kind {
        let byte = usize::try_from(index / 4).ok().and_then(|at| self.0.get(at));
        Kind(byte.map_or(0, |byte| byte >> (2 * (index % 4)) & 3))
    }

    fn set(&mut self, index: u64, Kind(kind): Kind) {
        let Ok(at) = usize::try_from(index / 4) else { return };
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= kind << (2 * (index % 4));
    }
}

/// Finds out what each block is, and how many there are of each stratum.
struct Plan(Thinning, Timestamp);

impl Plan {
    fn new(births: u64, most: u64, peak: Timestamp) -> Self {
        let (strata, kinds) = (FxHashMap::default(), Kinds::default());
        Self(Thinning { births, most, strata, kinds }, peak)
    }

    fn note(&mut self, block: &Block, death: Option<Timestamp>) {
        let Self(thinning, peak) = self;
        let is_at_peak = block.born <= *peak && death.is_none_or(|death| death > *peak);
        let at_peak = if is_at_peak { AT_PEAK } else { 0 };
        let kind = Kind(at_peak | if death.is_none() { AT_END } else { 0 });
        thinning.kinds.set(block.index, kind);
        thinning.strata.entry((block.backtrace, kind)).or_default().all += 1;
    }
}

impl Observer for Plan {
    fn died(&mut self, block: &Block, death: Death) {
        self.note(block, Some(death.time));
    }

    fn survived(&mut self, block: &Block, _end: Timestamp) {
        self.note(block, None);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is allocated, lives at the peak and at the end.
    fn sums(blocks: &[(u64, bool, bool)], most: u64) -> ([f64; 3], [f64; 3], u64) {
        let mut plan = Plan::new(blocks.len() as u64, most, Timestamp(50));
        let blocks: Vec<_> = (0..).zip(blocks).map(|(index, it)| block(index, it)).collect();
        for (block, death) in &blocks {
            plan.note(block, *death);
        }
        let Plan(mut thinning, _) = plan;
        let (mut all, mut found, mut count) = ([0.0; 3], [0.0; 3], 0);
        for (block, death) in &blocks {
            let is_at_peak = block.born.0 <= 50 && death.is_none_or(|it| it.0 > 50);
            let counts = [true, is_at_peak, death.is_none()].map(|it| f64::from(u8::from(it)));
            let written = thinning.take(block);
            count += u64::from(written.is_some());
            for (at, counts) in counts.into_iter().enumerate() {
                all[at] += counts * block.bytes as f64;
                found[at] += counts * written.unwrap_or(0.0);
            }
        }
        (all, found, count)
    }

    fn block(
        index: u64,
        &(bytes, is_early, survives): &(u64, bool, bool),
    ) -> (Block, Option<Timestamp>) {
        let block = Block {
            born: Timestamp(if is_early { 10 } else { 60 }),
            promoted: None,
            bytes,
            last_bytes: bytes,
            weight: lifetrace_analysis::estimate::Weight::ONE,
            index,
            backtrace: NodeId::ROOT,
            thread: lifetrace_trace::ids::ThreadId(0),
            domain: lifetrace_trace::ids::DomainId(0),
            sampler: lifetrace_trace::ids::SamplerId(0),
            source: lifetrace_trace::event::Source::External,
            is_growth: false,
        };
        let death = if bytes % 3 == 0 { 20 } else { 70 };
        (block, (!survives).then_some(Timestamp(death)))
    }

    proptest! {
        #[test]
        fn sums_are_kept(
            mut blocks in proptest::collection::vec(
                (0..5000_u64, any::<bool>(), any::<bool>()), 1..400),
            most in 1..300_u64,
        ) {
            blocks.sort_by_key(|it| !it.1);
            let (all, found, count) = sums(&blocks, most);
            for (all, found) in all.into_iter().zip(found) {
                prop_assert!((all - found).abs() < 1e-6 * all + 1e-6, "{all} {found}");
            }
            // There are at most four strata.
            prop_assert!(count <= most.min(blocks.len() as u64) + 4);
        }
    }
}
