//! What a command and its children use: processor time, wall time, peak memory.
//!
//! A small C program, `benchmarks/workloads/measure.c`, stands between us and the command and asks
//! the kernel when it has ended. It works inside `lifetrace record` too: there it is the recorded
//! process, and what it measures is the target alone, without the recorder. It allocates nothing,
//! so it leaves no sample.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::program;

/// What a command and those of its children that it waited for have used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// User and system time, in seconds.
    pub cpu: f64,
    /// From start to end, in seconds.
    pub wall: f64,
    /// The largest resident set that one of the processes ever had, in bytes.
    pub peak_bytes: f64,
}

/// The program that measures.
#[derive(Clone)]
pub struct Launcher(PathBuf);

/// Where a command may run, by the number of a processor.
#[derive(Clone, Copy)]
pub enum Affinity {
    /// There alone.
    On(u32),
    /// On all others.
    NotOn(u32),
}

impl Affinity {
    /// As the program that measures wants to have it.
    fn word(self) -> String {
        match self {
            Affinity::On(number) => format!("@{number}"),
            Affinity::NotOn(number) => format!("@^{number}"),
        }
    }
}

/// The first processor that we may run on.
///
/// # Errors
/// If the kernel does not say.
pub fn first_processor() -> Result<u32> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    first_allowed(&status).context("no Cpus_allowed_list in /proc/self/status")
}

/// `Cpus_allowed_list:\t0-3,6`
fn first_allowed(status: &str) -> Option<u32> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim();
    list.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

impl Launcher {
    /// Builds it in `folder`.
    ///
    /// # Errors
    /// If there is no C compiler.
    pub fn build(folder: &Path) -> Result<Launcher> {
        program::c(folder, "measure").map(Launcher)
    }

    /// The words that run `command`, with `settings` (`NAME=VALUE`) in its environment alone, and
    /// leave what it used in the file `usage`.
    pub fn words(
        &self,
        usage: &Path,
        place: Option<Affinity>,
        settings: &[&str],
        command: &[OsString],
    ) -> Vec<OsString> {
        let mut words = vec![self.0.clone().into(), usage.into()];
        words.extend(place.map(|place| place.word().into()));
        words.extend(settings.iter().map(OsString::from));
        words.push("--".into());
        words.extend(command.iter().cloned());
        words
    }
}

/// Reads what a measured command has left.
///
/// # Errors
/// If the file is not there or says something else.
pub fn usage(file: &Path) -> Result<Usage> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    parse(&text).with_context(|| format!("the launcher left {text:?}"))
}

fn parse(text: &str) -> Result<Usage> {
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    ensure!(numbers.len() == 4, "four numbers are expected");
    Ok(Usage {
        cpu: (numbers[0] + numbers[1]) / 1e6,
        wall: numbers[2] / 1e6,
        peak_bytes: numbers[3] * 1024.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_microseconds_and_kibibytes() {
        let usage = parse("1500000 500000 3000000 2048\n").unwrap();
        assert_eq!(usage, Usage { cpu: 2.0, wall: 3.0, peak_bytes: 2_097_152.0 });
        assert!(parse("1 2 3").is_err());
        assert!(parse("").is_err());
    }

    #[test]
    fn the_first_processor_is_the_first_of_the_list() {
        let first = |list: &str| first_allowed(&format!("Name:\tx\nCpus_allowed_list:\t{list}\n"));
        assert_eq!([first("0-1"), first("12"), first("3,5-7")], [Some(0), Some(12), Some(3)]);
        assert_eq!((first(""), first_allowed("Name:\tx\n")), (None, None));
    }

    #[test]
    fn the_exit_code_the_settings_and_the_place_are_the_commands() {
        let folder = tempfile::tempdir().unwrap();
        let launcher = Launcher::build(folder.path()).unwrap();
        let file = folder.path().join("usage");
        let first = first_processor().unwrap();
        let script =
            format!("grep -q '^Cpus_allowed_list:.{first}$' /proc/self/status && exit $CODE");
        let command = ["sh", "-c", &script].map(OsString::from);
        let words = launcher.words(&file, Some(Affinity::On(first)), &["CODE=7"], &command);
        let status = std::process::Command::new(&words[0]).args(&words[1..]).status().unwrap();
        assert_eq!(status.code(), Some(7));
        assert!(usage(&file).unwrap().peak_bytes > 0.0);
    }
}
