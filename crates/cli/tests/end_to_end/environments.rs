//! Surroundings that lack what others have: limits, sandboxes, read-only file systems. And what a
//! process inherits: the command gets it as if we were not there.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::support::fixture;
use crate::support::hazard::{check, check_target, check_totals};
use crate::support::profile::assert_complete;
use crate::support::root::only_root_can;
use crate::support::run::{Outcome, Target, files, lifetrace};

/// What a program says that it got, when a shell's `script` starts it as `"$@"`.
fn inherited(script: &str, command: &[&OsStr]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let program = fixture::c("inherited");
    let words = [OsStr::new("bash"), "-c".as_ref(), script.as_ref(), "bash".as_ref()]
        .into_iter()
        .chain(command.iter().copied())
        .chain([program.as_os_str(), told.as_os_str()])
        .collect::<Vec<_>>();
    let outcome = Target::new(&words).folder(Path::new("/")).bare();
    assert_eq!((outcome.code, outcome.stdout.len()), (0, 0), "{outcome:?}");
    fs::read_to_string(&told).unwrap()
}

#[test]
fn the_command_inherits_what_it_would_inherit() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("%e.%p.ctf").into_os_string();
    let record = [lifetrace(), "record", "-q", "-f", "-o"].map(OsStr::new);
    let record: Vec<&OsStr> = record.into_iter().chain([&*output, OsStr::new("--")]).collect();
    for script in [
        "exec \"$@\"",
        "exec \"$@\" <&-",
        "exec \"$@\" <&- >&- 2>&-",
        "exec \"$@\" 2>&- 5</dev/null 9>/dev/null",
        "trap '' PIPE; exec \"$@\"",
        "trap '' INT QUIT TERM HUP USR1 CHLD; exec \"$@\"",
        "umask 027; exec nice -n 5 \"$@\"",
        "ulimit -S -n 50; ulimit -c 0; ulimit -S -s 4096; exec \"$@\"",
        "exec setarch -R \"$@\"",
        "exec setpriv --no-new-privs \"$@\"",
        "exec perl -e 'use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(10, 14, 15)); exec @ARGV' \"$@\"",
    ] {
        assert_eq!(inherited(script, &record), inherited(script, &[]), "{script}");
    }
    assert!(!files(folder.path()).is_empty(), "nothing was recorded");
}

/// A processor that guards return addresses goes on to: the loader would turn that off for a library
/// without the mark.
#[cfg(target_arch = "x86_64")]
#[test]
fn shadow_stacks_stay() {
    use crate::support::hazard::EXACT;

    let script = "readelf --notes \"${LD_PRELOAD%%:*}\"";
    let told = Target::new(&["sh", "-c", script]).record(EXACT).outcome.stdout_text();
    assert!(told.contains("SHSTK"), "{told}");
}

#[test]
fn no_descriptor_left() {
    check(&fixture::c("limits"), &["files"], 1);
}

#[test]
fn no_byte_may_be_written_to_files() {
    check(&fixture::c("limits"), &["size"], 1);
}

#[test]
fn limits_that_a_shell_sets() {
    let program = fixture::c("limits");
    for (limits, how) in [
        ("-f 0", "none"),
        ("-S -n 6", "none"),
        ("-S -s unlimited", "stack"),
        ("-S -s 65536", "stack"),
        ("-l 0", "none"),
        ("-S -u 4000", "none"),
    ] {
        let script = format!("ulimit {limits} && exec \"$0\" {how}");
        let target = Target::new(&["bash", "-c", &script, program.to_str().unwrap()]);
        for recording in check_totals(&target) {
            recording.trace_of("limits");
        }
    }
}

/// Its filter lets through what malloc itself needs, and kills or refuses for everything else.
#[test]
fn a_strict_sandbox() {
    for how in ["kill", "refuse"] {
        check(&fixture::c("sandbox"), &[how], 1);
    }
}

#[test]
fn a_forked_child_that_enters_a_sandbox_at_once() {
    check(&fixture::c("sandbox"), &["forked"], 2);
}

#[test]
fn no_home() {
    let program = fixture::c("family");
    let target = Target::new(&[&program]);
    for variables in [
        [("HOME", ""), ("XDG_CACHE_HOME", "")],
        [("HOME", "/proc/no/such"), ("XDG_CACHE_HOME", "relative")],
        [("HOME", "/dev/null"), ("XDG_CACHE_HOME", "/proc")],
    ] {
        check_target(&target.clone().environment(&variables), 1);
    }
    let words =
        ["env", "-u", "HOME", "-u", "TMPDIR", "-u", "XDG_RUNTIME_DIR", "-u", "XDG_CACHE_HOME"];
    let recorded = Target::new(&words).arguments(&[
        lifetrace(),
        "record",
        "-q",
        "-o",
        "/dev/null",
        "-f",
        "--",
    ]);
    let outcome = recorded.arguments(&[program.to_str().unwrap()]).bare();
    assert_eq!(outcome, target.bare());
}

/// As in a container whose only writable place is the volume for the traces.
#[test]
fn nothing_but_the_traces_can_be_written() {
    if only_root_can("mount") {
        confined("mount -t tmpfs -o ro,mode=755 none /tmp");
    }
}

/// What may be written to may not be executed, so that the agent has no file.
#[test]
fn nothing_that_is_written_can_be_executed() {
    if only_root_can("mount") {
        confined("mount -t tmpfs -o noexec none /tmp");
    }
}

/// Records a program where the file system is read-only, but for a folder for traces, and `temporary`
/// has made `/tmp`.
fn confined(temporary: &str) {
    let program = fixture::c("family");
    let bare = Target::new(&[&program]).bare();
    let script = format!(
        "set -e
         cp \"$0\" \"$1\" /mnt
         mkdir -p /mnt/traces
         {temporary}
         mount -t tmpfs -o ro none /dev/shm
         mount -o remount,ro,bind /
         ! touch /var/cache/x 2>/dev/null
         export HOME=/root
         /mnt/lifetrace record -q --rate 1 -o /mnt/traces/%e.ctf -- /mnt/family
         mkdir -p \"/mnt/seen\" && cp /mnt/traces/* /mnt/seen
         cat /mnt/seen/family.ctf >&3"
    );
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.ctf");
    let confine = format!(
        "exec unshare --mount sh -c 'mount --bind / / && mount -t tmpfs none /mnt && exec sh -c \"$0\" \"$@\"' \
         \"$@\" 3>'{}'",
        trace.display()
    );
    let words = ["bash", "-c", &confine, "bash", &script, lifetrace(), program.to_str().unwrap()];
    let outcome = Outcome { stderr: Vec::new(), ..Target::new(&words).bare() };
    assert_eq!(outcome, bare);
    assert_complete(&trace);
}
