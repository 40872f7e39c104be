//! Who may not leave a trace: other users' processes that have found out where the recorder listens.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::root::only_root_can;
use crate::support::run::{file_name, files, lifetrace};

/// Tells what it was given, and lives until its input ends.
const COMMAND: &str = "echo \"$LD_PRELOAD\"; echo \"$LIFETRACE_SOCKET\"; read line";

/// A process of nobody's, which no traced process has started, in that environment.
fn stranger(preload: &str, socket: &Path) {
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "env"];
    let environment =
        [format!("LD_PRELOAD={preload}"), format!("LIFETRACE_SOCKET={}", socket.display())];
    let mut command = Command::new("setpriv");
    command.args(nobody).args(environment).args(["perl", "-e", "print 'x' x 1000"]);
    let output = command.output().unwrap();
    assert_eq!((output.stdout.len(), output.stderr.len()), (1000, 0), "{output:?}");
}

#[test]
fn other_users_processes_are_not_let_in() {
    if !only_root_can("be another user") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Command::new(lifetrace())
        .args(["record", "-q", "--rate", "1", "-o"])
        .arg(folder.path().join("%e.%p.ctf"))
        .args(["--", "sh", "-c", COMMAND])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(recorder.stdout.take().unwrap()).lines();
    let [preload, socket] = [told.next(), told.next()].map(|line| line.unwrap().unwrap());
    let socket = Path::new(&socket);
    stranger(&preload, socket);
    // A wrong name leads to the abstract socket beside the right one.
    stranger(&preload, &socket.with_file_name("guessed"));
    drop(recorder.stdin.take());
    recorder.wait().unwrap();
    let traces: Vec<String> = files(folder.path()).iter().map(|trace| file_name(trace)).collect();
    assert_eq!(traces.len(), 1, "{traces:?}");
    assert!(!traces[0].starts_with("perl."), "{traces:?}");
}
