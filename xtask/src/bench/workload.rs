//! What the benchmarks run: programs that spend their time in the allocator, on generated inputs.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::need::Need;
use super::redis::Client;
use super::{inputs, program};
use crate::shell;

/// A command to measure.
pub struct Workload {
    /// In the record.
    pub name: &'static str,
    /// What to run, in any folder.
    pub command: Vec<OsString>,
    /// Variables that it needs.
    pub environment: &'static [(&'static str, &'static str)],
    /// A variable that it needs in this round, in all variants.
    pub varied: fn(usize) -> Option<(&'static str, String)>,
    /// What talks to it while it runs, and is not measured.
    pub client: Option<Client>,
    /// Whether the work is done in a process that the command starts.
    pub in_child: bool,
    /// This program built otherwise, by what it was built with.
    pub builds: Vec<(&'static str, Vec<OsString>)>,
}

/// How much of the full work to do, in percent; compilers do all of it always.
#[derive(Clone, Copy)]
pub struct Share(pub u64);

/// How a workload is made, without the work of making it.
pub struct Plan {
    /// The workload's name.
    pub name: &'static str,
    /// What it runs.
    pub needs: &'static [Need],
    pub make: fn(&Path, Share) -> Result<Workload>,
}

/// All workloads. In full, each takes one to three seconds of processor time.
pub const PLANS: &[Plan] = &[
    Plan { name: "sqlite", needs: &[("sqlite3", "sqlite3")], make: sqlite },
    Plan { name: "redis", needs: &[("redis-server", "redis-server")], make: redis },
    Plan { name: "python", needs: &[("/usr/bin/python3", "python3")], make: python },
    Plan { name: "pymalloc", needs: &[("/usr/bin/python3", "python3")], make: pymalloc },
    Plan { name: "perl", needs: &[("/usr/bin/perl", "perl")], make: perl },
    Plan { name: "g++", needs: &[("g++", "g++")], make: gcc },
    Plan { name: "clang++", needs: &[("clang++", "clang")], make: clang },
    Plan { name: "json", needs: &[], make: json },
    Plan { name: "larson", needs: &[("gcc", "gcc")], make: larson },
];

impl Share {
    pub fn of(self, whole: u64) -> u64 {
        (whole * self.0).div_ceil(100)
    }

    pub fn word(self, whole: u64) -> OsString {
        self.of(whole).to_string().into()
    }
}

impl Plan {
    /// Makes the workload; its inputs and programs are put into `folder`.
    ///
    /// # Errors
    /// If something cannot be written or built.
    pub fn make(&self, folder: &Path, share: Share) -> Result<Workload> {
        (self.make)(folder, share)
    }
}

impl Workload {
    /// The command of the program that was built with `what`.
    pub fn built_with(&self, what: &str) -> Option<&[OsString]> {
        let mut builds = self.builds.iter();
        builds.find(|(name, _)| *name == what).map(|(_, command)| &command[..])
    }
}

/// A workload that needs nothing but its command.
pub fn workload(name: &'static str, command: Vec<OsString>) -> Workload {
    Workload {
        name,
        command,
        environment: &[],
        varied: |_| None,
        client: None,
        in_child: false,
        builds: Vec::new(),
    }
}

fn sqlite(folder: &Path, share: Share) -> Result<Workload> {
    let script = folder.join("load.sql");
    fs::write(&script, inputs::sql(share.of(120_000), share.of(25_000)))?;
    let read = format!(".read {}", script.display());
    Ok(workload("sqlite", vec!["sqlite3".into(), ":memory:".into(), read.into()]))
}

fn redis(_: &Path, share: Share) -> Result<Workload> {
    let script = fs::read_to_string(program::source("work.lua"))?;
    let client = Client::new(script, share.of(200_000));
    let command = client.server();
    Ok(Workload { client: Some(client), ..workload("redis", command) })
}

/// The workload `python` with CPython's own allocator, as it is used.
pub fn pymalloc(folder: &Path, share: Share) -> Result<Workload> {
    let environment = &[("PYTHONHASHSEED", "0")];
    Ok(Workload { name: "pymalloc", environment, ..python(folder, share)? })
}

fn python(_: &Path, share: Share) -> Result<Workload> {
    let script = program::source("work.py").into();
    let command = vec!["/usr/bin/python3".into(), script, share.word(40)];
    let environment = &[("PYTHONMALLOC", "malloc"), ("PYTHONHASHSEED", "0")];
    Ok(Workload { environment, ..workload("python", command) })
}

fn perl(_: &Path, share: Share) -> Result<Workload> {
    let command = vec!["/usr/bin/perl".into(), program::source("work.pl").into(), share.word(20)];
    let environment = &[("PERL_HASH_SEED", "0"), ("PERL_PERTURB_KEYS", "0")];
    Ok(Workload { environment, ..workload("perl", command) })
}

fn gcc(folder: &Path, _: Share) -> Result<Workload> {
    Ok(Workload { in_child: true, ..compiler("g++", folder) })
}

fn clang(folder: &Path, _: Share) -> Result<Workload> {
    Ok(compiler("clang++", folder))
}

fn compiler(name: &'static str, folder: &Path) -> Workload {
    let header = shell::root().join("fixtures/targets/cpp/heavy.cpp").into();
    let object = folder.join("heavy.o").into();
    workload(name, vec![name.into(), "-c".into(), header, "-o".into(), object])
}

fn json(_: &Path, share: Share) -> Result<Workload> {
    Ok(workload("json", vec![program::rust("json")?.into(), share.word(2000)]))
}

fn larson(folder: &Path, share: Share) -> Result<Workload> {
    let program = program::c(folder, "larson")?;
    Ok(workload("larson", vec![program.into(), "2".into(), share.word(60), "250000".into()]))
}
