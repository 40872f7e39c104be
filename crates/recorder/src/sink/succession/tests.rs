//! A session in one file and the same one in many.

use std::collections::BTreeMap;

use lifetrace_trace::event::{Location, Source};
use lifetrace_trace::fact::{SampledUnit, Sampler};
use lifetrace_trace::frame::FrameKind;
use lifetrace_trace::ids::{Bytes, SamplerId, Size};
use lifetrace_trace::record::{Record, RecordKind};
use lifetrace_trace::transfer::{AnyWriter, Format, Join};

use super::*;
use crate::folder::Retention;

const START: u64 = 1_000_000;

/// What is written, and what of it lives.
struct Scene {
    place: tempfile::TempDir,
    folder: Folder,
    sink: Box<Succession>,
    plain: Lt<Vec<u8>>,
    living: Vec<AllocationId>,
    time: u64,
    steps: u64,
}

fn info() -> TraceInfo {
    TraceInfo {
        sample_rate: 1e-4,
        word_bits: 64,
        executable_name: "/bin/a".into(),
        host_name: "host".into(),
        runtime_params: String::new(),
        pid: 7,
        start_time: Timestamp(START),
        initial_domain: DomainId(0),
        context: None,
    }
}

fn sampler(rate: f64) -> Fact {
    let (id, name) = (SamplerId(0), "malloc".into());
    Fact::Sampler(Sampler { id, name, unit: SampledUnit::Byte, rate })
}

impl Scene {
    fn new() -> Scene {
        let place = tempfile::tempdir().unwrap();
        let rotation = Rotation { every: None, bytes: Some(1) };
        let path = place.path().join("traces");
        let folder = Folder::open(&path, rotation, Retention::default()).unwrap();
        let (part, file) = folder.begin("a", 7, Timestamp(START)).unwrap();
        let sink = Succession::begin(part, file, Length::default(), &info(), false);
        let plain = Lt::begin(Vec::new(), &info(), u64::MAX).unwrap();
        let mut scene = Scene {
            place,
            folder,
            sink: Box::new(sink),
            plain,
            living: Vec::new(),
            time: START,
            steps: 0,
        };
        scene.both(|sink, time| sink.fact(time, &sampler(1e-4)));
        scene
    }

    fn both<T: PartialEq + std::fmt::Debug>(
        &mut self,
        act: impl Fn(&mut dyn Sink, Timestamp) -> io::Result<T>,
    ) -> T {
        let time = Timestamp(self.time);
        let there = act(&mut *self.sink, time).unwrap();
        assert_eq!(act(&mut self.plain, time).unwrap(), there);
        there
    }

    /// Some allocations, and deaths of what the last ones have left.
    fn work(&mut self, count: u64) {
        for _ in 0..count {
            self.steps += 1;
            self.time += 17;
            let (step, thread) = (self.steps, ThreadId((self.steps / 50 % 3) as u32));
            self.both(|sink, _| {
                sink.switch(thread);
                Ok(())
            });
            let codes =
                [LocationCode(10), LocationCode(20 + step % 7), LocationCode(40 + step % 31)];
            let birth = Birth {
                size: Size::Bytes(Bytes(step % 1000)),
                samples: 1 + step % 2,
                source: Source::External,
                sampler: SamplerId(0),
                is_truncated: step % 90 == 0,
                backtrace: &codes,
                common_prefix: 0,
            };
            let id = self.both(|sink, time| sink.allocation(time, &birth, &mut frame));
            self.living.push(id);
            if step % 10 < 9 {
                let dead = self.living.swap_remove((step * 7919) as usize % self.living.len());
                self.both(|sink, time| sink.collection(time, dead));
            }
        }
    }

    fn renew(&mut self) {
        let time = Timestamp(self.time);
        self.sink.flush(time).unwrap();
        assert!(self.sink.is_renewal_due());
        let mut living: FxHashSet<AllocationId> = self.living.iter().copied().collect();
        self.sink.renew(time, &mut living);
        self.living.retain(|id| !living.contains(id));
    }

    /// What the files say, together; and what one says that had all of it.
    fn finish(self) -> [Vec<String>; 2] {
        let time = Timestamp(self.time);
        self.sink.finish(time).unwrap();
        let mut plain = self.plain;
        plain.flush(time).unwrap();
        let plain = plain.into_inner().unwrap();
        let mut paths: Vec<_> = std::fs::read_dir(self.folder.path()).unwrap().flatten().collect();
        paths.retain(|entry| entry.file_name().to_string_lossy().starts_with("lifetrace."));
        let mut readers: Vec<_> = paths
            .iter()
            .map(|entry| AnyReader::lt(Reader::open(File::open(entry.path()).unwrap()).unwrap()))
            .collect();
        readers.sort_by_key(|reader| reader.info().start_time);
        let mut joined = Vec::new();
        let mut writer = AnyWriter::new(&mut joined, readers[0].info(), Format::Lt).unwrap();
        let mut join = Join::default();
        for reader in &mut readers {
            assert!(join.add(reader, &mut writer).unwrap().is_none());
        }
        writer.finish().unwrap();
        drop(self.place);
        [records(&joined), records(&plain)]
    }
}

