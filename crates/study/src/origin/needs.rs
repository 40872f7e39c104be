//! What a trace has to tell so that a question can be answered.

use lifetrace_analysis::Metric;
use lifetrace_analysis::filter::{Anchor, Claim, Filter, Moment, Offset, Preset, Term, When};
use lifetrace_analysis::gate::Measure;
use lifetrace_import::Lack;

/// Of an amount.
pub fn of_metric(metric: Metric) -> &'static [Lack] {
    match metric {
        Metric::Allocated => &[Lack::Allocated],
        Metric::Live => &[Lack::Live],
        Metric::Peak => &[Lack::Peak],
        Metric::Objects => &[Lack::Allocated, Lack::Objects],
        Metric::ByteSeconds => &[Lack::Lifetimes],
    }
}

/// Of a condition.
pub fn of_measure(measure: Measure) -> &'static [Lack] {
    match measure {
        Measure::Live | Measure::Leaked => &[Lack::Live],
        Measure::Allocated => &[Lack::Allocated],
        Measure::Peak => &[Lack::Peak],
        Measure::Objects => &[Lack::Allocated, Lack::Objects],
        Measure::Growth => &[Lack::Times, Lack::Live],
    }
}

/// Of a filter.
pub fn of_filter(filter: &Filter) -> Vec<Lack> {
    filter.terms().iter().flat_map(of_term).collect()
}

fn of_term(term: &Term) -> Vec<Lack> {
    match &term.claim {
        Claim::Preset(preset) => of_preset(*preset),
        Claim::Allocated(when) | Claim::Alive(when) => vec![of_time(when)],
        Claim::Freed(None) => vec![Lack::Live],
        Claim::Freed(Some(when)) => vec![of_time(when), Lack::Live],
        Claim::Promoted(_) | Claim::InOldHeap => vec![Lack::Times],
        Claim::Size(_) => vec![Lack::Sizes, Lack::Objects],
        Claim::Lifetime(_) => vec![Lack::Lifetimes],
        Claim::Thread(_) => vec![Lack::Threads],
        Claim::Source(_) | Claim::Frame(_) | Claim::Label(_) => Vec::new(),
    }
}

fn of_preset(preset: Preset) -> Vec<Lack> {
    preset.terms().iter().flat_map(of_term).collect()
}

/// What lived at the peak and at the end is told without times.
fn of_time(when: &When) -> Lack {
    match when {
        When::At(Moment::From(Anchor::Peak, offset)) if *offset == Offset::NONE => Lack::Peak,
        When::At(Moment::From(Anchor::End, offset)) if *offset == Offset::NONE => Lack::Live,
        _ => Lack::Times,
    }
}

/// Of a field of a document.
pub fn of_field(key: &str) -> Option<Lack> {
    match key {
        _ if key.starts_with("objects") || key.contains("_objects") => Some(Lack::Objects),
        "peak" => Some(Lack::Peak),
        "allocated" => Some(Lack::Allocated),
        "live_at_end" => Some(Lack::Live),
        "never_freed" => Some(Lack::Allocated),
        "freed" => Some(Lack::Lifetimes),
        "time_us" => Some(Lack::Times),
        _ if key.starts_with("peak_") => Some(Lack::Peak),
        _ if key.starts_with("allocated_") => Some(Lack::Allocated),
        _ if key.starts_with("live_") => Some(Lack::Live),
        _ if key.starts_with("byte_seconds") => Some(Lack::Lifetimes),
        _ => None,
    }
}
