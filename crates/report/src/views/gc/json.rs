//! Garbage collections as fields of `--json`.

use lifetrace_analysis::pace::{Figure, Range, Spread};
use lifetrace_trace::fact::Generation;
use serde::{Serialize, Serializer};

use super::{Blocks, Cycles, name};
use crate::amounts::Quantity;

impl Serialize for Blocks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            allocated: Quantity,
            allocated_old: Quantity,
            promoted: Quantity,
            collected: Quantity,
            live_young: Quantity,
            live_old: Quantity,
            survived_minor_mean: Option<f64>,
            survived_major_mean: Option<f64>,
            survived_minor_most: Option<u64>,
            survived_major_most: Option<u64>,
        }
        let (sums, survived) = (&self.sums, self.survived());
        let (mean, most) = (survived.map(|it| it.0), survived.map(|it| it.1));
        let fields = Fields {
            allocated: Quantity(sums.allocated.amount()),
            allocated_old: Quantity(sums.born_old.amount()),
            promoted: Quantity(sums.promoted.amount()),
            collected: Quantity(sums.collected.amount()),
            live_young: Quantity(sums.young.amount()),
            live_old: Quantity(sums.old.amount()),
            survived_minor_mean: mean.map(|mean| mean[0]),
            survived_major_mean: mean.map(|mean| mean[1]),
            survived_minor_most: most.map(|most| most[0]),
            survived_major_most: most.map(|most| most[1]),
        };
        fields.serialize(serializer)
    }
}

impl Serialize for Cycles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'p> {
            generation: &'static str,
            count: u64,
            first_number: Option<u64>,
            last_number: Option<u64>,
            gaps: Option<Times>,
            durations: Option<Times>,
            over_time: &'p [u64],
        }
        let Self { generation, pace } = self;
        let fields = Fields {
            generation: match generation {
                Generation::Compaction => "compaction",
                other => name(*other),
            },
            count: pace.count,
            first_number: pace.numbers.map(|it| it.0),
            last_number: pace.numbers.map(|it| it.1),
            gaps: pace.gaps.map(Times::from),
            durations: pace.durations.map(Times::from),
            over_time: &pace.over_time,
        };
        fields.serialize(serializer)
    }
}

pub fn by_name<S: Serializer>(
    counters: &[(Figure, Range)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Fields {
        first: u64,
        highest: u64,
        last: u64,
    }
    let fields = |Range { first, highest, last }| Fields { first, highest, last };
    serializer.collect_map(counters.iter().map(|(it, range)| (figure_name(*it), fields(*range))))
}

/// As a field of JSON.
fn figure_name(figure: Figure) -> &'static str {
    match figure {
        Figure::Resident => "resident_bytes",
        Figure::Proportional => "proportional_bytes",
        Figure::AllocatorInUse => "allocator_in_use_bytes",
        Figure::AllocatorHeld => "allocator_held_bytes",
        Figure::MinorFaults => "minor_faults",
        Figure::MajorFaults => "major_faults",
        Figure::MinorWords => "minor_words",
        Figure::PromotedWords => "promoted_words",
        Figure::MajorWords => "major_words",
        Figure::MinorCollections => "minor_collections",
        Figure::MajorCollections => "major_collections",
        Figure::Compactions => "compactions",
        Figure::HeapWords => "heap_words",
        Figure::TopHeapWords => "top_heap_words",
        Figure::YoungHeapWords => "young_heap_words",
    }
}

#[derive(Serialize)]
struct Times {
    median_us: u64,
    longest_us: u64,
    total_us: u64,
}

impl From<Spread> for Times {
    fn from(spread: Spread) -> Self {
        let Spread { median, longest, total } = spread;
        Self { median_us: median, longest_us: longest, total_us: total }
    }
}
