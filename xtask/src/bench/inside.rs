//! What the crate `lifetrace` costs the programs that link it in, idle and recording, and what other
//! allocators that record cost them.
//!
//! As [`native`](super::native), in the same rounds. The programs are `benchmarks/inside`, built once for
//! each allocator.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::native::{measure, wanted};
use super::options::Options;
use super::program;
use super::record::Record;
use super::row::COLUMNS;
use super::run::Runner;
use super::variant::{BARE, Variant, built, lifetrace, plain};
use super::workload::{Workload, workload};
use crate::shell;

/// The record's name.
const RECORD: &str = "inside";

/// What the programs can be built with.
const BUILDS: &[&str] = &[LIFETRACE, DHAT, JEMALLOC];
const LIFETRACE: &str = "lifetrace";
const DHAT: &str = "dhat";
const JEMALLOC: &str = "jemalloc";

/// `recorded` is the bare program under `lifetrace record`.
const VARIANTS: &[Variant] = &[
    plain(BARE, BARE, &[], &[]),
    plain("bare-again", BARE, &[], &[]),
    built("idle", BARE, LIFETRACE, &[]),
    built("512KiB", BARE, LIFETRACE, &["RECORD=inside.lt"]),
    lifetrace("recorded", &["--interval", "512KiB"]),
    Variant { slow: true, ..built("dhat", BARE, DHAT, &[]) },
    built("jemalloc", BARE, JEMALLOC, &[]),
    built(
        "jemalloc-prof",
        "jemalloc",
        JEMALLOC,
        &["_RJEM_MALLOC_CONF=prof:true,lg_prof_sample:19,prof_final:true,abort_conf:true"],
    ),
];

/// A program, how much it is to do, and what is not measured with it.
struct Work {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    is_measured: fn(&str) -> bool,
}

/// One to two seconds of processor time, and a tenth of that for what takes minutes else: two threads that
/// wait for dhat's lock.
const WORKLOADS: &[Work] = &[
    Work { name: "json", program: "json", arguments: &["1200"], is_measured: |_| true },
    Work {
        name: "larson",
        program: "larson",
        arguments: &["2", "60", "250000"],
        is_measured: |variant| variant != DHAT,
    },
    Work {
        name: "larson-short",
        program: "larson",
        arguments: &["2", "60", "25000"],
        is_measured: |variant| [BARE, "bare-again", DHAT].contains(&variant),
    },
];

/// Measures the workloads and variants that are wanted.
///
/// # Errors
/// If something cannot be built, run or written.
pub fn run(words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?.one_at_a_time()?;
    options
        .check_names(WORKLOADS.iter().map(|work| work.name), VARIANTS.iter().map(|one| one.name))?;
    let variants = wanted(VARIANTS, &options);
    let mut record = options.recorded.then(|| Record::open(RECORD, COLUMNS)).transpose()?;
    let folder = program::folder()?;
    let runner = Runner::build(&folder)?;
    let programs = Programs::build(&folder)?;
    println!("{COLUMNS}");
    for work in WORKLOADS.iter().filter(|work| options.wants_workload(work.name)) {
        let workload = programs.workload(work);
        let mut variants = variants.clone();
        variants.retain(|variant| (work.is_measured)(variant.name));
        for row in measure(&runner, &workload, &variants, options.rounds)?.rows(work.name)? {
            match &mut record {
                Some(record) => record.add(&row.to_string())?,
                None => println!("{row}"),
            }
        }
    }
    Ok(())
}

/// Where the programs are that were built without anything, and with each of [`BUILDS`].
struct Programs {
    bare: PathBuf,
    builds: Vec<(&'static str, PathBuf)>,
}

impl Programs {
    fn build(folder: &Path) -> Result<Programs> {
        let folder = folder.join("inside");
        let bare = build(&folder, None)?;
        let builds = BUILDS.iter().map(|what| Ok((*what, build(&folder, Some(what))?)));
        Ok(Programs { bare, builds: builds.collect::<Result<_>>()? })
    }

    fn workload(&self, work: &Work) -> Workload {
        let command = |programs: &Path| {
            let words = work.arguments.iter().map(OsString::from);
            [programs.join(work.program).into()].into_iter().chain(words).collect::<Vec<OsString>>()
        };
        let builds = self.builds.iter().map(|(what, programs)| (*what, command(programs)));
        Workload { builds: builds.collect(), ..workload(work.name, command(&self.bare)) }
    }
}

/// Builds the programs, each build in a folder of its own, and says where they are.
fn build(folder: &Path, feature: Option<&str>) -> Result<PathBuf> {
    let target = folder.join(feature.unwrap_or(BARE));
    let features = feature.map(|feature| format!(" --features {feature}")).unwrap_or_default();
    let manifest = "--manifest-path benchmarks/inside/Cargo.toml";
    let mut command = shell::cargo_command(&format!("build --release {manifest}{features}"));
    command.env("CARGO_TARGET_DIR", &target);
    shell::run(command)?;
    Ok(target.join("release"))
}
