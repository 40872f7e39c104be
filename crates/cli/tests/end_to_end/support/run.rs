//! Running a program bare and recorded, and comparing what can be seen of it from outside.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tempfile::TempDir;

/// After so many seconds a recorded program is taken to hang, and is killed.
const PATIENCE: &str = "300";

/// A program with all that it is started with.
#[derive(Clone, Debug)]
pub struct Target {
    words: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    folder: PathBuf,
    stdin: Option<PathBuf>,
}

/// What a program has shown of itself.
#[derive(PartialEq, Eq)]
pub struct Outcome {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// As a shell gives it: 128 + N for signal N.
    pub code: i32,
}

/// A recorded run, and the folder with its traces.
pub struct Recording {
    pub outcome: Outcome,
    folder: TempDir,
}

impl Target {
    pub fn new(words: &[&(impl AsRef<OsStr> + ?Sized)]) -> Target {
        Target {
            words: words.iter().map(|word| word.as_ref().to_owned()).collect(),
            environment: Vec::new(),
            folder: std::env::temp_dir(),
            stdin: None,
        }
    }

    pub fn arguments(mut self, arguments: &[&str]) -> Target {
        self.words.extend(arguments.iter().map(OsString::from));
        self
    }

    pub fn environment(mut self, variables: &[(&'static str, impl AsRef<OsStr>)]) -> Target {
        let owned = variables.iter().map(|(name, value)| (*name, value.as_ref().to_owned()));
        self.environment.extend(owned);
        self
    }

    pub fn folder(mut self, folder: &Path) -> Target {
        self.folder = folder.to_owned();
        self
    }

    pub fn stdin(mut self, file: &Path) -> Target {
        self.stdin = Some(file.to_owned());
        self
    }

    /// All that it is started with.
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// Runs it without us.
    pub fn bare(&self) -> Outcome {
        self.run(&self.words)
    }

    /// Runs it under `lifetrace record -q` with `options`; the traces, also those of which nothing was
    /// sampled, are named `program.pid.lt`.
    pub fn record(&self, options: &[&str]) -> Recording {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("%e.%p.lt");
        let mut words = vec!["-q".into(), "--keep-empty".into(), "-o".into(), output.into()];
        words.extend(options.iter().map(OsString::from));
        Recording { outcome: self.record_as(&words), folder }
    }

    /// Runs it under `lifetrace record` with nothing but `options`.
    pub fn record_as(&self, options: &[impl AsRef<OsStr>]) -> Outcome {
        let record = ["timeout", PATIENCE, lifetrace(), "record"].map(OsStr::new);
        let options = options.iter().map(AsRef::as_ref);
        let words: Vec<&OsStr> =
            record.into_iter().chain(options).chain([OsStr::new("--")]).collect();
        self.under(&words)
    }

    /// Runs it as the last words of another command.
    pub fn under(&self, command: &[&OsStr]) -> Outcome {
        let words = command.iter().map(|&word| word.to_owned());
        self.run(&words.chain(self.words.iter().cloned()).collect::<Vec<_>>())
    }

    fn run(&self, words: &[OsString]) -> Outcome {
        let stdin = match &self.stdin {
            Some(path) => File::open(path).unwrap().into(),
            None => Stdio::null(),
        };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(self.environment.iter().cloned()).current_dir(&self.folder);
        Outcome::of(command.stdin(stdin))
    }
}

impl Outcome {
    pub fn of(command: &mut Command) -> Outcome {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Outcome { stdout: output.stdout, stderr: output.stderr, code: code(output.status) }
    }

    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// With long streams cut, so that a failure can be read.
impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cut =
            |stream: &[u8]| String::from_utf8_lossy(&stream[..stream.len().min(4000)]).into_owned();
        write!(
            f,
            "code {}\n--- stdout, {} bytes\n{}\n--- stderr, {} bytes\n{}\n---",
            self.code,
            self.stdout.len(),
            cut(&self.stdout),
            self.stderr.len(),
            cut(&self.stderr)
        )
    }
}

impl Recording {
    /// All traces that the run has left, in the order of their names.
    pub fn traces(&self) -> Vec<PathBuf> {
        files(self.folder.path())
    }

    /// The one trace of a program's run; others are of programs that it has started.
    pub fn trace_of(&self, program: &str) -> PathBuf {
        let traces = self.traces();
        let is_of = |path: &&PathBuf| file_name(path).starts_with(&format!("{program}."));
        let [trace] = traces.iter().filter(is_of).collect::<Vec<_>>()[..] else {
            panic!("not one trace of {program}: {traces:?}, {:?}", self.outcome);
        };
        trace.clone()
    }
}

/// Runs `lifetrace` with `arguments`.
pub fn lifetrace_verb(arguments: &[&(impl AsRef<OsStr> + ?Sized)]) -> Outcome {
    Outcome::of(Command::new(lifetrace()).args(arguments).stdin(Stdio::null()))
}

pub fn lifetrace() -> &'static str {
    env!("CARGO_BIN_EXE_lifetrace")
}

/// The files of a folder, in the order of their names.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
