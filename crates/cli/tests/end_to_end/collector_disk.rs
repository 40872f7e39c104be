//! A collector whose disk is full.

use std::fs::{self, File, Permissions};
use std::io::{BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use lifetrace_trace::AnyReader;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::lt::Reader;
use lifetrace_trace::record::RecordKind;

use crate::support::collecting::{Collecting, Place, wait_for};
use crate::support::fixture;
use crate::support::root::only_root_can;

/// A file system of its own at a folder, which has little room.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path) -> SmallDisk<'a> {
        fs::create_dir_all(at).unwrap();
        fs::set_permissions(at, Permissions::from_mode(0o700)).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=16m,mode=0700", "lifetrace-test"]).arg(at);
        assert!(mount.status().unwrap().success());
        SmallDisk(at)
    }

    /// Takes all room that is left.
    fn fill(&self) -> PathBuf {
        let filler = self.0.join("filler");
        let mut file = File::create(&filler).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        filler
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // Somebody who is about to end may still be there.
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

fn wait_to_hear(collecting: &mut Collecting, words: &str) {
    loop {
        let line = collecting.line();
        assert!(!line.is_empty(), "it has ended before it has said: {words}");
        if line.contains(words) {
            return;
        }
    }
}

/// How many blocks are born in a trace, as far as it can be read, and how many events it says the disk has cost.
fn births_and_lost(trace: &Path) -> (u64, u64) {
    let reader = Reader::open(BufReader::new(File::open(trace).unwrap())).unwrap();
    let (mut reader, mut births, mut lost) = (AnyReader::lt(reader), 0, 0);
    while let Ok(Some(record)) = reader.next() {
        match record.kind {
            RecordKind::Birth(_) => births += 1,
            RecordKind::Fact(fact) => match *fact {
                Fact::Lost(it) if &*it.reason == "disk-full" => lost += it.count,
                _ => {}
            },
            _ => {}
        }
    }
    (births, lost)
}

#[test]
fn a_full_disk_ends_no_recording_and_no_program() {
    if !only_root_can("mount a small disk") {
        return;
    }
    let place = Place::new();
    let traces = place.traces_folder();
    let disk = SmallDisk::mount(&traces);
    let mut collecting = place.collect(&[]);
    let mut client = place.client(&fixture::c("collected"), &[]);
    wait_for("blocks in its file", || {
        client.work();
        let part = place.parts().pop().unwrap();
        fs::metadata(part).is_ok_and(|it| it.len() > 64 << 10)
    });
    let filler = disk.fill();
    wait_to_hear(&mut collecting, "the disk is full");
    client.work();
    fs::remove_file(filler).unwrap();
    wait_to_hear(&mut collecting, "can be written to again");
    client.work();
    client.end();
    assert!(collecting.end().contains("lost to a full disk"));
    let mut told: Vec<_> = place.traces().iter().map(|it| births_and_lost(it)).collect();
    assert!(told.len() >= 2 && told.iter().all(|(births, _)| *births > 0), "{told:?}");
    told.retain(|(_, lost)| *lost > 0);
    assert!(told.len() == 1, "{told:?}");
}
