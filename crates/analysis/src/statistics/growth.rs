//! Does a place leak?
//!
//! The *rate* is the slope of a straight line through the live bytes of the later half of the time
//! since the place first allocated (least squares), so what was built up at first is left out. Live
//! bytes at neighbouring times are not independent: a block is in them from its birth to its death.
//! So the slope is written as a sum over blocks, each with the part `a` of the slope that its life
//! makes, and its variance has two parts:
//!
//! - *sampling*: the sum of `variance * a^2`, exact for any program, as blocks are sampled
//!   independently;
//! - *the process*: the sum of `(weight * a)^2`, the variance if lives begin independently of each
//!   other (a marked Poisson process, Campbell's theorem). Programs work in bursts, so it is
//!   multiplied by their dispersion: how much larger the increments between [`PARTS`] equal parts of
//!   the time vary than such lives would make them. It is estimated, so Student's distribution with
//!   one degree of freedom less than parts is used.
//!
//! The larger of the two counts. One average block more is assumed, so that a place where nothing was
//! seen does not count as known exactly.
//!
//! The *shape* says what the rate cannot: see [`Shape`]. Its rules were chosen by simulation of the
//! kinds of programs in the tests, and say nothing of other kinds. False alarms: of 1000 caches that
//! are full by the middle of the trace (evicting at random, the oldest, or everything at times), or
//! programs that work in bursts, at most 7 were called a line, on four sets of seeds, at each of three
//! rates of sampling (all blocks, one in five, one in fifty); the tests demand 1 in 100.
//! Of caches that fill ever more slowly, none of 1000 if 700 sampled blocks are in them, but 1 in 4
//! if only some 80 are. A cache that fills evenly to the end of the trace looks like a leak
//! and is called one: no statistic can know that it will stop. Of 1000 leaks with 80 sampled blocks,
//! 95 in 100 or more are lines.

use super::distribution::critical;
use super::lives::{Cohort, Lives, live};
use super::mass::Unit;
use super::proportion::Proportion;
use super::survival::Survival;
use crate::estimate::Estimate;

/// Into how many parts the later half is divided to see how unevenly it grows.
pub const PARTS: usize = 16;
/// With fewer parts nothing is said.
const FEWEST_PARTS: usize = 6;
const MICROSECONDS_PER_HOUR: f64 = 3.6e9;

/// Start-up: this share of what lives was born in the first [`START`] of the trace.
const MOSTLY: f64 = 0.9;
const START: f64 = 0.1;
/// Steps: so much of the growth is in the largest, or the three largest parts.
const ONE_STEP: f64 = 0.5;
const THREE_STEPS: f64 = 0.8;
/// Steps: growth is more than so many standard errors of sampling.
const CERTAIN: f64 = 3.0;
/// A growth that is less than this part of what it was slows down.
const SLOWER: f64 = 0.6;
/// A plateau: the growth of the later half is surely less than this part of the height,
const LEVEL: f64 = 0.5;
/// or its height is at most this multiple of that of the earlier half, and both are that of so many
/// sampled blocks.
const SAME_HEIGHT: f64 = 1.1;
const MANY_BLOCKS: f64 = 16.0;

/// How the live bytes of a place go with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// They grow all the time, and no slower than before: a leak, or a cache that nowhere near is full.
    Line,
    /// They grow by few large steps.
    Steps,
    /// They do not grow, or much less than before, or fall as often as they rise.
    Plateau,
    /// What lives was born when the program began, and stays.
    StartUp,
    /// Too little was seen to tell, or it grows but has fallen as much before.
    Unknown,
}

impl Shape {
    /// As documents call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Steps => "steps",
            Self::Plateau => "plateau",
            Self::StartUp => "start-up",
            Self::Unknown => "unknown",
        }
    }
}

/// A rate of growth; its interval is infinite if the time was too short to tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Bytes per hour.
    pub per_hour: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Of `per_hour`.
    variance: f64,
}

/// Why a shape was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Share of what lives at the end that was born in the first tenth of the trace.
    pub from_start: f64,
    /// Share of the later half's growth in the largest of its sixteen parts: 1/16 of an even line,
    /// 1 of a single step, more if it fell meanwhile. 0 if it did not grow.
    pub largest_step: f64,
    /// Share of the later half's growth in the largest three of its sixteen parts. 0 if it did not grow.
    pub largest_three: f64,
    /// The deepest fall ever from an earlier height, as a multiple of the later half's growth;
    /// infinite if it did not grow.
    pub largest_fall: f64,
    /// The rate as a multiple of that in the second quarter of the time; `None` if that was none.
    pub persistence: Option<f64>,
}

