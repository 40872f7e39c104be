//! Programs that have another root directory than the recorder: in containers, and by chroot.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::attached::Attached;
use crate::support::births;
use crate::support::fixture;
use crate::support::root::only_root_can;

/// A folder with the fixture `attached` and its libraries, to be a root directory.
fn root() -> tempfile::TempDir {
    let (root, program) = (tempfile::tempdir().unwrap(), fixture::c("attached"));
    let told = Command::new("ldd").arg(&program).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let libraries = told.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new);
    for file in libraries {
        let place = root.path().join(file.strip_prefix("/").unwrap());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(file, place).unwrap();
    }
    fs::copy(program, root.path().join("attached")).unwrap();
    fs::create_dir(root.path().join("proc")).unwrap();
    root
}

/// Runs the program in a mount namespace of its own, after these commands of the shell's.
fn started(root: &Path, commands: &str) -> Attached {
    let commands = format!("cd \"$0\"; {commands}");
    Attached::of(Command::new("unshare").args(["-m", "sh", "-ec", &commands]).arg(root))
}

fn check(mut program: Attached) {
    let recorder = program.attach_on(&["--interval", "1"]);
    assert_eq!(program.say("now"), "done\n");
    assert_eq!(recorder.terminate().0, Some(0));
    let births = births::of(&program.trace());
    for way in ["by_malloc", "by_strdup"] {
        let of_way = births.iter().filter(|birth| birth.functions().any(|it| it == way));
        assert_eq!(of_way.count(), 100, "{way}");
    }
    assert_eq!(program.finish().0, Some(0));
}

#[test]
fn a_program_that_has_changed_its_root() {
    if only_root_can("change roots") {
        let root = root();
        check(started(root.path(), "mount -t proc proc proc; exec chroot . /attached blocks"));
    }
}

#[test]
fn a_program_in_a_container_of_its_own() {
    if only_root_can("change roots") {
        let root = root();
        let pivot = "mount --bind . .; cd \"$0\"; mkdir old; mount -t proc proc proc; pivot_root . old; \
                     exec /attached blocks";
        check(started(root.path(), pivot));
    }
}

#[test]
fn a_program_that_sees_no_proc() {
    if only_root_can("change roots") {
        let root = root();
        let program = started(root.path(), "exec chroot . /attached blocks");
        let refused = program.attach(&["--duration", "1s"]);
        let told = refused.stderr_text();
        assert!(refused.code == 1 && told.contains("there is no /proc in its root"), "{told}");
        assert_eq!(program.finish().0, Some(0));
    }
}
