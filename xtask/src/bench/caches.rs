//! What a sample of OCaml's heap costs, in instructions and in what caches do not have any more.
//!
//! Samples are rare, so each finds little of ours in the caches, and takes the place of something of the
//! program's. Callgrind simulates the caches of a core, so the figures are the same whatever else the machine
//! does; where functions happen to lie moves those of instructions by a tenth.
//!
//! Each workload runs with two lengths, bare and recorded; the differences leave out the starts.

use std::path::Path;

use anyhow::Result;

use super::callgrind::{Callgrind, Events, events_of};
use super::ocaml_workload::{PLANS, Plan};
use super::record::Record;
use super::workload::Share;
use super::{need, program};

const SHORT: Share = Share(10);
const LONG: Share = Share(20);

const RECORDING: &[&str] = &["--sources", "ocaml", "--rate", "1e-4", "--seed", "1"];

const LIBRARY: &str = "/liblifetrace.so";

/// Per sample.
const COLUMNS: &str = "workload,samples,part,instructions,first_instructions,first_data,\
    second_instructions,second_data";

/// A bare and a recorded run, of one length.
struct Pair {
    bare: Events,
    recorded: Events,
    library: Events,
    samples: u64,
}

/// Counts all workloads that can be run here.
///
/// # Errors
/// If something cannot be built or run, or valgrind prints no count.
pub fn run() -> Result<()> {
    let folder = program::folder()?;
    let callgrind = Callgrind::new(&folder, program::lifetrace()?)?.with_caches();
    let mut record = Record::open("caches", COLUMNS)?;
    println!("{COLUMNS}");
    for plan in PLANS.iter().filter(|plan| need::is_met(plan.name, plan.needs)) {
        let pairs =
            [pair(&callgrind, &folder, plan, SHORT)?, pair(&callgrind, &folder, plan, LONG)?];
        rows(plan.name, &pairs).iter().try_for_each(|row| record.add(row))?;
    }
    Ok(())
}

fn pair(callgrind: &Callgrind, folder: &Path, plan: &Plan, share: Share) -> Result<Pair> {
    let workload = plan.make_share(folder, share)?;
    let bare = callgrind.events(&[], &[], &workload.command)?;
    let recorded = callgrind.events(RECORDING, &[], &workload.command)?;
    let library = events_of(&callgrind.annotated()?, LIBRARY);
    Ok(Pair { bare, recorded, library, samples: callgrind.samples()? })
}

/// All that a recorded program has more, and what of that is in our library.
fn rows(workload: &str, [short, long]: &[Pair; 2]) -> [String; 2] {
    let samples = long.samples - short.samples;
    let row = |part, of: fn(&Pair) -> [f64; 5]| {
        let counts =
            less(of(long), of(short)).map(|count| format!("{:.1}", count / samples as f64));
        format!("{workload},{samples},{part},{}", counts.join(","))
    };
    let all = |pair: &Pair| less(counts(&pair.recorded), counts(&pair.bare));
    [row("all", all), row("library", |pair| counts(&pair.library))]
}

/// As in [`COLUMNS`].
fn counts(events: &Events) -> [f64; 5] {
    let Events { instructions, first, second } = *events;
    [instructions, first[0], first[1], second[0], second[1]].map(|count| count as f64)
}

fn less(one: [f64; 5], other: [f64; 5]) -> [f64; 5] {
    std::array::from_fn(|index| one[index] - other[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_left_out() {
        let events = |instructions, data| Events { instructions, first: [0, data], second: [0; 2] };
        let short = Pair {
            bare: events(1_000, 10),
            recorded: events(1_900, 40),
            library: events(500, 20),
            samples: 4,
        };
        let long = Pair {
            bare: events(2_000, 20),
            recorded: events(3_300, 70),
            library: events(700, 25),
            samples: 14,
        };
        let expected = ["x,10,all,40.0,0.0,2.0,0.0,0.0", "x,10,library,20.0,0.0,0.5,0.0,0.0"];
        assert_eq!(rows("x", &[short, long]), expected);
    }
}