/// The judgement on one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Bytes at the end, with the error of sampling.
    pub live: Estimate,
    /// How fast they grow.
    pub rate: Rate,
    /// Of what kind that is.
    pub shape: Shape,
    /// Why.
    pub evidence: Evidence,
    /// Age in microseconds of the oldest sampled block that is alive.
    pub oldest: Option<u64>,
    /// Of `live` and `rate`.
    covariance: f64,
    critical: f64,
}

/// When live bytes reach a limit if they go on as they do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// Hours from the end of the trace; `None` if never.
    pub hours: Option<f64>,
    /// As early as this; `None` if never, even at the fastest.
    pub earliest: Option<f64>,
    /// As late as this; `None` if perhaps never.
    pub latest: Option<f64>,
}

impl Growth {
    /// Judges a place in a trace that is `end` microseconds long. `None` if none of its blocks was seen
    /// alive at the edge of a bin: then it holds nothing for long.
    pub fn of(lives: &Lives, end: u64) -> Option<Self> {
        let mut lives = lives.clone();
        lives.cover(end);
        let history = History::new(&lives, end)?;
        Some(history.judge(lives.oldest().map(|born| end.saturating_sub(born))))
    }

    /// When this place alone would hold so many bytes: the times at which they are within the
    /// interval of the straight line (Fieller 1954, "Some problems in interval estimation").
    pub fn fills(&self, limit: f64) -> Fill {
        let missing = limit - self.live.value;
        if missing <= 0.0 {
            return Fill { hours: Some(0.0), earliest: Some(0.0), latest: Some(0.0) };
        }
        if !self.rate.variance.is_finite() {
            return Fill { hours: None, earliest: Some(0.0), latest: None };
        }
        let (rate, q2) = (self.rate.per_hour, self.critical * self.critical);
        // (missing - rate t)^2 = q^2 (Var live + 2 t Cov + t^2 Var rate)
        let a = rate * rate - q2 * self.rate.variance;
        let b = -2.0 * (missing * rate + q2 * self.covariance);
        let c = missing * missing - q2 * self.live.variance;
        let root = (b * b - 4.0 * a * c).max(0.0).sqrt();
        // Both solutions without cancellation; of these the first that is ahead.
        let half = -0.5 * (b + if b < 0.0 { -root } else { root });
        let mut ahead = [half / a, c / half];
        ahead.sort_by(f64::total_cmp);
        let earliest = ahead.iter().copied().find(|&hours| hours > 0.0);
        Fill {
            hours: (rate > 0.0).then(|| missing / rate),
            earliest: if c <= 0.0 { Some(0.0) } else { earliest.filter(|_| self.rate.high > 0.0) },
            latest: (self.rate.low > 0.0).then_some(ahead[1]).filter(|hours| hours.is_finite()),
        }
    }
}

/// The share of what is alive that is older than 99 % of the dead ever got; `None` if nothing is alive
/// or nothing died. In a cache few are (1 % if it evicts at random, none if it evicts the oldest);
/// leaked blocks among many short-lived ones nearly all. It is only a hint while the trace is not
/// much longer than the lifetimes.
pub fn outliving(survival: &Survival, unit: Unit) -> Option<Proportion> {
    let old = survival.deaths().quantile(unit, 0.99)?.value;
    survival.survivors().share_at_most(unit, old.ceil() as u64).map(Proportion::complement)
}

/// Live bytes at the edges of bins, since the place first allocated.
struct History<'a> {
    cohorts: Vec<Cohort<'a>>,
    /// Times of the edges in hours; the last is the end of the trace.
    hours: Vec<f64>,
    /// Bytes at the edges.
    live: Vec<f64>,
    /// The last edge before the first birth.
    begin: usize,
}

/// From one edge to another.
#[derive(Clone, Copy)]
struct Window {
    from: usize,
    to: usize,
}

/// The slope of a line, and how it goes with what is live in the end.
#[derive(Default)]
struct Slope {
    value: f64,
    sampling: f64,
    process: f64,
    covariance: f64,
}

/// How unevenly live bytes grow.
struct Increments {
    /// From part to part.
    steps: Vec<f64>,
    /// Variance in proportion to that of independent lives.
    dispersion: f64,
}

impl<'a> History<'a> {
    fn new(lives: &'a Lives, end: u64) -> Option<Self> {
        let cohorts: Vec<_> = lives.cohorts().collect();
        let begin = cohorts.iter().map(|cohort| cohort.first).min()? - 1;
        let whole = (end / lives.width()) as usize;
        let mut times: Vec<u64> = (0..=whole as u64).map(|edge| edge * lives.width()).collect();
        if !end.is_multiple_of(lives.width()) {
            times.push(end);
        }
        let hours: Vec<f64> =
            times.iter().map(|&time| time as f64 / MICROSECONDS_PER_HOUR).collect();
        let live = live(&cohorts, hours.len());
        (begin + 1 < hours.len()).then_some(Self { cohorts, hours, live, begin })
    }

