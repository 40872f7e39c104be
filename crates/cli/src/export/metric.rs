//! The amounts that a backtrace has.

use clap::ValueEnum;
use lifetrace_analysis::account::Balance;

use crate::origin::Origin;

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
    /// Bytes times the seconds that they lived
    ByteSeconds,
    /// The seconds that objects lived, summed
    ObjectSeconds,
    /// Allocations that were sampled
    Samples,
}

/// What a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    Objects,
    ByteSeconds,
    ObjectSeconds,
    Samples,
}

impl Unit {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Objects => "objects",
            Self::ByteSeconds => "byte-seconds",
            Self::ObjectSeconds => "object-seconds",
            Self::Samples => "samples",
        }
    }
}

impl Metric {
    /// The one that is meant if nobody says.
    pub fn usual(origin: &Origin) -> Self {
        match origin.usual_metric() {
            lifetrace_analysis::Metric::Live => Self::Live,
            lifetrace_analysis::Metric::Peak => Self::Peak,
            _ => Self::Allocated,
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Allocated => "bytes allocated",
            Self::Live => "bytes live at the end",
            Self::Peak => "bytes live at the peak",
            Self::AllocatedObjects => "objects allocated",
            Self::LiveObjects => "objects live at the end",
            Self::PeakObjects => "objects live at the peak",
            Self::ByteSeconds => "bytes times the seconds that they lived",
            Self::ObjectSeconds => "seconds that objects lived",
            Self::Samples => "allocations sampled",
        }
    }

    /// What it counts.
    pub fn unit(self) -> Unit {
        match self {
            Self::Allocated | Self::Live | Self::Peak => Unit::Bytes,
            Self::AllocatedObjects | Self::LiveObjects | Self::PeakObjects => Unit::Objects,
            Self::ByteSeconds => Unit::ByteSeconds,
            Self::ObjectSeconds => Unit::ObjectSeconds,
            Self::Samples => Unit::Samples,
        }
    }

    /// What a backtrace has of it.
    pub fn of(self, balance: &Balance) -> f64 {
        let Balance { allocated, live, peak, lives } = balance;
        let (allocated, live, peak) = (allocated.amount(), live.amount(), peak.amount());
        match self {
            Self::Allocated => allocated.bytes.value,
            Self::Live => live.bytes.value,
            Self::Peak => peak.bytes.value,
            Self::AllocatedObjects => allocated.objects.value,
            Self::LiveObjects => live.objects.value,
            Self::PeakObjects => peak.objects.value,
            Self::ByteSeconds => lives.byte_seconds.value,
            Self::ObjectSeconds => lives.object_seconds.value,
            Self::Samples => allocated.samples as f64,
        }
    }
}
