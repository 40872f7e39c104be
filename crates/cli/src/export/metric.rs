//! The amounts that a backtrace has.

use clap::ValueEnum;
use lifetrace_analysis::Amount;
use lifetrace_analysis::account::Balance;

/// One of the amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Metric {
    /// Bytes ever allocated
    #[default]
    Allocated,
    /// Bytes live at the end
    Live,
    /// Bytes live when the program had most
    Peak,
    /// Objects ever allocated
    AllocatedObjects,
    /// Objects live at the end
    LiveObjects,
    /// Objects live when the program had most
    PeakObjects,
    /// Allocations that were sampled
    Samples,
}

/// What a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    Objects,
    Samples,
}

impl Metric {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Allocated => "bytes allocated",
            Self::Live => "bytes live at the end",
            Self::Peak => "bytes live at the peak",
            Self::AllocatedObjects => "objects allocated",
            Self::LiveObjects => "objects live at the end",
            Self::PeakObjects => "objects live at the peak",
            Self::Samples => "allocations sampled",
        }
    }

    /// What it counts.
    pub fn unit(self) -> Unit {
        match self {
            Self::Allocated | Self::Live | Self::Peak => Unit::Bytes,
            Self::AllocatedObjects | Self::LiveObjects | Self::PeakObjects => Unit::Objects,
            Self::Samples => Unit::Samples,
        }
    }

    /// What a backtrace has of it.
    pub fn of(self, balance: &Balance) -> f64 {
        let amount = self.amount(balance);
        match self.unit() {
            Unit::Bytes => amount.bytes.value,
            Unit::Objects => amount.objects.value,
            Unit::Samples => amount.samples as f64,
        }
    }

    fn amount(self, balance: &Balance) -> Amount {
        let tally = match self {
            Self::Allocated | Self::AllocatedObjects | Self::Samples => &balance.allocated,
            Self::Live | Self::LiveObjects => &balance.live,
            Self::Peak | Self::PeakObjects => &balance.peak,
        };
        tally.amount()
    }
}
