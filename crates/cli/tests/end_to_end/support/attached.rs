//! A program that runs by itself, and is attached to.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::fixture;
use super::run::{Outcome, files, lifetrace, lifetrace_verb};

/// One that has said that it is ready.
pub struct Attached {
    pub child: Child,
    pub folder: tempfile::TempDir,
    output: BufReader<ChildStdout>,
}

impl Attached {
    /// The fixture `attached`, in one of its modes.
    pub fn start(mode: &[&str]) -> Attached {
        Attached::of(Command::new(fixture::c("attached")).args(mode))
    }

    /// A command that says `ready` when it is.
    pub fn of(command: &mut Command) -> Attached {
        let folder = tempfile::tempdir().unwrap();
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = streams.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut attached = Attached { child, folder, output };
        assert_eq!(attached.line(), "ready\n");
        attached
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it says next.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Tells it something; what it answers.
    pub fn say(&mut self, words: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{words}").unwrap();
        self.line()
    }

    /// `lifetrace attach`, to its end.
    pub fn attach(&self, options: &[&str]) -> Outcome {
        let output = self.folder.path().join("%e.%p.lt");
        let (pid, output) = (self.pid().to_string(), output.to_str().unwrap());
        lifetrace_verb(&[&["attach", &pid, "-f", "-o", output], options].concat())
    }

    /// `lifetrace attach`, which goes on.
    pub fn attach_on(&self, options: &[&str]) -> Recorder {
        let output = self.folder.path().join("%e.%p.lt");
        let mut command = Command::new(lifetrace());
        command.args(["attach", &self.pid().to_string(), "-f", "-o"]).arg(output).args(options);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        Recorder { child, line, said }
    }

    /// `lifetrace detach`.
    pub fn detach(&self) -> Outcome {
        lifetrace_verb(&["detach", &self.pid().to_string()])
    }

    /// The traces so far.
    pub fn traces(&self) -> Vec<PathBuf> {
        files(self.folder.path())
    }

    /// The program's own trace.
    pub fn trace(&self) -> PathBuf {
        let of_program = format!(".{}.lt", self.pid());
        let traces = self.traces();
        let found = traces.iter().find(|it| it.to_str().unwrap().ends_with(&of_program));
        found.unwrap_or_else(|| panic!("{traces:?}")).clone()
    }

    /// The bytes of its code at a symbol of its C library, as they are now.
    pub fn code_of(&self, address: u64, length: usize) -> Vec<u8> {
        use std::os::unix::fs::FileExt;
        let memory = std::fs::File::open(format!("/proc/{}/mem", self.pid())).unwrap();
        let mut bytes = vec![0; length];
        memory.read_exact_at(&mut bytes, address).unwrap();
        bytes
    }

    /// All of its code, but for libraries of ours.
    pub fn code(&self) -> Vec<(String, Vec<u8>)> {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.pid())).unwrap();
        let is_its = |line: &&str| line.contains(" r-xp ") && line.contains(" /");
        let lines = maps.lines().filter(is_its).filter(|line| !line.contains("lifetrace"));
        let parts = lines.map(|line| {
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let number = |digits| u64::from_str_radix(digits, 16).unwrap();
            let length = (number(end) - number(start)) as usize;
            (line.to_owned(), self.code_of(number(start), length))
        });
        parts.collect()
    }

    /// Has nothing more to tell it, and waits for its end; the code, and what it has said since.
    pub fn finish(mut self) -> (Option<i32>, String) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // It has ended if all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A recorder that has attached.
pub struct Recorder {
    pub child: Child,
    /// What it has said first.
    pub line: String,
    said: BufReader<std::process::ChildStderr>,
}

impl Recorder {
    /// Waits for its end; the code, and what it has said since.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }

    /// Ends it by SIGTERM.
    pub fn terminate(self) -> (Option<i32>, String) {
        let status = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success());
        self.end()
    }
}