    fn judge(&self, oldest: Option<u64>) -> Growth {
        let last = self.hours.len() - 1;
        let middle = (self.begin + last).div_ceil(2);
        let late = Window { from: middle, to: last };
        let quarter = Window { from: (self.begin + middle) / 2, to: middle };
        let slope = self.slope(late);
        let increments = self.increments(late);
        let parts = increments.steps.len();
        let critical = critical(0.95, parts as f64 - 1.0);
        let rate = self.rate(&slope, &increments, late, critical);
        let before = self.rate(&self.slope(quarter), &self.increments(quarter), quarter, critical);
        let evidence = self.evidence(late, &increments, &rate, &before);
        let shape = if parts < FEWEST_PARTS {
            Shape::Unknown
        } else {
            self.shape(late, &rate, &before, &evidence)
        };
        let covariance = slope.covariance;
        Growth { live: self.at_end(), rate, shape, evidence, oldest, covariance, critical }
    }

    fn shape(&self, late: Window, rate: &Rate, before: &Rate, evidence: &Evidence) -> Shape {
        let grown = self.grown(late);
        let certain = grown > CERTAIN * self.sampling_of_growth(late).sqrt();
        let few = evidence.largest_step >= ONE_STEP || evidence.largest_three >= THREE_STEPS;
        if certain && few && evidence.largest_fall < 0.5 {
            return Shape::Steps;
        }
        if rate.low > 0.0 {
            return match evidence {
                _ if evidence.largest_fall >= 1.0 => Shape::Unknown,
                _ if slows_down(rate, before) => Shape::Plateau,
                _ => Shape::Line,
            };
        }
        if evidence.from_start >= MOSTLY {
            Shape::StartUp
        } else if self.is_level(late, rate) {
            Shape::Plateau
        } else {
            Shape::Unknown
        }
    }

    fn is_level(&self, late: Window, rate: &Rate) -> bool {
        let height = |live: &[f64]| live.iter().copied().fold(0.0, f64::max);
        let earlier = height(&self.live[..late.from]);
        let later = height(&self.live[late.from..]);
        let flat = rate.high * self.span(late) <= LEVEL * earlier.max(later);
        let many = earlier >= MANY_BLOCKS * self.average_block();
        flat || (many && later <= SAME_HEIGHT * earlier)
    }

    fn evidence(
        &self,
        late: Window,
        increments: &Increments,
        rate: &Rate,
        before: &Rate,
    ) -> Evidence {
        let mut steps = increments.steps.clone();
        steps.sort_by(|a, b| b.total_cmp(a));
        let grown = self.grown(late);
        let of_growth = |bytes: f64, none: f64| if grown > 0.0 { bytes / grown } else { none };
        Evidence {
            from_start: self.born_at_start(),
            largest_step: of_growth(steps[0], 0.0),
            largest_three: of_growth(steps.iter().take(3).sum(), 0.0),
            largest_fall: of_growth(self.largest_fall(), f64::INFINITY),
            persistence: (before.per_hour > 0.0).then(|| rate.per_hour / before.per_hour),
        }
    }

    fn rate(&self, slope: &Slope, increments: &Increments, window: Window, critical: f64) -> Rate {
        let unseen = 1.2 * (self.average_block() / self.span(window)).powi(2);
        let variance = slope.sampling.max(increments.dispersion * slope.process) + unseen;
        let half = critical * variance.sqrt();
        Rate { per_hour: slope.value, low: slope.value - half, high: slope.value + half, variance }
    }

    fn slope(&self, window: Window) -> Slope {
        let parts = self.coefficients(window);
        // The sum of the coefficients of all edges before each.
        let before: Vec<f64> = std::iter::once(0.0)
            .chain(parts.iter().scan(0.0, |sum, part| {
                *sum += part;
                Some(*sum)
            }))
            .collect();
        let mut slope = Slope::default();
        for cohort in &self.cohorts {
            let end = cohort.end.unwrap_or(self.hours.len()).min(self.hours.len());
            let a = before[end] - before[cohort.first.min(end)];
            slope.value += cohort.sums.weight() * a;
            slope.sampling += cohort.sums.variance() * a * a;
            slope.process += cohort.sums.squares() * a * a;
            if cohort.end.is_none() {
                slope.covariance += cohort.sums.variance() * a;
            }
        }
        slope
    }

    /// What each edge adds to the slope of least squares, per byte.
    fn coefficients(&self, window: Window) -> Vec<f64> {
        let inside = &self.hours[window.from..=window.to];
        let mean = inside.iter().sum::<f64>() / inside.len() as f64;
        let square: f64 = inside.iter().map(|hour| (hour - mean).powi(2)).sum();
        let mut coefficients = vec![0.0; self.hours.len()];
        if square > 0.0 {
            let part = |hour: &f64| (hour - mean) / square;
            coefficients.splice(window.from..=window.to, inside.iter().map(part));
        }
        coefficients
    }

