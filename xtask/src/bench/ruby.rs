//! What recording costs Ruby programs: their objects and malloc, as `record` does it unasked and at higher rates.
//!
//! As [`native`](super::native), in the same rounds.

use anyhow::Result;

use super::native::Bench;
use super::ruby_workload::PLANS;
use super::variant::{BARE, Variant, lifetrace, plain};

/// Rates are per object; malloc is sampled once in 512 KiB.
const VARIANTS: &[Variant] = &[
    plain(BARE, BARE, &[], &[]),
    plain("bare-again", BARE, &[], &[]),
    lifetrace("malloc-alone", &["--sources", "native"]),
    lifetrace("default", &[]),
    lifetrace("1e-2", &["--rate", "1e-2", "--interval", "512KiB"]),
    Variant { slow: true, ..lifetrace("all-objects", &["--rate", "1", "--interval", "512KiB"]) },
];

/// The most that a workload may take in a variant, as a multiple of the bare program's processor time.
const LIMITS: &[(&str, &str, f64)] =
    &[("asciidoctor", "1e-2", 1.06), ("asciidoctor", "all-objects", 1.6)];

const BENCH: Bench = Bench { record: "ruby", plans: PLANS, variants: VARIANTS, limits: LIMITS };

/// Measures the workloads and variants that are wanted and can be run here.
///
/// # Errors
/// If something cannot be built, run or written.
pub fn run(words: &[&str]) -> Result<()> {
    BENCH.run(words)
}

#[cfg(test)]
mod tests {
    use super::super::native;
    use super::*;

    #[test]
    fn it_compares_and_limits_what_is_measured() {
        native::tests::check(&BENCH);
    }
}
