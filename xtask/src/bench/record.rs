//! The files under `benchmarks/record`: one per benchmark, a row per measurement, never rewritten.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;

use anyhow::Result;

use crate::shell;

/// A record that rows are being added to.
pub struct Record {
    file: fs::File,
    stamp: String,
}

impl Record {
    /// Opens `benchmarks/record/<name>.csv`; a new file gets a line that names the columns.
    ///
    /// # Errors
    /// If the file cannot be written, or date or commit are not to be had.
    pub fn open(name: &str, columns: &str) -> Result<Record> {
        let folder = shell::root().join("benchmarks/record");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{name}.csv"));
        let fresh = !path.exists();
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        if fresh {
            writeln!(file, "date,commit,processor,{columns}")?;
        }
        Ok(Record { file, stamp: format!("{},{},{}", date()?, commit()?, processor()) })
    }

    /// Adds a row, and shows it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, row: &str) -> Result<()> {
        println!("{row}");
        Ok(writeln!(self.file, "{},{row}", self.stamp)?)
    }
}

fn date() -> Result<String> {
    let mut command = Command::new("date");
    command.arg("+%F");
    shell::output(command)
}

/// The commit, and whether what is measured differs from it. Records that were added meanwhile do not count.
fn commit() -> Result<String> {
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(shell::root()).args(words);
        shell::output(command)
    };
    let commit = git(&["describe", "--always"])?;
    let code = [".", ":!benchmarks/record"];
    let changed =
        git(&[&["status", "--porcelain", "--untracked-files=no", "--"], &code[..]].concat())?;
    Ok(if changed.is_empty() { commit } else { commit + "-dirty" })
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.map_or("unknown", |line| line.trim_start_matches([' ', '\t', ':'])).replace(',', " ")
}
