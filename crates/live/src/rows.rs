//! What each callsite holds now, how that changed, and how fast it allocates.

use std::rc::Rc;
use std::time::Duration;

use lifetrace_analysis::statistics::correction::benjamini_hochberg;
use lifetrace_analysis::statistics::{Change, Difference, Run};
use lifetrace_analysis::{Amount, Estimate, Interval, Sampling};
use lifetrace_study::accounts::Accounts;
use lifetrace_trace::ids::Timestamp;

use crate::book::Book;
use crate::moved::{Moved, Since};
use crate::sites::{SiteName, SiteNumber, SiteTable};

/// What is called a change is noise no more often than this.
pub const LEVEL: f64 = 0.05;

/// What a callsite, or a process, has.
#[derive(Clone, Debug)]
pub struct Holding {
    /// What lives now.
    pub live: Amount,
    /// What lived when the program had most, so far.
    pub peak: Amount,
    /// All that was ever allocated.
    pub allocated: Amount,
    /// What came and went in the last minute.
    pub recent: Movement,
    /// What came and went since the mark, if there is one.
    pub marked: Option<Movement>,
}

/// A callsite and what it has.
#[derive(Clone, Debug)]
pub struct Row {
    /// Where it is.
    pub name: Rc<SiteName>,
    /// What it has.
    pub has: Holding,
    /// Its part, between 0 and 1, of what lives.
    pub share: f64,
}

/// Blocks that came and went in some time.
#[derive(Clone, Copy, Debug)]
pub struct Movement {
    /// In this time.
    pub span: Duration,
    /// Bytes that came and are there.
    pub new: Estimate,
    /// Bytes that were there before, and are there no more.
    pub gone: Estimate,
    /// All bytes that came.
    pub allocated: Amount,
    /// What one more sampled block would add.
    grain: f64,
    /// Probability of such a change if there was none, corrected for the number of places that are looked at.
    pub p_value: f64,
}

impl Movement {
    fn new(moved: &Moved, span: Duration, grain: f64) -> Self {
        let [new, gone] = [&moved.new, &moved.gone].map(|tally| tally.amount().bytes);
        let mut movement =
            Self { span, new, gone, allocated: moved.allocated.amount(), grain, p_value: 1.0 };
        let difference = Difference::of(&movement.run(gone), &movement.run(new));
        movement.p_value = difference.map_or(1.0, |difference| difference.p_value());
        movement
    }

    /// By how many bytes there is more.
    pub fn change(&self) -> f64 {
        self.new.value - self.gone.value
    }

    /// The 95 % interval of that.
    pub fn interval(&self) -> Interval {
        let change = Change::of(&self.run(self.gone), &self.run(self.new));
        change.map_or(Interval { low: f64::NEG_INFINITY, high: f64::INFINITY }, |it| it.interval())
    }

    /// Whether anything that was sampled came to stay, or went.
    pub fn is_still(&self) -> bool {
        self.new.value == 0.0 && self.gone.value == 0.0
    }

    /// Whether the change is more than noise.
    pub fn is_significant(&self) -> bool {
        self.p_value <= LEVEL
    }

    /// What an amount of that time is in a minute; nothing in no time.
    pub fn per_minute(&self, amount: f64) -> f64 {
        60.0 * self.per_second(amount)
    }

    /// What an amount of that time is in a second; nothing in no time.
    pub fn per_second(&self, amount: f64) -> f64 {
        let seconds = self.span.as_secs_f64();
        if seconds > 0.0 { amount / seconds } else { 0.0 }
    }

    /// Bytes allocated a second.
    pub fn rate(&self) -> Estimate {
        let Estimate { value, variance, uncertain } = self.allocated.bytes;
        let per_second = self.per_second(1.0);
        Estimate {
            value: value * per_second,
            variance: variance * per_second * per_second,
            uncertain: uncertain * per_second,
        }
    }

    fn run(&self, estimate: Estimate) -> [Run; 1] {
        [Run { estimate, grain: self.grain }]
    }
}

/// A process's amounts at one moment.
#[derive(Clone, Debug)]
pub struct Amounts {
    /// Of the process.
    pub total: Holding,
    /// By callsite, in no particular order; those that have nothing, and of which nothing moved, are left out.
    pub rows: Vec<Row>,
    /// How it is sampled.
    pub sampling: Sampling,
    /// Different backtraces so far.
    pub backtraces: usize,
}

