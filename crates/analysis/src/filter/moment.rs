//! Moments of a trace: by the wall clock, from its start, end or peak, or as a share of it.

use std::fmt;

use lifetrace_trace::ids::Timestamp;

use super::date::{self, Date};
use super::error::{Mistake, clipped};
use super::quantity::{self, A_TIME, Micros, Number, Share};
use super::scan::Scanner;

pub(super) const A_MOMENT: &str =
    "a moment: 10s, 50%, start, end, peak, end-5min or a date such as 2026-01-12T13:44:03Z";

/// A moment, before it is known of which trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// As far from a point of the trace.
    From(Anchor, Offset),
    /// When so much of the trace's time has passed.
    Share(Share),
    /// By the wall clock.
    Date(Date),
}

/// A point of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// The beginning.
    Start,
    /// Just after the last event.
    End,
    /// When most bytes lived.
    Peak,
}

/// How far after a point of the trace; before it, if negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Offset(i64);

impl Offset {
    /// None at all.
    pub const NONE: Self = Self(0);

    /// So long after.
    pub fn after(Micros(micros): Micros) -> Self {
        Self(micros as i64)
    }

    /// So long before.
    pub fn before(Micros(micros): Micros) -> Self {
        Self(-(micros as i64))
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "+" };
        write!(f, "{sign}{}", Micros(self.0.unsigned_abs()))
    }
}

impl Moment {
    /// A point of the trace itself.
    pub const fn at(anchor: Anchor) -> Self {
        Self::From(anchor, Offset::NONE)
    }

    /// Whether it certainly does not come before `other`, whatever the trace.
    pub(super) fn never_precedes(self, other: Self) -> bool {
        match (self, other) {
            (Self::From(a, first), Self::From(b, second)) => a == b && first >= second,
            (Self::Share(first), Self::Share(second)) => first >= second,
            (Self::Date(first), Self::Date(second)) => first >= second,
            _ => false,
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(anchor, Offset::NONE) => f.write_str(anchor.word()),
            Self::From(Anchor::Start, Offset(micros @ 1..)) => Micros(micros.unsigned_abs()).fmt(f),
            Self::From(anchor, offset) => write!(f, "{}{offset}", anchor.word()),
            Self::Share(share) => share.fmt(f),
            Self::Date(date) => date.fmt(f),
        }
    }
}

impl Anchor {
    const ALL: [Self; 3] = [Self::Start, Self::End, Self::Peak];

    fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::End => "end",
            Self::Peak => "peak",
        }
    }
}

/// The words that stand for moments.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    Anchor::ALL.into_iter().map(Anchor::word)
}

/// What the moments of a filter mean in one trace.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    /// When the trace begins.
    pub start: Timestamp,
    /// The last event; none while it is not known.
    pub end: Option<Timestamp>,
    /// When most bytes lived, for the first time; none while it is not known. Of a trace without
    /// blocks it may be anything.
    pub peak: Option<Timestamp>,
    /// What the wall clock showed, in the order of the trace. Until the first reading it shows the
    /// trace's own time.
    pub clock: &'a [ClockReading],
}

/// What the wall clock showed at one moment of the trace, and goes on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// By the trace's own time.
    pub at: Timestamp,
    /// By the wall clock.
    pub shows: Timestamp,
}

/// What a filter needs to know and [`Bounds`] do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// When the trace ends.
    #[error("the filter depends on the end of the trace, which is not known")]
    End,
    /// When most bytes lived.
    #[error("the filter depends on the peak of the trace, which is not known")]
    Peak,
}

impl Bounds<'_> {
    /// The first moment that belongs no more to the trace: just after the last event.
    pub(super) fn end(&self) -> Result<i128, Unknown> {
        self.end.map(|end| i128::from(end.0) + 1).ok_or(Unknown::End)
    }

    /// How long the trace lasts.
    pub(super) fn length(&self) -> Result<i128, Unknown> {
        Ok((self.end()? - i128::from(self.start.0)).max(0))
    }

    /// In microseconds of the trace's own time; outside of the trace as well.
    pub(super) fn micros(&self, moment: Moment) -> Result<i128, Unknown> {
        match moment {
            Moment::From(anchor, offset) => Ok(self.anchor(anchor)? + i128::from(offset.0)),
            Moment::Share(share) => Ok(i128::from(self.start.0) + share.of(self.length()?)),
            Moment::Date(date) => Ok(self.first_showing(date.time())),
        }
    }

    fn anchor(&self, anchor: Anchor) -> Result<i128, Unknown> {
        match anchor {
            Anchor::Start => Ok(self.start.0.into()),
            Anchor::End => self.end(),
            Anchor::Peak => self.peak.map(|peak| peak.0.into()).ok_or(Unknown::Peak),
        }
    }

    /// The first moment at which the wall clock shows `wall`, or is past it.
    fn first_showing(&self, wall: Timestamp) -> i128 {
        let (mut from, mut ahead) = (i128::MIN, 0);
        for reading in self.clock {
            let until = i128::from(reading.at.0);
            let moment = (i128::from(wall.0) - ahead).max(from);
            if moment < until {
                return moment;
            }
            (from, ahead) = (until, i128::from(reading.shows.0) - until);
        }
        (i128::from(wall.0) - ahead).max(from)
    }
}

/// A moment; there is no space before it.
pub(super) fn moment(scanner: &mut Scanner<'_>) -> Result<Moment, Mistake> {
    if date::is_next(scanner) {
        return date::date(scanner).map(Moment::Date);
    }
    match scanner.peek() {
        Some(next) if next.is_ascii_digit() => share_or_offset(scanner),
        Some('+') => {
            scanner.eat("+");
            let offset = quantity::time(scanner)?;
            Ok(Moment::From(Anchor::Start, Offset::after(offset)))
        }
        Some(next) if next.is_alphabetic() => anchored(scanner),
        _ => Err(Mistake::Expected(A_MOMENT)),
    }
}

fn share_or_offset(scanner: &mut Scanner<'_>) -> Result<Moment, Mistake> {
    let from = scanner.at();
    let number = Number::scan(scanner, A_TIME)?;
    if scanner.peek() == Some(':') {
        scanner.take_while(|next| next.is_ascii_digit() || next == ':');
        scanner.mark(from..scanner.at());
        return Err(Mistake::NoDay);
    }
    match quantity::share_after(scanner, number)? {
        Some(share) => Ok(Moment::Share(share)),
        None => {
            let offset = quantity::time_after(scanner, number)?;
            Ok(Moment::From(Anchor::Start, Offset::after(offset)))
        }
    }
}

fn anchored(scanner: &mut Scanner<'_>) -> Result<Moment, Mistake> {
    let from = scanner.at();
    let word = scanner.take_while(char::is_alphabetic);
    let anchor = Anchor::ALL.into_iter().find(|anchor| anchor.word().eq_ignore_ascii_case(word));
    let Some(anchor) = anchor else {
        scanner.mark(from..scanner.at());
        return Err(Mistake::UnknownMoment(clipped(word)));
    };
    let offset = if scanner.eat("-") {
        Offset::before(quantity::time(scanner)?)
    } else if scanner.eat("+") {
        Offset::after(quantity::time(scanner)?)
    } else {
        Offset::NONE
    };
    Ok(Moment::From(anchor, offset))
}