    fn increments(&self, window: Window) -> Increments {
        let edges = window.to - window.from;
        let parts = PARTS.min(edges).max(1);
        let bounds: Vec<usize> =
            (0..=parts).map(|part| window.from + part * edges / parts).collect();
        let lengths: Vec<f64> =
            bounds.windows(2).map(|w| self.hours[w[1]] - self.hours[w[0]]).collect();
        let steps: Vec<f64> =
            bounds.windows(2).map(|w| self.live[w[1]] - self.live[w[0]]).collect();
        let total: f64 = lengths.iter().sum();
        if total <= 0.0 {
            return Increments { steps, dispersion: 1.0 };
        }
        let mean = steps.iter().sum::<f64>() / total;
        let residuals = steps.iter().zip(&lengths).map(|(s, l)| (s - mean * l).powi(2) / l);
        let observed: f64 = residuals.sum();
        let expected = self.expected_residuals(&bounds, &lengths);
        let dispersion = if expected > 0.0 { observed / expected } else { 1.0 };
        Increments { steps, dispersion }
    }

    /// The sum of the squared residuals that independent lives would make.
    fn expected_residuals(&self, bounds: &[usize], lengths: &[f64]) -> f64 {
        let total: f64 = lengths.iter().sum();
        // The part in which something changes between its first and last edge.
        let part = |edge: usize| {
            bounds
                .partition_point(|&bound| bound < edge)
                .checked_sub(1)
                .filter(|&p| p < lengths.len())
        };
        let residual = |cohort: &Cohort<'_>| match (part(cohort.first), cohort.end.and_then(part)) {
            (Some(born), Some(died)) if born == died => 0.0,
            (Some(born), Some(died)) => 1.0 / lengths[born] + 1.0 / lengths[died],
            (Some(only), None) | (None, Some(only)) => 1.0 / lengths[only] - 1.0 / total,
            (None, None) => 0.0,
        };
        self.cohorts.iter().map(|cohort| cohort.sums.squares() * residual(cohort)).sum()
    }

    fn grown(&self, window: Window) -> f64 {
        self.live[window.to] - self.live[window.from]
    }

    /// Sampling variance of what it has grown: that of the blocks that are alive at one end only.
    fn sampling_of_growth(&self, window: Window) -> f64 {
        let at_one_end =
            |cohort: &&Cohort<'_>| cohort.lives_at(window.from) != cohort.lives_at(window.to);
        self.cohorts.iter().filter(at_one_end).map(|cohort| cohort.sums.variance()).sum()
    }

    fn largest_fall(&self) -> f64 {
        let (mut height, mut fall) = (0.0f64, 0.0f64);
        for &live in &self.live {
            height = height.max(live);
            fall = fall.max(height - live);
        }
        fall
    }

    fn born_at_start(&self) -> f64 {
        let last = self.hours.len() - 1;
        let start = START * self.hours[last];
        let survivors = || self.cohorts.iter().filter(|cohort| cohort.lives_at(last));
        let sum = |cohorts: &mut dyn Iterator<Item = &Cohort<'_>>| -> f64 {
            cohorts.map(|cohort| cohort.sums.weight()).sum()
        };
        let all = sum(&mut survivors());
        let early = sum(&mut survivors().filter(|cohort| self.hours[cohort.first - 1] < start));
        if all > 0.0 { early / all } else { 0.0 }
    }

    fn at_end(&self) -> Estimate {
        let last = self.hours.len() - 1;
        let alive = || self.cohorts.iter().filter(|cohort| cohort.lives_at(last));
        Estimate::new(
            alive().map(|cohort| cohort.sums.weight()).sum(),
            alive().map(|cohort| cohort.sums.variance()).sum(),
        )
    }

    /// What a sampled block stands for.
    fn average_block(&self) -> f64 {
        let blocks: f64 = self.cohorts.iter().map(|cohort| f64::from(cohort.blocks)).sum();
        self.cohorts.iter().map(|cohort| cohort.sums.weight()).sum::<f64>() / blocks
    }

    fn span(&self, window: Window) -> f64 {
        self.hours[window.to] - self.hours[window.from]
    }
}

impl Cohort<'_> {
    fn lives_at(&self, edge: usize) -> bool {
        self.first <= edge && self.end.is_none_or(|end| edge < end)
    }
}

/// Whether it grows less than before, and by more than chance would have it.
fn slows_down(rate: &Rate, before: &Rate) -> bool {
    let fewer = before.per_hour - rate.per_hour;
    let surely = fewer > 2.0 * (rate.variance + before.variance).sqrt();
    surely && rate.per_hour < SLOWER * before.per_hour
}

#[cfg(test)]
#[path = "growth_tests.rs"]
mod tests;
