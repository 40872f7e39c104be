//! Half-open ranges, and what stands for them in a filter.

use std::fmt;

use super::moment::{Bounds, Moment, Unknown};

/// From `low` on, up to and without `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) low: i128,
    pub(super) high: i128,
}

impl Window {
    pub(super) const ALL: Self = Self { low: i128::MIN, high: i128::MAX };

    pub(super) fn contains(self, value: impl Into<i128>) -> bool {
        let value = value.into();
        self.low <= value && value < self.high
    }

    /// Whether no value is too great.
    pub(super) fn is_open(self) -> bool {
        self.high == i128::MAX
    }

    fn only(value: i128) -> Self {
        Self { low: value, high: value + 1 }
    }
}

/// When something happens. All are half-open: a moment belongs to what comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// In this very microsecond.
    At(Moment),
    /// Earlier.
    Before(Moment),
    /// At this moment or later.
    After(Moment),
    /// From the first moment on, up to and without the second.
    Between(Moment, Moment),
}

impl When {
    pub(super) fn moments(&self) -> impl Iterator<Item = Moment> {
        let (first, second) = match *self {
            Self::At(moment) | Self::Before(moment) | Self::After(moment) => (moment, None),
            Self::Between(first, second) => (first, Some(second)),
        };
        [first].into_iter().chain(second)
    }

    pub(super) fn window(&self, bounds: &Bounds<'_>) -> Result<Window, Unknown> {
        let micros = |moment| bounds.micros(moment);
        Ok(match *self {
            Self::At(moment) => Window::only(micros(moment)?),
            Self::Before(moment) => Window { high: micros(moment)?, ..Window::ALL },
            Self::After(moment) => Window { low: micros(moment)?, ..Window::ALL },
            Self::Between(first, second) => Window { low: micros(first)?, high: micros(second)? },
        })
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(moment) => write!(f, " at {moment}"),
            Self::Before(moment) => write!(f, " before {moment}"),
            Self::After(moment) => write!(f, " after {moment}"),
            Self::Between(first, second) => write!(f, " {first}..{second}"),
        }
    }
}

/// How great something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limits<T> {
    /// Exactly.
    Equal(T),
    /// Less.
    Below(T),
    /// Less, or exactly.
    AtMost(T),
    /// More.
    Above(T),
    /// More, or exactly.
    AtLeast(T),
    /// The first, or more, but less than the second.
    Between(T, T),
}

impl<T: Copy> Limits<T> {
    pub(super) fn values(&self) -> impl Iterator<Item = T> {
        let (first, second) = match *self {
            Self::Equal(value)
            | Self::Below(value)
            | Self::AtMost(value)
            | Self::Above(value)
            | Self::AtLeast(value) => (value, None),
            Self::Between(first, second) => (first, Some(second)),
        };
        [first].into_iter().chain(second)
    }

    /// `number` says what a value is in the smallest unit.
    pub(super) fn window(&self, number: impl Fn(T) -> i128) -> Window {
        match *self {
            Self::Equal(value) => Window::only(number(value)),
            Self::Below(value) => Window { high: number(value), ..Window::ALL },
            Self::AtMost(value) => Window { high: number(value) + 1, ..Window::ALL },
            Self::Above(value) => Window { low: number(value) + 1, ..Window::ALL },
            Self::AtLeast(value) => Window { low: number(value), ..Window::ALL },
            Self::Between(first, second) => Window { low: number(first), high: number(second) },
        }
    }
}

impl<T: fmt::Display> fmt::Display for Limits<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal(value) => write!(f, "={value}"),
            Self::Below(value) => write!(f, "<{value}"),
            Self::AtMost(value) => write!(f, "<={value}"),
            Self::Above(value) => write!(f, ">{value}"),
            Self::AtLeast(value) => write!(f, ">={value}"),
            Self::Between(first, second) => write!(f, "={first}..{second}"),
        }
    }
}
