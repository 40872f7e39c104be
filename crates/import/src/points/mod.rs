//! Sums for each point of the program, as DHAT and pprof have them, made into blocks.
//!
//! A point's blocks fall into four classes: alive at the peak and at the end, at the peak only, at the
//! end only, at neither (*brief*). Which are alive at both is not told; as many as can be are. All
//! blocks of a class have the mean size of it, rounded down or up so that the sum is right; if a class
//! has bytes but no block, these were added to a block that is in another one.
//!
//! Nothing but sums is known, so nothing but sums of the made trace means anything; of lifetimes the
//! mean at each point, if the file has their sum. docs/import.md has it in full.

mod batches;
mod lifetimes;
mod moment;
mod schedule;
mod stand_ins;
#[cfg(test)]
mod tests;

use super::count;
use super::fault::Failure;
use super::scribe::Scribe;
pub use moment::{Counted, MADE_WITHOUT_TIMES, write as write_moment};
pub use schedule::Backtraces;
use schedule::Outcome;

/// More blocks are not made: beyond, one stands for several. Fuzzers have no time for so many.
const MOST_BLOCKS: u64 = if cfg!(fuzzing) { 1 << 10 } else { 1 << 22 };

/// Bytes and blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub bytes: u64,
    pub blocks: u64,
}

/// What a file says of one point of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Of the whole run.
    pub total: Amount,
    /// Alive when most bytes of the whole program were.
    pub peak: Amount,
    /// Alive at the end.
    pub end: Amount,
    /// The sum of the lifetimes of all blocks, as long as they were seen, if the file tells it.
    pub lifetimes: Option<u64>,
    /// In bytes, if the file tells that all blocks have the same.
    pub size: Option<u64>,
}

/// When the peak and the end were, from the start, in the trace's unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub peak: u64,
    pub end: u64,
}

/// Blocks of a point that were born and died together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lived {
    /// The index of a point.
    pub point: usize,
    pub amount: Amount,
    /// From the start.
    pub birth: u64,
    /// Nothing if they live at the end.
    pub death: Option<u64>,
}

/// What was not as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Misfits {
    /// Points whose numbers contradict each other.
    odd_points: u64,
    /// Points whose lifetimes are too short or too long for what lived at the peak and at the end.
    odd_lifetimes: u64,
    /// The most blocks that one stands for.
    weight: u64,
}

/// Writes blocks that add up to the points' sums. What should be known of that is said in the
/// remarks.
///
/// # Errors
/// Those of the output.
pub fn write(
    points: &[Point],
    times: Times,
    backtraces: &dyn Backtraces,
    scribe: &mut Scribe<'_>,
) -> Result<Vec<String>, Failure> {
    let mut misfits = Misfits { weight: 1, ..Misfits::default() };
    let batches = batches::of_points(points, times, &mut misfits);
    let batches = stand_ins::thin_out(batches, MOST_BLOCKS, &mut misfits);
    stand_ins::declare(&batches, scribe)?;
    let told: u128 = points.iter().map(|point| u128::from(point.peak.bytes)).sum();
    let outcome = schedule::write(batches, times, told, backtraces, scribe)?;
    Ok(misfits.remarks(outcome, told))
}

/// Writes blocks that are known to have lived at some times, until the end.
///
/// # Errors
/// Those of the output.
pub fn write_lived(
    lived: &[Lived],
    end: u64,
    backtraces: &dyn Backtraces,
    scribe: &mut Scribe<'_>,
) -> Result<Vec<String>, Failure> {
    let mut misfits = Misfits { weight: 1, ..Misfits::default() };
    let batches = lived.iter().flat_map(batches::of_lived).collect();
    let batches = stand_ins::thin_out(batches, MOST_BLOCKS, &mut misfits);
    stand_ins::declare(&batches, scribe)?;
    let outcome = schedule::write(batches, Times { peak: end, end }, 0, backtraces, scribe)?;
    Ok(misfits.remarks(outcome, 0))
}

impl Misfits {
    fn remarks(&self, outcome: Outcome, told: u128) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.odd_points > 0 {
            let points = count(self.odd_points);
            remarks.push(format!("{points} points have numbers that contradict each other"));
        }
        if self.odd_lifetimes > 0 {
            let points = count(self.odd_lifetimes);
            remarks.push(format!("{points} points have blocks whose lifetimes could not be kept"));
        }
        if self.weight > 1 {
            let most = count(self.weight);
            remarks.push(format!(
                "there are too many blocks: one stands for up to {most}; sums are right, intervals are not"
            ));
        }
        if outcome.cut_short > 0 {
            let blocks = count(outcome.cut_short);
            remarks.push(format!(
                "{blocks} blocks die at once, at the end: with their lifetimes there would be more \
                 memory in use than at the peak"
            ));
        }
        if told > 0 && outcome.peak > told {
            let percent = 100.0 * (outcome.peak - told) as f64 / told as f64;
            remarks
                .push(format!("the made blocks' peak is {percent:.1} % above the one in the file"));
        }
        remarks
    }
}
