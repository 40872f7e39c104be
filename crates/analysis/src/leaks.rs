//! What was allocated and never freed: who holds it, and whether it grows.
//!
//! Each callsite that holds something at the end is judged by its own past: by
//! [`growth`](crate::statistics::growth) of its live bytes, by the share that it never frees, and by how
//! old what it holds is beside what it freed: [`Kind`]. The sketches of a callsite are of bounded size,
//! and only those that hold something have any.

use std::cmp::Ordering;
use std::time::Duration;

use lifetrace_trace::ids::Timestamp;
use rustc_hash::FxHashMap;

use crate::estimate::Amount;
use crate::history::Block;
use crate::replay::{Death, Earlier, Observer, since};
use crate::sites::{SiteId, Sites};
use crate::statistics::growth::outliving;
use crate::statistics::{Growth, Lives, Mass, Proportion, Shape, Survival, Together, Unit};

/// In a shorter trace, whatever grows may well be what the program builds up as it begins.
pub const SHORTEST: Duration = Duration::from_secs(10);

/// Leaked blocks grow older than nearly all that were freed; of those of a leak that began with the trace,
/// more than this part is older, unless freed ones often live for three quarters of the trace. What
/// will be freed some day is not: it is as old as others before.
const OLD: f64 = 0.25;
/// Who never frees more than this part has no past that could speak for it.
const NEARLY_ALL: f64 = 0.9;

/// Observes the blocks of callsites that hold something at the end.
pub struct Leaks<'s, 'a> {
    sites: &'s Sites<'a>,
    start: Timestamp,
    holders: FxHashMap<SiteId, Sketch>,
}

#[derive(Clone, Debug, Default)]
struct Sketch {
    lives: Lives,
    survival: Survival,
}

/// All that is held at the end.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Leaks first, those that surely grow fastest before others; then steps, the fastest first; then
    /// all else by how much it is.
    pub holdings: Vec<Holding>,
    /// How fast all leaks grow together, if there is any.
    pub together: Option<Together>,
    /// Whether the trace is shorter than [`SHORTEST`].
    pub is_too_short: bool,
}

/// What to think of a callsite that holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It grows all the time, and keeps blocks for longer than it ever kept what it freed.
    Leak,
    /// It grows by few large steps, and keeps blocks for longer than it ever kept what it freed.
    Steps,
    /// It grows, but what lives is no older than what it freed before: a cache that fills, sessions.
    Filling,
    /// It does not grow any more.
    Plateau,
    /// It was built up as the program began, and stays.
    StartUp,
    /// Nobody can tell.
    Unknown,
}

/// What a callsite holds at the end.
#[derive(Clone, Debug)]
pub struct Holding {
    /// The callsite.
    pub site: SiteId,
    /// How much it is.
    pub live: Amount,
    /// What to think of it.
    pub kind: Kind,
    /// How it goes with time; `None` if all that it holds is new.
    pub growth: Option<Growth>,
    /// Age of the oldest sampled block in microseconds.
    pub oldest: u64,
    /// The share of the bytes ever allocated there that was never freed.
    pub never_freed: Proportion,
    /// How old it is beside what was freed; `None` if nothing was.
    pub past: Option<Past>,
    /// Live bytes from the start to the end, at equal steps.
    pub heights: Vec<f64>,
}

/// What became of a callsite's blocks that are gone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Past {
    /// 99 % of the bytes that were freed lived so many microseconds at most.
    pub most_lived: f64,
    /// The share of the bytes that are alive that is older.
    pub outliving: Proportion,
}

impl<'s, 'a> Leaks<'s, 'a> {
    /// Of a trace that begins at `start`, in which `holders` hold something at the end.
    pub fn new(
        sites: &'s Sites<'a>,
        start: Timestamp,
        holders: impl IntoIterator<Item = SiteId>,
    ) -> Self {
        let holders = holders.into_iter().map(|site| (site, Sketch::default())).collect();
        Self { sites, start, holders }
    }

