//! A collector, and programs that find it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::run::{file_name, files, lifetrace, lifetrace_verb};

/// Nothing takes so long that goes well.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where a collector is, or was, or will be.
pub struct Place {
    pub folder: tempfile::TempDir,
}

/// One that runs.
pub struct Collecting {
    child: Child,
    messages: BufReader<ChildStderr>,
}

/// A program that has been told of a collector.
pub struct Client {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Place {
    pub fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("run/socket")
    }

    pub fn traces_folder(&self) -> PathBuf {
        self.folder.path().join("traces")
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(lifetrace());
        command.args(["collect", "--dir"]).arg(self.traces_folder());
        let is_given = |name: &str| options.contains(&name);
        if !is_given("--sources") {
            command.args(["--sources", "native"]);
        }
        if !is_given("--interval") && !is_given("--rate") {
            command.args(["--interval", "4KiB"]);
        }
        if !is_given("--socket") {
            command.arg("--socket").arg(self.socket());
        }
        command.args(options);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Starts a collector and waits until it listens.
    pub fn collect(&self, options: &[&str]) -> Collecting {
        Self::begin(self.command(options))
    }

    /// As [`collect`](Self::collect), by a program that executes what it is given.
    pub fn collect_by(&self, wrapper: &[&str]) -> Collecting {
        let own = self.command(&[]);
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(own.get_program()).args(own.get_args());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Self::begin(command)
    }

    fn begin(mut command: Command) -> Collecting {
        let mut child = command.spawn().unwrap();
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        messages.read_line(&mut first).unwrap();
        let collecting = Collecting { child, messages };
        assert!(first.contains("collecting into"), "{first}");
        collecting
    }

    /// What a collector says that cannot start.
    pub fn refusal(&self, options: &[&str]) -> String {
        let output = self.command(options).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    }

    /// The variables by which a program finds it.
    pub fn variables(&self) -> Vec<(String, String)> {
        let socket = self.socket();
        let told = lifetrace_verb(&["env".as_ref(), "--socket".as_ref(), socket.as_os_str()]);
        assert_eq!(told.code, 0, "{told:?}");
        let pairs = told.stdout_text();
        let pairs = pairs.lines().filter_map(|line| line.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Starts a program that finds it, and waits until it has said a line.
    pub fn client(&self, program: &Path, arguments: &[&str]) -> Client {
        let mut command = Command::new(program);
        command.args(arguments).envs(self.variables()).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Client { child, output };
        assert_eq!(client.line(), "ready\n");
        client
    }

    /// The traces that are finished.
    pub fn traces(&self) -> Vec<PathBuf> {
        let files = files(&self.traces_folder());
        files.into_iter().filter(|path| file_name(path).starts_with("lifetrace.")).collect()
    }

    /// The traces that are being written.
    pub fn parts(&self) -> Vec<PathBuf> {
        let files = files(&self.traces_folder());
        files.into_iter().filter(|path| file_name(path).ends_with(".part")).collect()
    }
}

impl Collecting {
    /// Has it end, and waits for that; what it has said.
    pub fn end(mut self) -> String {
        signal(self.child.id(), "-TERM");
        let status = self.child.wait().unwrap();
        let said = self.said();
        assert_eq!(status.code(), Some(0), "{said}");
        said
    }

    /// Kills it; what it has said.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.said()
    }

    /// The next line that it says.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.messages.read_line(&mut line).unwrap();
        line
    }

    fn said(&mut self) -> String {
        let mut said = String::new();
        self.messages.read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Collecting {
    fn drop(&mut self) {
        // It has ended in most cases.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Has it allocate some thousand blocks.
    pub fn work(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"work\n").unwrap();
        assert_eq!(self.line(), "ok\n");
    }

    /// Has it end, and waits for that.
    pub fn end(mut self) {
        drop(self.child.stdin.take());
        assert_eq!(self.line(), "done\n");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until it is so.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a process a signal, as `kill` names it.
pub fn signal(pid: u32, signal: &str) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(status.unwrap().success());
}
