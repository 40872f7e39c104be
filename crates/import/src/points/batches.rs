//! Points made into batches of equal blocks.

use super::lifetimes::{Class, Share, share};
use super::{Amount, Lived, Misfits, Point, Times};

/// So many equal blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Where they are allocated: the index of a point.
    pub point: usize,
    pub blocks: u64,
    /// In bytes, each.
    pub size: u64,
    /// Bytes that were added to blocks that are counted elsewhere.
    pub is_growth: bool,
    /// How many blocks each stands for: a power of 16.
    pub level: u8,
    pub life: Life,
}

/// When they live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// From then on.
    To { birth: u64, death: Option<u64> },
    /// So long, one after another from the first moment on, so that the last has died at the last one.
    Spread { first: u64, last: u64, long: u64 },
}

/// What lives at the peak and at the end, at one of them, and at neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Classes {
    both: Amount,
    peak: Amount,
    end: Amount,
    brief: Amount,
}

/// All batches of all points.
pub fn of_points(points: &[Point], times: Times, misfits: &mut Misfits) -> Vec<Batch> {
    let mut batches = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let (classes, is_odd) = Classes::new(point, times);
        misfits.odd_points += u64::from(is_odd);
        let (shares, fits) = classes.share(point.lifetimes, times);
        misfits.odd_lifetimes += u64::from(!fits);
        let mut add = |amount: Amount, share: Share, life: &dyn Fn(u64) -> Life| {
            batches.extend(split(index, amount, share, life));
        };
        add(classes.both, shares[0], &|long| survives(times.end - long.min(times.end)));
        add(classes.peak, shares[1], &|long| around_the_peak(times, long));
        add(classes.end, shares[2], &|long| survives(times.end - long.min(times.end)));
        let (before, after) = classes.brief_in_time(shares[3].long, times);
        let longer = shares[3].longer.min(before.blocks);
        let first = Share { longer, ..shares[3] };
        let second = Share { longer: shares[3].longer - longer, ..shares[3] };
        let last = times.peak.saturating_sub(1);
        add(before, first, &|long| Life::Spread { first: 0, last, long });
        let from = times.peak.saturating_add(1).min(times.end);
        add(after, second, &|long| Life::Spread { first: from, last: times.end, long });
    }
    batches
}

/// The batches of blocks whose times are known.
pub fn of_lived(lived: &Lived) -> Vec<Batch> {
    let Lived { point, amount, birth, death } = *lived;
    split(point, amount, Share::default(), &|_| Life::To { birth, death }).collect()
}

impl Classes {
    /// The classes, and whether the point's numbers contradict each other.
    fn new(point: &Point, times: Times) -> (Self, bool) {
        let Point { total, peak, end, lifetimes, .. } = *point;
        let most = Amount { bytes: peak.bytes.max(end.bytes), blocks: peak.blocks.max(end.blocks) };
        let is_odd = most.bytes > total.bytes || most.blocks > total.blocks;
        let total =
            Amount { bytes: total.bytes.max(most.bytes), blocks: total.blocks.max(most.blocks) };
        let blocks = overlap(total.blocks, peak.blocks, end.blocks);
        let blocks = match lifetimes {
            // From the peak to the end is how long they live at least.
            Some(sum) if times.end > times.peak => {
                (sum / (times.end - times.peak)).clamp(blocks.0, blocks.1)
            }
            _ => blocks.1,
        };
        let bytes = overlap(total.bytes, peak.bytes, end.bytes);
        let bytes = shared(blocks, peak, end).clamp(bytes.0, bytes.1);
        let both = Amount { bytes, blocks };
        let classes = Self {
            both,
            peak: peak.less(both),
            end: end.less(both),
            brief: total.less(peak).less(end.less(both)),
        };
        (classes, is_odd)
    }

    fn share(&self, lifetimes: Option<u64>, times: Times) -> ([Share; 4], bool) {
        let after = times.end - times.peak.min(times.end);
        let class = |amount: Amount, least, most: u64| Class {
            blocks: amount.blocks,
            least,
            most: most.max(least),
        };
        let longest_brief = times.peak.saturating_sub(1).max(after.saturating_sub(1));
        let classes = [
            class(self.both, after, times.end),
            class(self.peak, u64::from(times.end > 0), times.end),
            class(self.end, 0, after.saturating_sub(1)),
            class(self.brief, 0, longest_brief),
        ];
        match lifetimes {
            Some(sum) => share(sum, classes),
            None => (classes.map(|class| Share { long: class.least, longer: 0 }), true),
        }
    }

