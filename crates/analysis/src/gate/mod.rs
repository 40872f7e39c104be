//! Gates: conditions under which a build fails.
//!
//! ```text
//!   "live > 100MB"    ─→ Gate       ─ judge(Summary, Growth) ─┐
//!   "allocated > +5%" ─→ ChangeGate ─ judge(Change) ──────────┴─→ Finding: beyond the limit? surely?
//! ```
//!
//! What is measured is estimated, so a gate that looked at the estimate alone would fail every other
//! build of a program that is exactly at its limit. A condition is *significantly* true if the whole
//! 95 % interval lies beyond the limit: of programs exactly at the limit at most 2.5 % fail
//! ([`judge`] says why, its tests measure it).
//!
//! What a gate is written as ([`Display`](std::fmt::Display)) is read as the same gate.

mod judge;
mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::filter::ByteSize;

pub use judge::{Finding, WholeProgram};

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Bytes that live at the end.
    Live,
    /// Bytes that were never freed: those that live at the end.
    Leaked,
    /// Bytes ever allocated.
    Allocated,
    /// The most bytes that lived at once.
    Peak,
    /// Objects ever allocated.
    Objects,
    /// How fast live bytes grow.
    Growth,
}

/// How a number compares with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// A condition on what a trace amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gate {
    measure: Measure,
    op: Op,
    limit: Limit,
}

/// A condition on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChangeGate {
    measure: Measure,
    op: Op,
    /// Whether the limit is below 0; never if the margin is 0.
    is_fall: bool,
    margin: Margin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Limit {
    Bytes(ByteSize),
    Objects(u64),
    Rate { bytes: ByteSize, per: Per },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Margin {
    /// Of what was before, in millionths.
    Share(u64),
    Bytes(ByteSize),
    Objects(u64),
}

/// A span of time in which something grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Per {
    Second,
    Minute,
    Hour,
    Day,
}

impl Measure {
    const ALL: [Self; 6] =
        [Self::Live, Self::Leaked, Self::Allocated, Self::Peak, Self::Objects, Self::Growth];
    /// Those that two traces can be compared by.
    const OF_CHANGES: [Self; 5] =
        [Self::Live, Self::Leaked, Self::Allocated, Self::Peak, Self::Objects];

    /// As one types it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Leaked => "leaked",
            Self::Allocated => "allocated",
            Self::Peak => "peak",
            Self::Objects => "objects",
            Self::Growth => "growth",
        }
    }
}

impl Op {
    fn is_true(self, number: f64, limit: f64) -> bool {
        match self {
            Self::Above => number > limit,
            Self::AtLeast => number >= limit,
            Self::Below => number < limit,
            Self::AtMost => number <= limit,
        }
    }

    /// Whether it asks for much, rather than little.
    fn is_upwards(self) -> bool {
        matches!(self, Self::Above | Self::AtLeast)
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }
}

impl Gate {
    /// What it is about.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Bytes, objects, or bytes an hour.
    pub fn limit(&self) -> f64 {
        match self.limit {
            Limit::Bytes(bytes) => bytes.0.0 as f64,
            Limit::Objects(objects) => objects as f64,
            Limit::Rate { bytes, per } => bytes.0.0 as f64 * per.in_an_hour(),
        }
    }

    /// Whether it would be true of this number, if it asks for much: one that asks for little is no
    /// budget.
    pub fn is_exceeded_by(&self, number: f64) -> bool {
        self.op.is_upwards() && self.op.is_true(number, self.limit())
    }
}

impl ChangeGate {
    /// What it is about.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Whether the limit is a share of what was before.
    pub fn is_relative(&self) -> bool {
        matches!(self.margin, Margin::Share(_))
    }

    /// Bytes or objects, or a share of what was before; below 0 for a fall.
    pub fn limit(&self) -> f64 {
        let limit = match self.margin {
            Margin::Share(millionths) => millionths as f64 / 1e6,
            Margin::Bytes(bytes) => bytes.0.0 as f64,
            Margin::Objects(objects) => objects as f64,
        };
        if self.is_fall { -limit } else { limit }
    }
}

impl Per {
    const ALL: [Self; 4] = [Self::Second, Self::Minute, Self::Hour, Self::Day];

    fn name(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Minute => "min",
            Self::Hour => "h",
            Self::Day => "d",
        }
    }

    fn in_an_hour(self) -> f64 {
        match self {
            Self::Second => 3600.0,
            Self::Minute => 60.0,
            Self::Hour => 1.0,
            Self::Day => 1.0 / 24.0,
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.measure.name(), self.op.sign())?;
        match self.limit {
            Limit::Bytes(bytes) => write!(f, "{bytes}"),
            Limit::Objects(objects) => write!(f, "{objects}"),
            Limit::Rate { bytes, per } => write!(f, "{bytes}/{}", per.name()),
        }
    }
}

impl fmt::Display for ChangeGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_fall { '-' } else { '+' };
        write!(f, "{} {} {sign}", self.measure.name(), self.op.sign())?;
        match self.margin {
            Margin::Share(millionths) => write!(f, "{}%", percent(millionths)),
            Margin::Bytes(bytes) => write!(f, "{bytes}"),
            Margin::Objects(objects) => write!(f, "{objects}"),
        }
    }
}

fn percent(millionths: u64) -> String {
    let decimals = format!("{:04}", millionths % 10_000);
    let decimals = decimals.trim_end_matches('0');
    let point = if decimals.is_empty() { "" } else { "." };
    format!("{}{point}{decimals}", millionths / 10_000)
}
