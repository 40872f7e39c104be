//! A program while it is recorded.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::run::{Outcome, files, lifetrace, lifetrace_verb};

/// A program that has said something, and goes on.
pub struct Running {
    pub recorder: Child,
    pub pid: u32,
    pub folder: tempfile::TempDir,
    said: BufReader<ChildStdout>,
}

impl Running {
    /// Starts it, and waits until it has said something.
    pub fn start(program: &Path, arguments: &[&str], options: &[&str]) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(lifetrace());
        command.args(["record", "-q", "-o"]).arg(folder.path().join("t.%p.lt")).args(options);
        command.arg("--").arg(program).args(arguments).stdin(Stdio::piped());
        let mut recorder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(recorder.stdout.take().unwrap());
        said.read_line(&mut String::new()).unwrap();
        let pid = only_child(recorder.id());
        Running { recorder, pid, folder, said }
    }

    /// What it says next.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line
    }

    /// Tells it something.
    pub fn tell(&mut self, bytes: &[u8]) {
        self.recorder.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn snapshot(&self, options: &[&str]) -> Outcome {
        lifetrace_verb(&[&["snapshot", &self.pid.to_string()], options].concat())
    }

    pub fn files(&self) -> Vec<PathBuf> {
        let files = files(self.folder.path());
        files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "lth")).collect()
    }

    /// Waits for its end; the code, and what it has said since.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        (self.recorder.wait().unwrap().code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.recorder.try_wait() {
            let _ = self.recorder.kill();
            let _ = Command::new("kill").args(["-9", &self.pid.to_string()]).status();
            let _ = self.recorder.wait();
        }
    }
}

fn only_child(pid: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.trim().parse().unwrap()
}
