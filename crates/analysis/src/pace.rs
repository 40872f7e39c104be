//! How often something came, how long it took, and how a figure went over time.

use lifetrace_trace::fact::Counters;
use lifetrace_trace::ids::{Bytes, Timestamp};

use crate::survivals::Series;

/// How the collections of a generation came.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// How many.
    pub count: usize,
    /// The first and last number that the runtime gave.
    pub numbers: Option<(u64, u64)>,
    /// From one to the next.
    pub gaps: Option<Spread>,
    /// From begin to end.
    pub durations: Option<Spread>,
    /// How many came in each of equal parts of the time.
    pub over_time: Vec<u64>,
}

/// Times, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Of an even number, the upper one in the middle.
    pub median: u64,
    /// The longest.
    pub longest: u64,
    /// All together.
    pub total: u64,
}

/// Where a figure went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// What it was when it was told first.
    pub first: u64,
    /// The highest.
    pub highest: u64,
    /// What it was when it was told last.
    pub last: u64,
}

impl Pace {
    /// In so many parts of the time from start to end.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(series: &Series, start: Timestamp, end: Timestamp, parts: usize) -> Self {
        assert!(parts > 0, "time has parts");
        let gaps = series.times.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0));
        let length = u128::from(end.0.saturating_sub(start.0).max(1));
        let mut over_time = vec![0; parts];
        for time in &series.times {
            let since = u128::from(time.0.saturating_sub(start.0));
            over_time[((since * parts as u128 / length) as usize).min(parts - 1)] += 1;
        }
        Self {
            count: series.times.len(),
            numbers: series.numbers,
            gaps: Spread::of(gaps.collect()),
            durations: Spread::of(series.durations.clone()),
            over_time,
        }
    }
}

impl Spread {
    /// Of these times; nothing if there are none.
    pub fn of(mut times: Vec<u64>) -> Option<Self> {
        times.sort_unstable();
        let longest = *times.last()?;
        let total = times.iter().fold(0, |sum: u64, time| sum.saturating_add(*time));
        Some(Self { median: times[times.len() / 2], longest, total })
    }
}

/// The figures of a process that are told at all, each with what it is called: those in bytes first.
pub fn ranges(counters: &[(Timestamp, Counters)]) -> Vec<(Figure, Range)> {
    let range = |figure: Figure| {
        let values = || counters.iter().filter_map(|(_, counters)| figure.of(counters));
        let (first, last) = (values().next()?, values().next_back()?);
        Some((figure, Range { first, highest: values().max()?, last }))
    };
    Figure::ALL.into_iter().filter_map(range).collect()
}

/// One of [`Counters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Resident memory, in bytes.
    Resident,
    /// The same without what is shared, in bytes.
    Proportional,
    /// What the allocator has given out, in bytes.
    AllocatorInUse,
    /// What the allocator has, in bytes.
    AllocatorHeld,
    /// Page faults without I/O.
    MinorFaults,
    /// Page faults with I/O.
    MajorFaults,
}

impl Figure {
    const ALL: [Self; 6] = [
        Self::Resident,
        Self::Proportional,
        Self::AllocatorInUse,
        Self::AllocatorHeld,
        Self::MinorFaults,
        Self::MajorFaults,
    ];

    fn of(self, counters: &Counters) -> Option<u64> {
        let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
        match self {
            Self::Resident => bytes(counters.resident),
            Self::Proportional => bytes(counters.proportional),
            Self::AllocatorInUse => bytes(counters.allocator_in_use),
            Self::AllocatorHeld => bytes(counters.allocator_held),
            Self::MinorFaults => counters.minor_faults,
            Self::MajorFaults => counters.major_faults,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(times: &[u64]) -> Series {
        let mut series = Series::default();
        series.times = times.iter().copied().map(Timestamp).collect();
        series.durations = vec![5, 1, 2];
        series
    }

    #[test]
    fn the_pace_is_that_of_the_times() {
        let pace = Pace::new(&series(&[100, 110, 150, 200]), Timestamp(100), Timestamp(200), 4);
        assert_eq!((pace.count, pace.over_time), (4, vec![2, 0, 1, 1]));
        assert_eq!(pace.gaps, Some(Spread { median: 40, longest: 50, total: 100 }));
        assert_eq!(pace.durations, Some(Spread { median: 2, longest: 5, total: 8 }));
    }

    #[test]
    fn odd_times_are_in_the_first_and_last_part() {
        let pace = Pace::new(&series(&[1, u64::MAX]), Timestamp(100), Timestamp(100), 3);
        assert_eq!(pace.over_time, [1, 0, 1]);
        let none = Pace::new(&Series::default(), Timestamp(0), Timestamp(9), 2);
        assert_eq!((none.count, none.gaps, none.durations), (0, None, None));
    }

    #[test]
    fn figures_that_are_told_have_ranges() {
        let resident = |bytes| Counters { resident: Some(Bytes(bytes)), ..Counters::default() };
        let faults = Counters { major_faults: Some(7), ..Counters::default() };
        let told = [resident(5), faults, resident(9), resident(6)].map(|it| (Timestamp(0), it));
        let expected = [
            (Figure::Resident, Range { first: 5, highest: 9, last: 6 }),
            (Figure::MajorFaults, Range { first: 7, highest: 7, last: 7 }),
        ];
        assert_eq!(ranges(&told), expected);
        assert_eq!(ranges(&[]), []);
    }
}
