//! How often something came, how long it took, and how a figure went over time.

use lifetrace_trace::fact::{Collector, Counters};
use lifetrace_trace::ids::{Bytes, Timestamp};

use crate::survivals::Series;

/// How the collections of a generation came.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// How many.
    pub count: u64,
    /// The first and last number that the runtime gave.
    pub numbers: Option<(u64, u64)>,
    /// From one to the next; of those that are not told, the average.
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
        let gaps = series.times.windows(2).zip(series.passed.iter().skip(1));
        let gaps: Vec<_> = gaps
            .map(|(pair, &passed)| (pair[1].0.saturating_sub(pair[0].0), passed.max(1)))
            .collect();
        let length = u128::from(end.0.saturating_sub(start.0).max(1));
        let mut over_time = vec![0; parts];
        for (time, &passed) in series.times.iter().zip(&series.passed) {
            let since = u128::from(time.0.saturating_sub(start.0));
            let part = &mut over_time[((since * parts as u128 / length) as usize).min(parts - 1)];
            *part = u64::saturating_add(*part, passed);
        }
        Self {
            count: series.count(),
            numbers: series.numbers,
            gaps: Spread::of_several(gaps),
            durations: Spread::of(series.durations.clone()),
            over_time,
        }
    }
}

impl Spread {
    /// Of times, each divided evenly among so many; nothing if there are none.
    fn of_several(mut times: Vec<(u64, u64)>) -> Option<Self> {
        times.sort_unstable_by_key(|(time, count)| time / count);
        let (longest, among) = *times.last()?;
        let total = times.iter().fold(0, |sum: u64, (time, _)| sum.saturating_add(*time));
        let counts = times.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
        let mut before = 0;
        let middle = times.iter().find(|(_, count)| {
            before = u64::saturating_add(before, *count);
            before > counts / 2
        });
        let median = middle.map_or(0, |(time, count)| time / count);
        Some(Self { median, longest: longest / among, total })
    }

    /// Of these times; nothing if there are none.
    pub fn of(mut times: Vec<u64>) -> Option<Self> {
        times.sort_unstable();
        let longest = *times.last()?;
        let total = times.iter().fold(0, |sum: u64, time| sum.saturating_add(*time));
        Some(Self { median: times[times.len() / 2], longest, total })
    }
}

/// The figures that are told at all, each with what it is called: those of the process first.
pub fn ranges(
    counters: &[(Timestamp, Counters)],
    collector: &[(Timestamp, Collector)],
) -> Vec<(Figure, Range)> {
    let of_process = PROCESS.into_iter().filter_map(|figure| {
        let values = counters.iter().map(|(_, counters)| of_process(figure, counters));
        let highest = counters.iter().filter_map(|(_, counters)| most_of(figure, counters)).max();
        let range = Range::of(values)?;
        Some((figure, Range { highest: range.highest.max(highest.unwrap_or(0)), ..range }))
    });
    let of_heap = HEAP.into_iter().enumerate().filter_map(|(at, figure)| {
        let values = collector.iter().map(|(_, collector)| collector.figures()[at]);
        Some((figure, Range::of(values)?))
    });
    of_process.chain(of_heap).collect()
}

impl Range {
    fn of(values: impl Iterator<Item = Option<u64>>) -> Option<Self> {
        let mut values = values.flatten();
        let first = values.next()?;
        let begin = Self { first, highest: first, last: first };
        Some(values.fold(begin, |it, value| Self {
            highest: it.highest.max(value),
            last: value,
            ..it
        }))
    }
}

/// One of [`Counters`], or of [`Collector`]'s figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Resident memory, in bytes.
    Resident,
    /// Resident memory without what is shared, in bytes.
    Proportional,
    /// What the allocator has given out, in bytes.
    AllocatorInUse,
    /// What the allocator has, in bytes.
    AllocatorHeld,
    /// Page faults without I/O.
    MinorFaults,
    /// Page faults with I/O.
    MajorFaults,
    /// Words allocated in the young heap.
    MinorWords,
    /// Words promoted.
    PromotedWords,
    /// Words allocated in the old heap, the promoted ones included.
    MajorWords,
    /// Collections of the young heap.
    MinorCollections,
    /// Collections of the whole heap.
    MajorCollections,
    /// Compactions.
    Compactions,
    /// Words that the old heap has from the system.
    HeapWords,
    /// The most that it has had.
    TopHeapWords,
    /// Words that the young heap has room for.
    YoungHeapWords,
}

