//! One run of a workload in one variant.
//!
//! Under a recorder the measurements nest: the outer one covers recorder and target, the inner one,
//! which is what is recorded, the target alone.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, ensure};

use super::launch::{self, Affinity, Launcher, Usage};
use super::left::{self, Left};
use super::variant::{MEMTRACE, Means, Variant};
use super::workload::Workload;
use super::{heaptrack, program};
use crate::python_programs;

/// What runs things, and where.
#[derive(Clone)]
pub struct Runner {
    folder: PathBuf,
    launcher: Launcher,
    lifetrace: PathBuf,
    floor: PathBuf,
    /// The processor that targets share, if other runs are made at the same time.
    shared: Option<u32>,
}

/// What one run has used and left.
pub struct Run {
    /// Used by the target and its children.
    pub target: Usage,
    /// From start to end of everything, in seconds, if no other run was made meanwhile.
    pub wall: Option<f64>,
    /// Seconds of processor time that are not the target's; none where there is no recorder.
    pub recorder_cpu: Option<f64>,
    /// What it has left behind.
    pub left: Left,
}

impl Runner {
    /// Builds what is needed to run things in `folder`.
    ///
    /// # Errors
    /// If something cannot be built.
    pub fn build(folder: &Path) -> Result<Runner> {
        let lifetrace = program::lifetrace()?;
        let floor = program::c_with(folder, "floor", &["-O2", "-shared", "-fPIC"])?;
        let (folder, launcher) = (folder.into(), Launcher::build(folder)?);
        Ok(Runner { folder, launcher, lifetrace, floor, shared: None })
    }

    /// One that runs things in `folder` at the same time as others: all targets on the first processor
    /// that there is, all recorders on the others.
    ///
    /// # Errors
    /// If the folder cannot be made, or the kernel does not say what processors there are.
    pub fn among_others(&self, folder: PathBuf) -> Result<Runner> {
        fs::create_dir_all(&folder)?;
        let shared = Some(launch::first_processor()?);
        Ok(Runner { folder, shared, ..self.clone() })
    }

    /// The command that records.
    pub fn lifetrace(&self) -> &Path {
        &self.lifetrace
    }

    /// Runs `workload` once, in this round.
    ///
    /// # Errors
    /// If it fails, or what it must leave is not there.
    pub fn run(&self, round: usize, workload: &Workload, variant: &Variant) -> Result<Run> {
        let output = self.folder.join("run");
        for folder in [&output, &self.temporary()] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir(folder)?;
        }
        let words = self.words(workload, variant, &output);
        self.execute(round, workload, &words, &output)
            .and_then(|()| self.gather(variant, &output))
            .with_context(|| format!("{} {}", workload.name, variant.name))
    }

    fn words(&self, workload: &Workload, variant: &Variant, output: &Path) -> Vec<OsString> {
        let command = &workload.command;
        match variant.means {
            Means::Settings(settings) => self.target(settings, command),
            Means::Floor => {
                let setting = format!("LD_PRELOAD={}", self.floor.display());
                self.target(&[&setting], command)
            }
            Means::Memtrace(rate) => {
                let file = format!("MEMTRACE={}", output.join("memtrace.ctf").display());
                let settings = [&*file, &format!("MEMTRACE_RATE={rate}")];
                self.target(&settings, workload.built_with(MEMTRACE).unwrap_or(command))
            }
            Means::Memray(options) => {
                let python = python_programs::command("python").unwrap_or_default();
                let file = output.join("memray.bin");
                let words = ["-m", "memray", "run", "-q", "-o"].map(OsString::from);
                let options = options.iter().map(OsString::from);
                let before = [python.into()].into_iter().chain(words).chain([file.into()]);
                let words: Vec<_> = before.chain(options).chain(command[1..].to_vec()).collect();
                self.target(&[], &words)
            }
            Means::Built(what, settings) => {
                self.target(settings, workload.built_with(what).unwrap_or(command))
            }
            Means::Lifetrace(arguments) => {
                let mut words = vec![self.lifetrace.clone().into(), "record".into(), "-q".into()];
                words.extend(arguments.iter().map(OsString::from));
                words.extend(["-o".into(), output.join("%e.%p.lt").into(), "--".into()]);
                words.extend(self.target(&[], command));
                self.recorder(&words)
            }
            Means::Heaptrack => {
                let settings = heaptrack::settings(output);
                let settings = settings.each_ref().map(String::as_str);
                self.recorder(&heaptrack::words(output, self.target(&settings, command)))
            }
        }
    }

    fn target(&self, settings: &[&str], command: &[OsString]) -> Vec<OsString> {
        let place = self.shared.map(Affinity::On);
        self.launcher.words(&self.inner(), place, settings, command)
    }

    fn recorder(&self, words: &[OsString]) -> Vec<OsString> {
        let place = self.shared.map(Affinity::NotOn);
        self.launcher.words(&self.outer(), place, &[], words)
    }

    fn inner(&self) -> PathBuf {
        self.folder.join("inner")
    }

    /// Where programs may leave what they do not remove.
    fn temporary(&self) -> PathBuf {
        self.folder.join("temporary")
    }

    fn outer(&self) -> PathBuf {
        self.folder.join("outer")
    }

    fn stderr(&self) -> PathBuf {
        self.folder.join("stderr")
    }

    /// The folder of the run is the working folder too: some profilers leave their files there.
    fn execute(
        &self,
        round: usize,
        workload: &Workload,
        words: &[OsString],
        output: &Path,
    ) -> Result<()> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(output).env("TMPDIR", self.temporary());
        command.envs(workload.environment.iter().copied()).envs((workload.varied)(round));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(self.stderr())?);
        let mut child = command.spawn()?;
        let served = workload.client.as_ref().map_or(Ok(()), |client| client.run());
        if served.is_err() {
            child.kill()?;
        }
        let status = child.wait()?;
        served.and_then(|()| self.check(status))
    }

    fn check(&self, status: ExitStatus) -> Result<()> {
        let said = self.said()?;
        said.lines().filter(|line| line.starts_with("lifetrace:")).for_each(|line| {
            eprintln!("{line}");
        });
        ensure!(status.success(), "{status}:\n{said}");
        Ok(())
    }

    fn said(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.stderr())?).into_owned())
    }

    fn gather(&self, variant: &Variant, output: &Path) -> Result<Run> {
        let target = launch::usage(&self.inner())?;
        let recorded = matches!(variant.means, Means::Lifetrace(_) | Means::Heaptrack);
        let outer = recorded.then(|| launch::usage(&self.outer())).transpose()?;
        Ok(Run {
            target,
            wall: self.shared.is_none().then_some(outer.unwrap_or(target).wall),
            recorder_cpu: outer.map(|outer| outer.cpu - target.cpu),
            left: self.left(variant, output)?,
        })
    }

    fn left(&self, variant: &Variant, output: &Path) -> Result<Left> {
        let said = self.said()?;
        let left = match variant.means {
            Means::Settings(_) | Means::Floor | Means::Memray(_) => left::profile(output),
            Means::Built(..) if !left::has_traces(output)? => left::profile(output),
            Means::Lifetrace(_) | Means::Memtrace(_) | Means::Built(..) => {
                left::traces(&self.lifetrace, output, &said)
            }
            Means::Heaptrack => left::of_heaptrack(output),
        }?;
        Ok(Left { promoted_words: left::promoted_words(&said), ..left })
    }
}
