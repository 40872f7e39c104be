//! What recording adds to whole programs, in instructions, and where it adds them.
//!
//! Each workload runs with two lengths. The difference leaves out its start, and ours; what the
//! shorter run has more than the difference explains is given apart.

use std::path::Path;

use anyhow::Result;

use super::callgrind::{Callgrind, Function, functions};
use super::record::Record;
use super::workload::{PLANS, Plan, Share, Workload};
use super::{need, program};

/// Programs of one process, whose work can be cut down.
const WORKLOADS: &[&str] = &["sqlite", "python", "pymalloc", "perl", "json"];

const SHORT: Share = Share(10);
const LONG: Share = Share(20);

const INTERVALS: &[&str] = &["512KiB", "64KiB"];

const COLUMNS: &str = "workload,interval,bare_instructions,ratio,wrappers_percent,sampling_percent,\
    unwinding_percent,elsewhere_percent,start_instructions";

/// Instructions by what they are for.
#[derive(Clone, Copy, Default)]
struct Split {
    /// The functions that stand in for malloc's family, when they sample nothing.
    wrappers: f64,
    /// Choosing, placing, and telling of samples.
    sampling: f64,
    /// Finding out who called.
    unwinding: f64,
    /// The program and its libraries.
    elsewhere: f64,
}

/// Counts all workloads that can be run here.
///
/// # Errors
/// If something cannot be built or run, or valgrind prints no count.
pub fn run() -> Result<()> {
    let folder = program::folder()?;
    let callgrind = Callgrind::new(&folder, program::lifetrace()?)?;
    let mut record = Record::open("instructions", COLUMNS)?;
    println!("{COLUMNS}");
    let plans = PLANS.iter().filter(|plan| WORKLOADS.contains(&plan.name));
    for plan in plans.filter(|plan| need::is_met(plan.name, plan.needs)) {
        measure(&callgrind, &folder, plan)?.iter().try_for_each(|row| record.add(row))?;
    }
    Ok(())
}

fn measure(callgrind: &Callgrind, folder: &Path, plan: &Plan) -> Result<Vec<String>> {
    let pair = |recording: &[&str]| -> Result<[Split; 2]> {
        let short = count(callgrind, recording, &plan.make(folder, SHORT)?)?;
        Ok([short, count(callgrind, recording, &plan.make(folder, LONG)?)?])
    };
    let bare = pair(&[])?;
    let row = |interval: &&str| {
        Ok(row(plan.name, interval, bare, pair(&["--interval", interval, "--seed", "1"])?))
    };
    INTERVALS.iter().map(row).collect()
}

fn count(callgrind: &Callgrind, recording: &[&str], workload: &Workload) -> Result<Split> {
    callgrind.count(recording, workload.environment, &workload.command)?;
    Ok(functions(&callgrind.annotated()?).fold(Split::default(), Split::with))
}

fn row(name: &str, interval: &str, bare: [Split; 2], recorded: [Split; 2]) -> String {
    let work = bare[1].minus(bare[0]).total();
    let more = recorded[1].minus(recorded[0]).minus(bare[1].minus(bare[0]));
    let start = 2.0 * recorded[0].minus(bare[0]).total() - recorded[1].minus(bare[1]).total();
    let percent = |part: f64| format!("{:.3}", 100.0 * part / work);
    let ratio = 1.0 + more.total() / work;
    let parts = [more.wrappers, more.sampling, more.unwinding, more.elsewhere].map(percent);
    format!("{name},{interval},{work:.0},{ratio:.4},{},{start:.0}", parts.join(","))
}

impl Split {
    fn with(mut self, function: Function<'_>) -> Split {
        *self.part(&function) += function.count as f64;
        self
    }

    /// The functions that are exported have names of C's; ours have paths.
    fn part(&mut self, function: &Function<'_>) -> &mut f64 {
        let unwinds = ["::unwind", "framehop", "gimli", "::modules"];
        if !function.object.ends_with("/liblifetrace.so") {
            &mut self.elsewhere
        } else if function.name.starts_with("operator ") || !function.name.contains("::") {
            &mut self.wrappers
        } else if unwinds.iter().any(|part| function.name.contains(part)) {
            &mut self.unwinding
        } else {
            &mut self.sampling
        }
    }

    fn minus(self, other: Split) -> Split {
        Split {
            wrappers: self.wrappers - other.wrappers,
            sampling: self.sampling - other.sampling,
            unwinding: self.unwinding - other.unwinding,
            elsewhere: self.elsewhere - other.elsewhere,
        }
    }

    fn total(self) -> f64 {
        self.wrappers + self.sampling + self.unwinding + self.elsewhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, object: &str, part: fn(&Split) -> f64) {
        let split = Split::default().with(Function { count: 7, name, object });
        assert_eq!((part(&split), split.total()), (7.0, 7.0), "{name} of {object}");
    }

    #[test]
    fn functions_belong_to_parts() {
        let ours = "/home/me/.cache/lifetrace/0/liblifetrace.so";
        check("malloc", ours, |split| split.wrappers);
        check("operator new(unsigned long, std::align_val_t)", ours, |split| split.wrappers);
        check("lifetrace_native::sample::born", ours, |split| split.sampling);
        check("lifetrace_native::unwind::engine::walk", ours, |split| split.unwinding);
        check("gimli::read::cfi::UnwindTable<R,S>::next_row", ours, |split| split.unwinding);
        check("malloc", "/usr/lib/x86_64-linux-gnu/libc.so.6", |split| split.elsewhere);
    }

    #[test]
    fn a_row_separates_start_from_work() {
        let elsewhere = |elsewhere| Split { elsewhere, ..Split::default() };
        let wrapped = |elsewhere, wrappers| Split { elsewhere, wrappers, ..Split::default() };
        let bare = [elsewhere(1100.0), elsewhere(2100.0)];
        let recorded = [wrapped(1140.0, 10.0), wrapped(2140.0, 20.0)];
        let expected = "perl,64KiB,1000,1.0100,1.000,0.000,0.000,0.000,40";
        assert_eq!(row("perl", "64KiB", bare, recorded), expected);
    }
}