impl Figure {
    /// Whether it is a number of words.
    pub fn is_in_words(self) -> bool {
        matches!(
            self,
            Self::MinorWords
                | Self::PromotedWords
                | Self::MajorWords
                | Self::HeapWords
                | Self::TopHeapWords
                | Self::YoungHeapWords
        )
    }
}

const PROCESS: [Figure; 6] = [
    Figure::Resident,
    Figure::Proportional,
    Figure::AllocatorInUse,
    Figure::AllocatorHeld,
    Figure::MinorFaults,
    Figure::MajorFaults,
];

/// In the order of [`Collector::figures`].
const HEAP: [Figure; 9] = [
    Figure::MinorWords,
    Figure::PromotedWords,
    Figure::MajorWords,
    Figure::MinorCollections,
    Figure::MajorCollections,
    Figure::Compactions,
    Figure::HeapWords,
    Figure::TopHeapWords,
    Figure::YoungHeapWords,
];

fn of_process(figure: Figure, counters: &Counters) -> Option<u64> {
    let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
    match figure {
        Figure::Resident => bytes(counters.resident),
        Figure::Proportional => bytes(counters.proportional),
        Figure::AllocatorInUse => bytes(counters.allocator_in_use),
        Figure::AllocatorHeld => bytes(counters.allocator_held),
        Figure::MinorFaults => counters.minor_faults,
        Figure::MajorFaults => counters.major_faults,
        _ => None,
    }
}

/// The highest that a figure was, where somebody has watched all the time.
fn most_of(figure: Figure, counters: &Counters) -> Option<u64> {
    counters.most_resident.filter(|_| figure == Figure::Resident).map(|bytes| bytes.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lifetrace_trace::fact::{Cycle, Generation};

    fn told(ends: impl IntoIterator<Item = (u64, u64)>) -> Series {
        let mut series = Series::default();
        for (time, number) in ends {
            let cycle = Cycle { generation: Generation::Minor, number, begins: false };
            series.take(Timestamp(time), &cycle);
        }
        series
    }

    fn series(times: &[u64]) -> Series {
        let mut series = told(times.iter().copied().zip(1..));
        series.durations = vec![5, 1, 2];
        series
    }

    #[test]
    fn those_that_are_not_told_are_spread_evenly() {
        let series = told([(100, 3), (110, 4), (150, 8), (190, 10)]);
        let pace = Pace::new(&series, Timestamp(100), Timestamp(200), 4);
        assert_eq!((pace.count, pace.over_time), (8, vec![2, 0, 4, 2]));
        // Once 10, four times 10, twice 20.
        assert_eq!(pace.gaps, Some(Spread { median: 10, longest: 20, total: 90 }));
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
        let most = Counters { most_resident: Some(Bytes(12)), ..Counters::default() };
        let told = [resident(5), faults, resident(9), resident(6), most];
        let told = told.map(|it| (Timestamp(0), it));
        let expected = [
            (Figure::Resident, Range { first: 5, highest: 12, last: 6 }),
            (Figure::MajorFaults, Range { first: 7, highest: 7, last: 7 }),
        ];
        assert_eq!(ranges(&told, &[]), expected);
        assert_eq!(ranges(&[], &[]), []);
        let heap = |words| Collector { heap_words: Some(words), ..Collector::default() };
        let told = [heap(5), heap(9), Collector::default(), heap(7)].map(|it| (Timestamp(0), it));
        let range = Range { first: 5, highest: 9, last: 7 };
        assert_eq!(ranges(&[], &told), [(Figure::HeapWords, range)]);
    }
}
