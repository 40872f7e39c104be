//! What of a collected heap is young: nobody knows yet how much of it is dead.

use lifetrace_analysis::{Amount, Summary};

use crate::human;

/// A smaller part is not worth a sentence.
const LEAST_SHARE: f64 = 0.01;

/// Of the peak.
pub fn at_peak(summary: &Summary) -> Option<String> {
    let peak = &summary.peak;
    sentence("lived at the peak", &peak.young, &peak.amount, summary)
}

/// Of what lives at the end.
pub fn at_end(summary: &Summary) -> Option<String> {
    sentence("lives at the end", &summary.young, &summary.live, summary)
}

fn sentence(what: &str, young: &Amount, all: &Amount, summary: &Summary) -> Option<String> {
    let share = young.bytes.value / all.bytes.value;
    (share >= LEAST_SHARE).then(|| {
        format!(
            "Of what {what}, {} ({}) is young: no collection has met it, so much of it may be dead.",
            human::amount(young, &summary.sampling),
            human::percent(share),
        )
    })
}
