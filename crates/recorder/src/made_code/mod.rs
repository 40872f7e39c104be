//! Names of code that a program has made at run time, which is in no file: what it writes for profilers.
//!
//! Virtual machines write a [`perf_map`] or a [`jit_dump`]. Both are read on as they grow, when a name is
//! asked for, so a name is what was there about when the place was first met.

mod jit_dump;
mod names;
mod perf_map;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lifetrace_trace::event::Location;
use rustix::process::Pid;

use crate::mapped_files::open_regular;
use jit_dump::JitDump;
use names::{Names, location};
use perf_map::PerfMap;

/// One process's.
#[derive(Debug)]
pub(crate) struct MadeCode {
    program: Program,
    map: Option<PerfMap>,
    dump: Option<JitDump>,
    /// How often a name was asked for.
    asked: u64,
    names: Names,
}

/// What is known of a process from its start, as it may be gone when a name is asked for.
#[derive(Debug)]
struct Program {
    pid: Pid,
    /// The number that it has for itself, as its files have.
    own_number: Option<u32>,
    user: Option<u32>,
}

impl MadeCode {
    pub(crate) fn new(pid: Pid) -> MadeCode {
        let program = Program::new(pid);
        MadeCode { program, map: None, dump: None, asked: 0, names: Names::default() }
    }

    /// What is at an address, if the program has told.
    pub(crate) fn locate(&mut self, address: u64) -> Option<Location> {
        self.asked += 1;
        // To look for the second costs more, so it is done ever more rarely.
        if self.dump.is_none() && self.asked.is_power_of_two() {
            self.dump = jit_dump::open(&self.program).map(JitDump::new);
        }
        self.map = self.map.take().or_else(|| perf_map::open(&self.program).map(PerfMap::new));
        if let Some(map) = &mut self.map {
            map.read_on(&mut self.names);
        }
        if let Some(dump) = &mut self.dump {
            dump.read_on(&mut self.names);
        }
        self.names.find(address).map(location)
    }
}

impl Program {
    fn new(pid: Pid) -> Program {
        let directory = directory(pid);
        let own_number = own_number(&directory);
        let user = directory.metadata().ok().map(|metadata| metadata.uid());
        Program { pid, own_number, user }
    }

    /// A file that the process sees at `path`, or saw, if it has seen what we see. It is to be written by
    /// the process's user or by root: in a folder of everybody's, others' lies are not believed.
    fn open(&self, path: &Path) -> Option<File> {
        let root = directory(self.pid).join("root");
        let has_our_numbers = self.own_number == Some(self.pid.as_raw_nonzero().get() as u32);
        let path = match fs::metadata(&root) {
            Ok(_) => root.join(path.strip_prefix("/").unwrap_or(path)),
            Err(_) if has_our_numbers => path.to_owned(),
            Err(_) => return None,
        };
        let file = open_regular(&path)?;
        let writer = file.metadata().ok()?.uid();
        (writer == 0 || Some(writer) == self.user).then_some(file)
    }
}

fn own_number(directory: &Path) -> Option<u32> {
    let status = fs::read_to_string(directory.join("status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().next_back()?.parse().ok()
}

fn directory(pid: Pid) -> PathBuf {
    PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_map_is_found_while_its_process_lives_and_afterwards() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let mut made = [(); 2].map(|()| MadeCode::new(Pid::from_child(&child)));
        let path = format!("/tmp/perf-{}.map", child.id());
        fs::write(&path, "1000 10 made\n").unwrap();
        let mut name = |which: usize| made[which].locate(0x1008).map(|it| it.defname.to_string());
        let alive = name(0);
        child.stdin.take();
        child.wait().unwrap();
        let dead = name(1);
        fs::remove_file(&path).unwrap();
        assert_eq!((alive.as_deref(), dead.as_deref()), (Some("made"), Some("made")));
        // What was opened is kept, and nobody else's is opened.
        assert_eq!(name(0), alive);
    }
}
