use std::fs::File;
use std::time::SystemTime;

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{DomainId, Timestamp};
use lifetrace_trace::lt::{Item, Reader, Writer};

use super::*;

const LONG_AGO: Duration = Duration::from_secs(30 * 24 * 3600);

fn open(path: &Path, retention: Retention) -> Result<Folder, FolderError> {
    Folder::open(path, Rotation::default(), retention)
}

/// A trace that is not finished, with one fact in it.
fn begin(folder: &Folder, pid: u32) -> Part {
    let (part, file) = folder.begin("a", pid, Timestamp(0)).unwrap();
    let info = TraceInfo {
        sample_rate: 1e-4,
        word_bits: 64,
        executable_name: String::new(),
        host_name: String::new(),
        runtime_params: String::new(),
        pid: pid.into(),
        start_time: Timestamp(0),
        initial_domain: DomainId(0),
        context: None,
    };
    let mut writer = Writer::new(file, &info).unwrap();
    writer.fact(Timestamp(5), &Fact::Marker("here".into())).unwrap();
    writer.flush(Timestamp(9)).unwrap();
    part
}

fn names(folder: &Path) -> Vec<String> {
    let names = entries(folder).map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != LOCK).collect();
    names.sort();
    names
}

#[test]
fn a_folder_has_one_owner() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("traces");
    let first = open(&path, Retention::default()).unwrap();
    assert!(matches!(open(&path, Retention::default()), Err(FolderError::Taken(_))));
    drop(first);
    assert!(open(&path, Retention::default()).is_ok());
}

#[test]
fn traces_have_their_names_when_they_are_whole() {
    let place = tempfile::tempdir().unwrap();
    let folder = open(place.path(), Retention::default()).unwrap();
    let (first, second) = (begin(&folder, 7), begin(&folder, 7));
    let plain = "lifetrace.a.7.19700101T000000Z";
    assert_eq!(names(place.path()), [format!(".{plain}.2.lt.part"), format!(".{plain}.lt.part")]);
    first.finish().unwrap();
    second.discard();
    assert_eq!(names(place.path()), [format!("{plain}.lt")]);
    assert_eq!(folder.figures().finished, 1);
}

#[test]
fn what_a_killed_recorder_has_left_is_finished_and_says_so() {
    let place = tempfile::tempdir().unwrap();
    let folder = open(place.path(), Retention::default()).unwrap();
    begin(&folder, 7);
    let (_, file) = folder.begin("a", 8, Timestamp(0)).unwrap();
    std::fs::write(place.path().join(".mine.part"), "precious").unwrap();
    drop((folder, file));
    let folder = open(place.path(), Retention::default()).unwrap();
    let trace = "lifetrace.a.7.19700101T000000Z.lt";
    assert_eq!(names(place.path()), [".mine.part", trace]);
    assert_eq!(folder.figures().finished, 1);
    let mut reader = Reader::open(File::open(place.path().join(trace)).unwrap()).unwrap();
    let mut told = Vec::new();
    while let Some((_, item)) = reader.next().unwrap() {
        let Item::Fact(fact) = item else { panic!("{item:?}") };
        told.push(fact);
    }
    let expected = [Fact::Marker("here".into()), Fact::Notice("recorder-killed".into())];
    assert_eq!(told, expected);
    assert!(reader.is_complete());
}

#[test]
fn the_oldest_go_first_and_nothing_that_is_not_ours() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: usize, age: Duration| {
        std::fs::write(place.path().join(name), vec![0; bytes]).unwrap();
        let file = File::options().write(true).open(place.path().join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    let trace = |pid: u32| format!("lifetrace.a.{pid}.20261127T165500Z.lt");
    let hours = |hours: u64| Duration::from_secs(3600 * hours);
    write("mine.lt", 1000, LONG_AGO);
    write("lifetrace.a.7.lt", 1000, LONG_AGO);
    write(&trace(1), 1000, LONG_AGO);
    let snapshot = |number: &str| format!("lifetrace.a.4.20261127T165500Z.{number}.lth");
    write(&snapshot("1"), 1000, LONG_AGO);
    write(&snapshot("2"), 400, hours(1));
    write(&snapshot("mine"), 1000, LONG_AGO);
    (2..=5).for_each(|pid| write(&trace(pid), 1000, hours(10 - u64::from(pid))));
    std::os::unix::fs::symlink("mine.lt", place.path().join(trace(6))).unwrap();
    let by_age = Retention { age: Some(hours(24)), bytes: None };
    let folder = open(place.path(), by_age).unwrap();
    assert_eq!(folder.figures().removed, 2);
    drop(folder);
    let by_size = Retention { age: None, bytes: Some(2500) };
    let folder = open(place.path(), by_size).unwrap();
    assert_eq!(folder.figures().removed, 2);
    let mut left = ["lifetrace.a.7.lt", "mine.lt"].map(str::to_owned).to_vec();
    left.extend([trace(4), trace(5), trace(6), snapshot("2"), snapshot("mine")]);
    left.sort();
    assert_eq!(names(place.path()), left);
}
