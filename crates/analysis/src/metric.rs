//! What a report is about.

use crate::account::Balance;
use crate::estimate::{Amount, Estimate, Tally};

/// One of the amounts that a set of blocks has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Bytes ever allocated.
    #[default]
    Allocated,
    /// Bytes live at the end.
    Live,
    /// Bytes live when the program had most.
    Peak,
    /// Objects ever allocated.
    Objects,
    /// Each byte ever allocated, times the seconds that it lived.
    ByteSeconds,
}

/// What a [`Metric`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Memory.
    Bytes,
    /// Blocks.
    Objects,
    /// Memory times time.
    ByteSeconds,
}

impl Metric {
    /// All there are.
    pub const ALL: [Self; 5] =
        [Self::Allocated, Self::Live, Self::Peak, Self::Objects, Self::ByteSeconds];

    /// As command lines and documents call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allocated => "allocated",
            Self::Live => "live",
            Self::Peak => "peak",
            Self::Objects => "objects",
            Self::ByteSeconds => "byte-seconds",
        }
    }

    /// What it counts.
    pub fn unit(self) -> Unit {
        match self {
            Self::Allocated | Self::Live | Self::Peak => Unit::Bytes,
            Self::Objects => Unit::Objects,
            Self::ByteSeconds => Unit::ByteSeconds,
        }
    }

    /// What a set of blocks has of it.
    pub fn of(self, balance: &Balance) -> Estimate {
        let amount = self.amount(balance);
        match self.unit() {
            Unit::Bytes => amount.bytes,
            Unit::Objects => amount.objects,
            Unit::ByteSeconds => balance.lives.byte_seconds,
        }
    }

    /// The blocks that count for it.
    pub fn amount(self, balance: &Balance) -> Amount {
        self.tally(balance).amount()
    }

    /// The blocks that count for it.
    pub fn tally(self, balance: &Balance) -> &Tally {
        match self {
            Self::Allocated | Self::Objects | Self::ByteSeconds => &balance.allocated,
            Self::Live => &balance.live,
            Self::Peak => &balance.peak,
        }
    }
}
