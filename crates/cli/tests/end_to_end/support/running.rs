//! A program while it is recorded, which is asked for snapshots of its heap.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::run::{Outcome, Target, files, lifetrace, lifetrace_verb};

/// Its recorder, and where that writes.
pub struct Running {
    recorder: Child,
    pub pid: u32,
    /// What it has said first.
    pub said: String,
    output: BufReader<std::process::ChildStdout>,
    folder: tempfile::TempDir,
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
        Running { recorder, pid, said, output, folder }
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

    /// Says a line to it; what it answers.
    pub fn say(&mut self, line: &str) -> String {
        writeln!(self.recorder.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer
    }

    /// Has nothing more to say to it; what it has said since, and how it has ended.
    pub fn end(mut self) -> (String, i32) {
        drop(self.recorder.stdin.take());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).unwrap();
        let status = self.recorder.wait().unwrap();
        (rest, status.code().unwrap_or(-1))
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
