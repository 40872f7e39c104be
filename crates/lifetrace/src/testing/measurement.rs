//! What a measurement says.

use std::collections::HashMap;
use std::fmt;

use crate::backtrace::Backtrace;

/// What was allocated while something ran, and what is left of it.
///
/// Bytes are as the program asked for them. A `realloc` that makes a block larger allocates what it adds;
/// one that makes it smaller ends it, and allocates what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measurement {
    /// Blocks.
    pub allocated_blocks: u64,
    /// Bytes, growth included.
    pub allocated_bytes: u64,
    /// The most bytes that lived at a time.
    pub peak_bytes: u64,
    /// Blocks that live on.
    pub leaked_blocks: u64,
    /// Their bytes.
    pub leaked_bytes: u64,
    /// Who has allocated what lives on, most bytes first.
    pub leaks: Vec<Leak>,
    /// Events that could not be heard, in any thread: if there are any, all else is a lower bound.
    pub lost: u64,
}

/// What lives on of what was allocated at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leak {
    /// Blocks; 0 if a block of before was made larger here.
    pub blocks: u64,
    /// Bytes.
    pub bytes: u64,
    /// The place.
    pub backtrace: Backtrace,
}

/// Of so many places a message has the backtraces.
const MOST_SHOWN: usize = 5;

/// Names are looked up for so many.
const MOST_NAMED: usize = 1000;

impl fmt::Display for Measurement {
    /// All figures, and the backtraces of the largest leaks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measurement { allocated_blocks, allocated_bytes, peak_bytes, .. } = self;
        let Measurement { leaked_blocks, leaked_bytes, leaks, lost, .. } = self;
        writeln!(f, "{allocated_bytes} bytes in {allocated_blocks} blocks were allocated")?;
        writeln!(f, "{peak_bytes} bytes lived at a time")?;
        writeln!(f, "{leaked_bytes} bytes in {leaked_blocks} blocks live on")?;
        if *lost > 0 {
            writeln!(f, "{lost} events were lost: there is more")?;
        }
        let places = by_name(leaks);
        for (bytes, blocks, backtrace) in places.iter().take(MOST_SHOWN) {
            write!(f, "{bytes} bytes in {blocks} blocks from\n{backtrace}")?;
        }
        match places.len().checked_sub(MOST_SHOWN) {
            Some(more @ 1..) => writeln!(f, "and {more} places more"),
            _ => Ok(()),
        }
    }
}

/// The compiler makes several places of one in the source.
fn by_name(leaks: &[Leak]) -> Vec<(u64, u64, String)> {
    let mut sums: HashMap<String, (u64, u64)> = HashMap::new();
    for leak in leaks.iter().take(MOST_NAMED) {
        let sum = sums.entry(leak.backtrace.to_string()).or_default();
        *sum = (sum.0 + leak.bytes, sum.1 + leak.blocks);
    }
    let place = |(backtrace, (bytes, blocks))| (bytes, blocks, backtrace);
    let mut places: Vec<_> = sums.into_iter().map(place).collect();
    places.sort_by(|one, other| other.cmp(one));
    places
}
