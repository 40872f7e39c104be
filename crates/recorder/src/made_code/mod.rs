//! Names of code that a program has made at run time, which is in no file: what it tells profilers.
//!
//! Virtual machines write a [`perf_map`] or a [`jit_dump`]. Both are read on as they grow, when a name is
//! asked for, so what is told is what was there about when the place was first met.

mod jit_dump;
mod names;
mod perf_map;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lifetrace_trace::event::Location;
use rustix::process::Pid;

use crate::process::open_regular;
use jit_dump::JitDump;
use names::{Names, location};
use perf_map::PerfMap;

/// One process's.
#[derive(Debug)]
pub(crate) struct MadeCode {
    pid: Pid,
    map: Option<PerfMap>,
    dump: Option<JitDump>,
    /// How often a name was asked for.
    asked: u64,
    names: Names,
}

impl MadeCode {
    pub(crate) fn new(pid: Pid) -> MadeCode {
        MadeCode { pid, map: None, dump: None, asked: 0, names: Names::default() }
    }

    /// What is at an address, if the program has told.
    pub(crate) fn locate(&mut self, address: u64) -> Option<Location> {
        self.asked += 1;
        // To look for the second costs more, so it is done ever more rarely.
        if self.dump.is_none() && self.asked.is_power_of_two() {
            self.dump = jit_dump::open(self.pid).map(JitDump::new);
        }
        self.map = self.map.take().or_else(|| perf_map::open(self.pid).map(PerfMap::new));
        if let Some(map) = &mut self.map {
            map.read_on(&mut self.names);
        }
        if let Some(dump) = &mut self.dump {
            dump.read_on(&mut self.names);
        }
        self.names.find(address).map(location)
    }
}

/// A file that the process sees at `path`. It is to be written by the process's user or by root: in a
/// folder of everybody's, others' lies are not believed.
fn open_as_seen(pid: Pid, path: &Path) -> Option<File> {
    let directory = directory(pid);
    let file = open_regular(&directory.join("root").join(path.strip_prefix("/").unwrap_or(path)))?;
    let writer = file.metadata().ok()?.uid();
    let user = directory.metadata().ok()?.uid();
    (writer == user || writer == 0).then_some(file)
}

/// The number that the process has for itself.
fn own_number(pid: Pid) -> Option<u32> {
    let status = fs::read_to_string(directory(pid).join("status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().next_back()?.parse().ok()
}

fn directory(pid: Pid) -> PathBuf {
    PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()))
}
