//! What every export says of where its numbers come from.

use lifetrace_analysis::{Amount, Estimate};

use crate::summary::Reading;

/// One line each, for people.
pub fn notes(reading: &Reading) -> Vec<String> {
    let summary = reading.profile.summary();
    let sampling = &summary.sampling;
    let source = match sampling.is_exact() {
        true => format!("exact: all of {} allocations", summary.samples),
        false => format!(
            "estimated from {} sampled allocations, one sample every {:.0} bytes on average (rate {:.3e} per word); ± is half of the 95 % interval",
            summary.samples,
            sampling.interval_bytes(),
            sampling.rate()
        ),
    };
    vec![
        format!("lifetrace {}", env!("CARGO_PKG_VERSION")),
        source,
        total("allocated", &summary.allocated),
        total("live at the end", &summary.live),
        total("live at the peak", &summary.peak.amount),
    ]
}

fn total(what: &str, amount: &Amount) -> String {
    let (bytes, objects) = (number(&amount.bytes), number(&amount.objects));
    format!("{what}: {bytes} bytes, {objects} objects ({} samples)", amount.samples)
}

/// All digits, since it is compared with sums of other numbers.
fn number(estimate: &Estimate) -> String {
    match estimate.variance > 0.0 {
        true => format!("{:.0} ± {:.0}", estimate.value, estimate.interval95()),
        false => format!("{:.0}", estimate.value),
    }
}