    /// What is born and dies before the peak, and after it: as much as time passes there, if there is
    /// time enough.
    fn brief_in_time(&self, long: u64, times: Times) -> (Amount, Amount) {
        let (before, after) =
            (times.peak.saturating_sub(1), times.end.saturating_sub(times.peak).saturating_sub(1));
        let before = if before > long { before } else { 0 };
        let after = if after > long { after } else { 0 };
        let whole = u128::from(before) + u128::from(after);
        if whole == 0 {
            let none = Amount::default();
            return if times.peak > times.end / 2 {
                (self.brief, none)
            } else {
                (none, self.brief)
            };
        }
        let part = |count: u64| (u128::from(count) * u128::from(before) / whole) as u64;
        let blocks = part(self.brief.blocks);
        let bytes = match self.brief.blocks {
            0 => part(self.brief.bytes),
            all => (u128::from(self.brief.bytes) * u128::from(blocks) / u128::from(all)) as u64,
        };
        let first = Amount { bytes, blocks };
        (first, self.brief.less(first))
    }
}

impl Amount {
    pub fn less(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            blocks: self.blocks.saturating_sub(other.blocks),
        }
    }
}

/// The least and the most that two parts of a whole can have in common.
fn overlap(whole: u64, one: u64, other: u64) -> (u64, u64) {
    let both = u128::from(one) + u128::from(other);
    let least = both.saturating_sub(whole.into()) as u64;
    (least.min(one.min(other)), one.min(other))
}

/// The bytes of so many blocks that are alive both times.
fn shared(blocks: u64, peak: Amount, end: Amount) -> u64 {
    match blocks {
        all if all == end.blocks => end.bytes,
        all if all == peak.blocks => peak.bytes,
        some => {
            let all = u128::from(peak.blocks) + u128::from(end.blocks);
            let bytes = u128::from(peak.bytes) + u128::from(end.bytes);
            (bytes * u128::from(some) / all.max(1)) as u64
        }
    }
}

fn survives(birth: u64) -> Life {
    Life::To { birth, death: None }
}

/// Dies right after the peak, unless it lived longer than from the start until then: what comes
/// later needs the room.
fn around_the_peak(times: Times, long: u64) -> Life {
    let birth = times.peak.saturating_add(1).saturating_sub(long);
    Life::To { birth, death: Some(birth.saturating_add(long).min(times.end)) }
}

/// Batches of equal blocks: sizes and lifetimes differ by one at most.
pub fn split(
    point: usize,
    amount: Amount,
    share: Share,
    life: &dyn Fn(u64) -> Life,
) -> impl Iterator<Item = Batch> {
    let Amount { bytes, blocks } = amount;
    let batch = |blocks: u64, size: u64, long: u64, is_growth: bool| Batch {
        point,
        blocks,
        size,
        is_growth,
        level: 0,
        life: life(long),
    };
    let growth = (blocks == 0 && bytes > 0).then(|| batch(1, bytes, share.long, true));
    let (size, larger) = (bytes / blocks.max(1), bytes % blocks.max(1));
    // Both the larger and those that live longer come first.
    let mut ends = [larger.min(share.longer), larger.max(share.longer), blocks];
    ends[1] = ends[1].min(blocks);
    let parts = [
        (0, ends[0], size + 1, share.long + 1),
        (
            ends[0],
            ends[1],
            size + u64::from(larger > share.longer),
            share.long + u64::from(share.longer > larger),
        ),
        (ends[1], ends[2], size, share.long),
    ];
    let parts = parts.map(|(from, to, size, long)| (to.saturating_sub(from), size, long));
    let equal = parts.into_iter().filter(|(blocks, ..)| *blocks > 0);
    let equal: Vec<_> =
        equal.map(|(blocks, size, long)| batch(blocks, size, long, false)).collect();
    growth.into_iter().chain(equal)
}