fn frame(code: LocationCode) -> Frame {
    let location = Location {
        filename: "a.c".into(),
        line: code.0 as u32,
        start_char: 0,
        end_char: 0,
        defname: format!("f{}", code.0).into(),
    };
    Frame { locations: vec![location], kind: FrameKind::Native, module: None }
}

/// All that is told, in words; of births the names of frames as well.
fn records(trace: &[u8]) -> Vec<String> {
    let mut reader = AnyReader::lt(Reader::open(trace).unwrap());
    let mut told = Vec::new();
    while let Some(Record { time, thread, kind, .. }) = reader.next().unwrap() {
        let kind = match kind {
            RecordKind::Birth(birth) => {
                let names = reader.backtrace().iter().map(|code| reader.frame(*code));
                let names: Vec<_> = names.flat_map(|frame| frame.locations).collect();
                let birth = lifetrace_trace::record::Birth { common_prefix: 0, ..birth };
                format!("{birth:?} {names:?}")
            }
            other => format!("{other:?}"),
        };
        told.push(format!("{} {} {kind}", time.0, thread.0));
    }
    told
}

#[test]
fn files_together_say_what_one_says() {
    let mut scene = Scene::new();
    for round in 0..5 {
        scene.work(400);
        if round == 2 {
            scene.both(|sink, time| sink.fact(time, &sampler(1e-3)));
        }
        scene.renew();
    }
    scene.work(100);
    assert_eq!(scene.folder.figures().finished, 5);
    let [joined, plain] = scene.finish();
    assert!(plain.len() > 3000);
    for (joined, plain) in joined.iter().zip(&plain) {
        assert_eq!(joined, plain);
    }
    assert_eq!(joined.len(), plain.len());
}

#[test]
fn each_file_says_what_lived_at_its_start() {
    let mut scene = Scene::new();
    scene.work(300);
    scene.renew();
    let (start, lived) = (scene.time + 1, scene.living.clone());
    scene.work(50);
    let folder = scene.folder.path().to_owned();
    scene.sink.finish(Timestamp(scene.time)).unwrap();
    let files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let files =
        files.filter_map(|path| Some(AnyReader::lt(Reader::open(File::open(path).ok()?).ok()?)));
    let mut second = files.max_by_key(|reader| reader.info().start_time).unwrap();
    assert_eq!(second.info().start_time, Timestamp(start));
    let mut born = BTreeMap::new();
    while let Some(record) = second.next().unwrap() {
        if let RecordKind::Birth(birth) = record.kind {
            born.insert(birth.id.0, record.time.0);
        }
    }
    assert!(lived.len() > 20 && lived.iter().all(|id| born[&id.0] < start));
    assert_eq!(born.values().filter(|&&time| time < start).count(), lived.len());
    assert_eq!(born.values().filter(|&&time| time > start).count(), 50);
}

/// As on a full disk; here the folder is away for some time.
#[test]
fn what_cannot_be_written_is_missed_and_counted_and_then_it_goes_on() {
    let mut scene = Scene::new();
    scene.work(300);
    let (there, away) = (scene.folder.path().to_owned(), scene.place.path().join("away"));
    std::fs::rename(&there, &away).unwrap();
    scene.sink.flush(Timestamp(scene.time)).unwrap();
    let mut living: FxHashSet<AllocationId> = scene.living.iter().copied().collect();
    scene.sink.renew(Timestamp(scene.time), &mut living);
    assert!(living.is_empty(), "nothing is forgotten as long as nothing is begun");
    assert_eq!(scene.folder.figures().unwritable, 1);
    let before = scene.living.len();
    scene.work(200);
    let figures = scene.folder.figures();
    assert!(figures.unrecorded > 300 && figures.unrecorded < 500, "{figures:?}");
    std::fs::rename(&away, &there).unwrap();
    let Current::Unwritable(unwritable) = &mut scene.sink.current else { panic!("it is written") };
    unwritable.retry = Instant::now();
    let all = scene.living.len();
    scene.renew();
    let still_lives = scene.living.len();
    assert!(still_lives < before && still_lives < all, "{still_lives} of {before} and {all}");
    assert_eq!(scene.folder.figures().unwritable, 0);
    scene.work(10);
    let [joined, _] = scene.finish();
    let lost: Vec<_> = joined.iter().filter(|told| told.contains("disk-full")).collect();
    assert!(lost.len() == 1 && lost[0].contains("count:"), "{lost:?}");
    // Whoever died meanwhile is dead, and nobody dies twice or unborn.
    let mut living = std::collections::BTreeSet::new();
    for told in &joined {
        let id =
            |told: &str| told.split("AllocationId(").nth(1)?.split(')').next()?.parse::<u64>().ok();
        if told.contains("Birth") {
            assert!(living.insert(id(told).unwrap()), "{told}");
        } else if told.contains("Collection(AllocationId") {
            assert!(living.remove(&id(told).unwrap()), "{told}");
        }
    }
    assert!(!living.is_empty());
}

#[test]
fn a_file_that_tells_nothing_is_not_kept() {
    let scene = Scene::new();
    let folder = scene.folder.path().to_owned();
    scene.sink.finish(Timestamp(scene.time)).unwrap();
    let names = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(names.collect::<Vec<_>>(), [".lifetrace.lock"]);
}
