//! What killed recorders leave behind, and who clears it away.

use std::path::Path;
use std::process::Command;

use crate::support::fixture;
use crate::support::run::{Target, files};

fn record_in(folder: &Path, program: &Path) {
    let places = ["XDG_RUNTIME_DIR", "TMPDIR", "XDG_CACHE_HOME"];
    let places = places.map(|name| (name, folder.as_os_str()));
    let target = Target::new(&[program]).folder(folder).environment(&places);
    target.record_as(&["-q", "-f", "-o", "/dev/null"]);
}

fn make_old(path: &Path, age: &str) {
    let status = Command::new("touch").args(["-h", "-d", age]).arg(path).status();
    assert!(status.unwrap().success());
}

/// `orphan` kills its recorder.
#[test]
fn a_dead_socket_goes_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let sockets = || {
        let is_socket_folder = |path: &&std::path::PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lifetrace-"))
        };
        files(folder.path()).iter().filter(is_socket_folder).cloned().collect::<Vec<_>>()
    };
    record_in(folder.path(), &fixture::c("orphan"));
    let [dead] = &sockets()[..] else { panic!("{:?}", sockets()) };
    record_in(folder.path(), &fixture::c("family"));
    assert_eq!(&sockets()[..], std::slice::from_ref(dead), "a recorder may be about to listen");
    make_old(dead, "1 hour ago");
    record_in(folder.path(), &fixture::c("family"));
    assert!(sockets().is_empty());
}
