//! Ways to make processes, and servers that do: each process gets its trace, and nothing is lost.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::fixture;
use crate::support::hazard::{EXACT, check, check_totals, check_unsampled};
use crate::support::ledger;
use crate::support::root::only_root_can;
use crate::support::run::{Recording, Target, file_name, lifetrace_verb};

#[test]
fn clone_without_the_help_of_libc() {
    for how in ["plain", "files", "parent"] {
        check(&fixture::c("clone"), &[how], 2);
    }
}

#[test]
fn clone_into_other_namespaces() {
    if only_root_can("make namespaces") {
        for how in ["user", "pid", "network"] {
            check(&fixture::c("clone"), &[how], 2);
        }
    }
}

/// Such a child is its parent to us: it has the same memory.
#[test]
fn clone_that_shares_memory() {
    check(&fixture::c("clone"), &["memory"], 1);
}

#[test]
fn a_vforked_child_that_allocates_before_it_executes() {
    check(&fixture::c("clone"), &["vfork"], 2);
}

#[test]
fn chains_of_shells() {
    let program = fixture::c("ending");
    let chain =
        "exec sh -c 'exec bash -c \"exec env A=b nice -n 1 \\\"\\$0\\\" return\" \"$0\"' \"$0\"";
    for recording in check_totals(&Target::new(&["sh", "-c", chain, program.to_str().unwrap()])) {
        recording.trace_of("ending");
        recording.trace_of("bash");
    }
}

/// It cannot know of us: documented.
#[test]
fn a_program_behind_an_empty_environment() {
    let program = fixture::c("ending");
    let target = Target::new(&["env", "-i", program.to_str().unwrap(), "return"]);
    check_unsampled(&target);
    let traces = target.record(EXACT).traces();
    assert!(traces.iter().all(|trace| file_name(trace).starts_with("env.")), "{traces:?}");
}

/// As bundles do that bring their own C library. The kernel takes the linker for the program.
#[test]
fn a_program_that_its_dynamic_linker_starts() {
    const LINKER: &str = "/lib64/ld-linux-x86-64.so.2";
    let program = fixture::c("ending");
    let program = program.to_str().unwrap();
    let options = ["--inhibit-cache", "--library-path", "/lib/x86_64-linux-gnu", "--argv0", "x"];
    let direct = Target::new(&[LINKER]).arguments(&options).arguments(&[program, "return"]);
    let script = format!("{LINKER} {program} return; true");
    for target in [direct, Target::new(&["sh", "-c", &script])] {
        for recording in check_totals(&target) {
            let trace = recording.trace_of("ending");
            let told = lifetrace_verb(&[Path::new("report"), &trace]).stdout_text();
            assert!(told.starts_with(&format!("{program} return\n")), "{told}");
            assert!(told.contains("ending.c:"), "{told}");
        }
    }
}

/// Its loader loads our library, which finds itself in a strange place and keeps still.
#[test]
fn a_program_of_another_c_library() {
    let program = fixture::c_musl("ending");
    let script = "\"$0\" return; echo $?";
    check_unsampled(&Target::new(&["sh", "-c", script, program.to_str().unwrap()]));
}

/// `record` waits for it, though it has left session, streams and parent behind.
#[test]
fn a_daemon_that_outlives_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("told");
    let target = Target::new(&[&fixture::c("daemon")]).arguments(&[file.to_str().unwrap()]);
    let recording = target.record(EXACT);
    assert_eq!((recording.outcome.code, recording.outcome.stderr_text().as_str()), (0, ""));
    let told = recording.outcome.stdout_text() + &fs::read_to_string(&file).unwrap();
    assert_eq!(ledger::expected(&told), ledger::recorded(&recording.traces()));
    assert_eq!(recording.traces().len(), 2, "{:?}", recording.traces());
}

#[test]
fn a_forked_child_that_becomes_another_user_at_once() {
    if only_root_can("change users") {
        let folder = tempfile::tempdir().unwrap();
        check(&fixture::c("privileges"), &["user", folder.path().to_str().unwrap()], 2);
    }
}

#[test]
fn a_forked_child_that_leaves_the_file_system_at_once() {
    if only_root_can("change roots") {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        check(&fixture::c("privileges"), &["root", folder.path().to_str().unwrap()], 2);
    }
}

#[test]
fn a_program_that_is_executed_as_another_user() {
    if only_root_can("change users") {
        let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let target = Target::new(&words).arguments(&["perl", "-e", "print join ',', 1 .. 5000"]);
        for recording in check_totals(&target) {
            recording.trace_of("perl");
        }
    }
}

/// A master and four workers, which give up root's rights; the shell's other commands leave traces too.
#[test]
fn a_prefork_server() {
    const WORKERS: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("nginx.conf"), configuration(folder.path(), WORKERS)).unwrap();
    let target = Target::new(&["sh", "-e", "-c", SERVE]).folder(folder.path());
    for recording in check_totals(&target) {
        assert!(recording.outcome.stdout_text().contains("hello from nginx"));
        // The process that was started, its daemon, and the workers.
        assert_eq!(traces_of(&recording, "nginx"), 2 + WORKERS, "{:?}", recording.traces());
    }
}

/// Nginx listens when its first process ends, and has written its process's id when it answers. All its
/// processes hold the pipe `ended` open, so that the script ends after them.
const SERVE: &str = r#"
rm -f ended
mkfifo ended
exec 8<>ended 7<ended
trap 'exec 8>&-; kill -QUIT $(cat pid); cat <&7' EXIT
nginx -p "$PWD" -c nginx.conf
perl -MIO::Socket::UNIX -e '
    for (1 .. 50) {
        my $server = IO::Socket::UNIX->new(Peer => "server") or die "nobody serves: $!";
        print $server "GET / HTTP/1.0\r\n\r\n";
        my ($head, $body) = split /\r\n\r\n/, join("", <$server>);
        print $body;
    }'
"#;

fn configuration(folder: &Path, workers: usize) -> String {
    let folder = folder.display();
    let scratch = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {folder}/{kind};"))
        .join(" ");
    format!(
        "user www-data; worker_processes {workers}; pid {folder}/pid; error_log {folder}/errors;
         events {{ worker_connections 64; }}
         http {{
             access_log off; {scratch}
             server {{
                 listen unix:{folder}/server;
                 location / {{ return 200 'hello from nginx\\n'; }}
             }}
         }}"
    )
}

fn traces_of(recording: &Recording, program: &str) -> usize {
    let prefix = format!("{program}.");
    recording.traces().iter().filter(|trace| file_name(trace).starts_with(&prefix)).count()
}