/// The whole process's amounts.
pub fn total(book: &Book) -> Holding {
    let (summary, grain) = (book.summary(), grain(book));
    let movement = |since: &Since| Movement::new(since.total(), span(since, book.now()), grain);
    Holding {
        live: summary.live,
        peak: summary.peak.amount,
        allocated: summary.allocated,
        recent: movement(book.recent()),
        marked: book.marked().map(movement),
    }
}

/// The process's amounts, and those of its callsites.
pub fn amounts(book: &Book, sites: &SiteTable) -> Amounts {
    let (total, summary) = (total(book), book.summary());
    let live = summary.live.bytes.value;
    let recent = movements(book, book.recent(), sites);
    let marked = book.marked().map(|since| movements(book, since, sites));
    let balances = sites.balances(book.balances());
    let row = |(index, balance): (usize, &lifetrace_analysis::account::Balance)| {
        let has = Holding {
            live: balance.live.amount(),
            peak: balance.peak.amount(),
            allocated: balance.allocated.amount(),
            recent: recent[index],
            marked: marked.as_ref().map(|marked| marked[index]),
        };
        let share = if live > 0.0 { has.live.bytes.value / live } else { 0.0 };
        let name = Rc::clone(sites.name(SiteNumber::at(index)));
        (has.allocated.samples > 0).then_some(Row { name, has, share })
    };
    let rows = balances.iter().enumerate().filter_map(row).collect();
    let backtraces = book.balances().count();
    Amounts { total, rows, sampling: summary.sampling, backtraces }
}

/// What came and went at each callsite, by their numbers.
fn movements(book: &Book, since: &Since, sites: &SiteTable) -> Vec<Movement> {
    let (span, grain) = (span(since, book.now()), grain(book));
    let sums = since.moved(sites);
    let mut all: Vec<_> = sums.iter().map(|moved| Movement::new(moved, span, grain)).collect();
    correct(&mut all);
    all
}

/// Of places where nothing moved nobody asks, so they do not make the others less sure.
fn correct(all: &mut [Movement]) {
    let mut moved: Vec<_> = all.iter_mut().filter(|movement| !movement.is_still()).collect();
    let raw: Vec<_> = moved.iter().map(|movement| movement.p_value).collect();
    let corrected = benjamini_hochberg(&raw);
    moved.iter_mut().zip(corrected).for_each(|(movement, p_value)| movement.p_value = p_value);
}

fn span(since: &Since, now: Timestamp) -> Duration {
    Duration::from_micros(now.0.saturating_sub(since.from().0))
}

/// What one more sampled block would add.
fn grain(book: &Book) -> f64 {
    let summary = book.summary();
    match summary.sampling.is_exact() {
        true => 0.0,
        false => summary.sampling.grain_bytes(&summary.allocated),
    }
}

#[cfg(test)]
mod tests {
    use lifetrace_analysis::estimate::Weight;

    use super::*;

    /// So many sampled blocks of a kilobyte that came, and that went, a hundredth of all being sampled.
    fn movement(new: u32, gone: u32) -> Movement {
        let tally = |count: u32| {
            let mut tally = Default::default();
            (0..count).for_each(|_| tally += &Weight::of_inclusion(0.01).tally(1000));
            tally
        };
        let moved = Moved { new: tally(new), gone: tally(gone), allocated: tally(new) };
        Movement::new(&moved, Duration::from_secs(30), 1e5)
    }

    #[test]
    fn a_change_has_an_interval_and_is_judged() {
        let grown = movement(60, 10);
        let Interval { low, high } = grown.interval();
        assert_eq!(grown.change(), 5e6);
        assert!(low > 2e6 && low < 5e6 && high > 5e6 && high < 8e6, "{low} {high}");
        assert!(grown.is_significant() && !movement(12, 10).is_significant());
        assert_eq!((grown.per_minute(grown.change()), grown.rate().value), (1e7, 2e5));
        let shrunk = movement(0, 30);
        assert!(shrunk.interval().high < 0.0 && shrunk.is_significant());
        assert!(movement(0, 0).is_still() && !movement(0, 0).is_significant());
    }

    #[test]
    fn of_many_places_some_would_move_by_chance() {
        let mut all: Vec<_> = (0..100).map(|_| movement(9, 2)).collect();
        all[0] = movement(10, 2);
        let alone = all[0].p_value;
        all[1..].iter_mut().for_each(|other| other.p_value = 0.5);
        correct(&mut all);
        assert!(alone < LEVEL && all[0].p_value > LEVEL, "{alone} {}", all[0].p_value);
        let mut few = vec![movement(10, 2), movement(0, 0)];
        correct(&mut few);
        assert_eq!(few[0].p_value, alone);
    }
}