    /// When all has been heard; the trace ends at `end`.
    pub fn judge(self, end: Timestamp) -> Judgement {
        let length = end.0.saturating_sub(self.start.0);
        let holdings = self.holders.iter().filter_map(|(&site, it)| it.judge(site, length));
        let mut holdings: Vec<_> = holdings.collect();
        holdings.sort_by(Holding::before);
        let leaks = holdings.iter().filter(|holding| holding.kind == Kind::Leak);
        let grown =
            leaks.filter_map(|it| Some((&self.holders[&it.site].lives, it.growth.as_ref()?)));
        let together = Together::of(grown, length);
        Judgement { together, is_too_short: since(self.start, end) < SHORTEST, holdings }
    }

    fn sketch(&mut self, block: &Block) -> Option<&mut Sketch> {
        self.holders.get_mut(&self.sites.of(block.backtrace)?)
    }

    fn age(&self, time: Timestamp) -> u64 {
        time.0.saturating_sub(self.start.0)
    }

    fn end(&mut self, block: &Block, time: Timestamp, is_death: bool) {
        let [born, end] = [block.born, time].map(|time| self.age(time));
        let Some(sketch) = self.sketch(block) else { return };
        let mass = Mass::of_block(&block.tally().amount());
        let take = if is_death { Survival::died } else { Survival::survived };
        take(&mut sketch.survival, end.saturating_sub(born), &mass);
        sketch.lives.add(born, is_death.then_some(end), &mass.amount().bytes);
    }
}

impl Sketch {
    /// Nothing if it holds nothing.
    fn judge(&self, site: SiteId, length: u64) -> Option<Holding> {
        let growth = Growth::of(&self.lives, length);
        let dead = self.survival.deaths();
        let most_lived = dead.quantile(Unit::Bytes, 0.99).map(|quantile| quantile.value);
        let outliving = outliving(&self.survival, Unit::Bytes);
        let never_freed = self.survival.surviving(Unit::Bytes)?;
        let past = most_lived.zip(outliving);
        let past = past.map(|(most_lived, outliving)| Past { most_lived, outliving });
        Some(Holding {
            site,
            live: self.survival.survivors().total().amount(),
            kind: growth.map_or(Kind::Unknown, |growth| {
                Kind::of(growth.shape, &never_freed, past.as_ref())
            }),
            growth,
            oldest: length.saturating_sub(self.lives.oldest()?),
            never_freed,
            past,
            heights: self.lives.heights(length),
        })
    }
}

impl Kind {
    fn of(shape: Shape, never_freed: &Proportion, past: Option<&Past>) -> Self {
        let past = past.filter(|_| never_freed.value <= NEARLY_ALL);
        let keeps = past.is_none_or(|past| past.outliving.value >= OLD);
        match shape {
            Shape::Line if keeps => Self::Leak,
            Shape::Steps if keeps => Self::Steps,
            Shape::Line | Shape::Steps => Self::Filling,
            Shape::Plateau => Self::Plateau,
            Shape::StartUp => Self::StartUp,
            Shape::Unknown => Self::Unknown,
        }
    }
}

impl Holding {
    fn before(&self, other: &Self) -> Ordering {
        let rank = |it: &Self| match it.kind {
            Kind::Leak => (0, it.growth.map_or(0.0, |growth| growth.rate.low)),
            Kind::Steps => (1, it.growth.map_or(0.0, |growth| growth.rate.per_hour)),
            Kind::Filling | Kind::Plateau | Kind::StartUp | Kind::Unknown => {
                (2, it.live.bytes.value)
            }
        };
        let ((class, value), (others, other_value)) = (rank(self), rank(other));
        let by_size = class.cmp(&others).then(other_value.total_cmp(&value));
        by_size.then(self.site.cmp(&other.site))
    }
}

impl Observer for Leaks<'_, '_> {
    fn died(&mut self, block: &Block, death: Death) {
        self.end(block, death.time, true);
    }

    fn survived(&mut self, block: &Block, end: Timestamp) {
        self.end(block, end, false);
    }

    /// What lives at the start is what a callsite grows from.
    fn earlier(&mut self, block: &Block, step: Earlier) {
        match step {
            Earlier::Died(death) => self.died(block, death),
            Earlier::Survived(end) => self.survived(block, end),
            Earlier::Lives | Earlier::Promoted => {}
        }
    }
}
