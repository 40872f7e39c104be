//! What a fleet costs as one dataset: how fast traces go in, how large it gets, and how long answers take, at sizes that
//! double. Fleets are synthetic: 50,000 samples a run, at 20,000 callsites of ten services.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::launch::{self, Launcher, Usage};
use super::program;
use super::record::Record;
use super::spread::median;
use crate::{fleet, shell};

/// In runs; the last has a hundred million samples.
const SIZES: [u64; 3] = [500, 1000, 2000];

const SAMPLES: u64 = 50_000;
const SITES: u64 = 20_000;
const SERVICES: u64 = 10;
const DAYS: u64 = 20;

/// How often each question is asked.
const ROUNDS: usize = 3;

/// Measures fleets of these numbers of runs, or the usual ones.
///
/// # Errors
/// If something cannot be built or run.
pub fn run(words: &[&str]) -> Result<()> {
    let sizes: Vec<u64> = words.iter().map(|word| word.parse()).collect::<Result<_, _>>()?;
    let sizes = if sizes.is_empty() { SIZES.to_vec() } else { sizes };
    shell::cargo(&format!("build --release {}", fleet::MANIFEST))?;
    let folder = program::folder()?;
    let bench = Bench { launcher: Launcher::build(&folder)?, folder };
    let columns = "runs,samples,trace_bytes,dataset_bytes,bytes_a_sample,add_s,add_cpu_s,samples_a_cpu_s,\
                   top_s,top_mib,leaks_s,leaks_mib,service_s,service_mib";
    let mut record = Record::open("fleet", columns)?;
    sizes.into_iter().try_for_each(|runs| record.add(&bench.measure(runs)?))
}

struct Bench {
    launcher: Launcher,
    folder: PathBuf,
}

impl Bench {
    fn measure(&self, runs: u64) -> Result<String> {
        let [traces, dataset] = ["fleet-traces", "fleet-dataset"].map(|it| self.folder.join(it));
        for folder in [&traces, &dataset] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
        self.make(&traces, runs)?;
        let [from, to] = [traces.as_os_str(), dataset.as_os_str()].map(OsString::from);
        let add = self.ask(&["add".into(), to.clone(), "--watch".into(), from, "--once".into()])?;
        let samples = (runs * SAMPLES) as f64;
        let bytes = length(&dataset)?;
        let [top, leaks] = ["top", "leaks"].map(|verb| self.answer(&[verb.into(), to.clone()]));
        let of = ["--where".into(), "service = service-3".into()];
        let service = self.answer(&[&["top".into(), to.clone()], &of[..]].concat());
        let row =
            [top?, leaks?, service?].map(|it| format!("{:.2},{:.0}", it.wall, it.peak_bytes / MIB));
        let head = format!(
            "{runs},{samples},{},{bytes},{:.2},{:.1},{:.1},{:.0}",
            length(&traces)?,
            bytes as f64 / samples,
            add.wall,
            add.cpu,
            samples / add.cpu
        );
        fs::remove_dir_all(&traces)?;
        fs::remove_dir_all(&dataset)?;
        Ok(format!("{head},{}", row.join(",")))
    }

    fn make(&self, traces: &Path, runs: u64) -> Result<()> {
        let mut command = Command::new(fleet::command());
        command.arg("synthetic").arg(traces);
        for (name, value) in [
            ("--runs", runs),
            ("--samples", SAMPLES),
            ("--sites", SITES),
            ("--services", SERVICES),
            ("--days", DAYS),
        ] {
            command.args([name, &value.to_string()]);
        }
        shell::run(command)
    }

    /// The median of some times.
    fn answer(&self, words: &[OsString]) -> Result<Usage> {
        let times = (0..ROUNDS).map(|_| self.ask(words)).collect::<Result<Vec<_>>>()?;
        let of = |of: fn(&Usage) -> f64| median(times.iter().map(of)).context("it was not asked");
        Ok(Usage {
            cpu: of(|it| it.cpu)?,
            wall: of(|it| it.wall)?,
            peak_bytes: of(|it| it.peak_bytes)?,
        })
    }

    fn ask(&self, words: &[OsString]) -> Result<Usage> {
        let usage = self.folder.join("fleet.usage");
        let command = [&[fleet::command().into()], words].concat();
        let words = self.launcher.words(&usage, None, &[], &command);
        let mut measured = Command::new(&words[0]);
        measured.args(&words[1..]);
        shell::output(measured)?;
        launch::usage(&usage)
    }
}

const MIB: f64 = 1048576.0;

/// What all files in a folder come to, in bytes.
fn length(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        sum += if path.is_dir() { length(&path)? } else { path.metadata()?.len() };
    }
    Ok(sum)
}
