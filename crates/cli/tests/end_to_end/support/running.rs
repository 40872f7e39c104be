//! A program while it is recorded, which is asked for snapshots of its heap.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::run::{Outcome, Target, files, lifetrace, lifetrace_verb};

/// A program that has said something, and goes on.
pub struct Running {
    pub recorder: Child,
    pub pid: u32,
    pub folder: tempfile::TempDir,
    /// What it has said first.
    pub said: String,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts it, and waits until it has said a line.
    pub fn start(target: &Target, options: &[&str]) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(lifetrace());
        command.args(["record", "-q", "-o"]).arg(folder.path().join("t.%p.lt")).args(options);
        command.arg("--").args(target.words()).stdin(Stdio::piped());
        let mut recorder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(recorder.stdout.take().unwrap());
        let mut said = String::new();
        output.read_line(&mut said).unwrap();
        let pid = only_child(recorder.id());
        Running { recorder, pid, folder, said, output }
    }

    /// As [`start`](Self::start), of a program by its path.
    pub fn of(program: &Path, arguments: &[&str], options: &[&str]) -> Running {
        Self::start(&Target::new(&[program]).arguments(arguments), options)
    }

    /// What it says next.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Tells it something.
    pub fn tell(&mut self, bytes: &[u8]) {
        self.recorder.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Tells it a line; what it answers.
    pub fn say(&mut self, line: &str) -> String {
        self.tell(format!("{line}\n").as_bytes());
        self.line()
    }

    /// `lifetrace snapshot`.
    pub fn snapshot(&self, options: &[&str]) -> Outcome {
        lifetrace_verb(&[&["snapshot", &self.pid.to_string()], options].concat())
    }

    /// The snapshots so far.
    pub fn files(&self) -> Vec<PathBuf> {
        let files = files(self.folder.path());
        files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "lth")).collect()
    }

    /// Has nothing more to tell it, and waits for its end; the code, and what it has said since.
    pub fn finish(mut self) -> (Option<i32>, String) {
        drop(self.recorder.stdin.take());
        self.end()
    }

    /// Waits for its end; the code, and what it has said since.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (self.recorder.wait().unwrap().code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.recorder.try_wait().is_ok_and(|it| it.is_none()) {
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
