//! A small trace with one of everything, made by a fixed rule: also a golden file.

use lifetrace_trace::event::{GROWTH, Source};
use lifetrace_trace::fact::{
    Counters, Cycle, Exit, Fact, Generation, Label, Lost, Module, Parent, Process, Resize,
    SampledUnit, Sampler, ThreadName,
};
use lifetrace_trace::ids::{
    AllocationId, Bytes, LocationCode, SamplerId, Size, ThreadId, Timestamp, Words,
};
use lifetrace_trace::lt::Writer;

use crate::support::{Birth, Record, RecordKind, START, info, write_to};

/// What the trace tells: three parts, before each of which there is a checkpoint.
pub fn parts() -> [Vec<Record>; 3] {
    let mut program = Program { time: START.0, seed: 12_345, next_id: 0, living: Vec::new() };
    let mut first = facts_of_a_start(START.0);
    first.extend(program.run(150));
    let second = program.run(150);
    let mut third = program.run(150);
    third.extend(facts_of_an_end(program.time));
    [first, second, third]
}

/// The trace, in several packets a part.
pub fn trace() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &info()).unwrap();
    for (index, part) in parts().iter().enumerate() {
        if index > 0 {
            writer.checkpoint().unwrap();
        }
        for chunk in part.chunks(60) {
            chunk.iter().for_each(|told| write_to(&mut writer, told).unwrap());
            writer.flush(Timestamp(chunk[chunk.len() - 1].time)).unwrap();
        }
    }
    writer.finish().unwrap()
}

/// A program by a fixed rule.
struct Program {
    time: u64,
    seed: u64,
    next_id: u64,
    living: Vec<u64>,
}

impl Program {
    fn run(&mut self, steps: usize) -> Vec<Record> {
        (0..steps).map(|_| self.step()).collect()
    }

    fn random(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (self.seed >> 33) % below
    }

    fn step(&mut self) -> Record {
        self.time += self.random(200);
        let thread = (self.random(8) / 6) as u32;
        let kind = match self.random(20) {
            0 => RecordKind::Fact(Fact::Marker(format!("step {}", self.next_id).into())),
            1 => RecordKind::Fact(Fact::Counters(self.counters())),
            2..=8 if !self.living.is_empty() => {
                let at = self.random(self.living.len() as u64) as usize;
                RecordKind::Collection(self.living.remove(at))
            }
            9 if !self.living.is_empty() => RecordKind::Promotion(self.living[0]),
            _ => self.birth(),
        };
        Record { time: self.time, thread, domain: (thread % 2) as u16, kind }
    }

    fn birth(&mut self) -> RecordKind {
        self.next_id += if self.random(40) == 0 { 1000 } else { 1 };
        self.living.push(self.next_id);
        let depth = self.random(12);
        let mut backtrace: Vec<LocationCode> =
            (0..depth).map(|level| LocationCode(level * 1000 + self.random(3) * level)).collect();
        let is_growth = self.random(9) == 0;
        backtrace.extend(is_growth.then_some(GROWTH));
        let sources = [Source::Minor, Source::Minor, Source::Major, Source::External];
        let source = sources[self.random(4) as usize];
        let length = self.random(9) * self.random(40);
        RecordKind::Birth(Birth {
            id: self.next_id,
            size: match source {
                Source::External => Size::Bytes(Bytes(length)),
                _ => Size::Words(Words(length)),
            },
            samples: 1 + self.random(20) / 18,
            source,
            sampler: u8::from(source == Source::External),
            is_truncated: self.random(15) == 0,
            backtrace,
        })
    }

    fn counters(&mut self) -> Counters {
        Counters {
            resident: Some(Bytes(1 << 20 | self.random(5000) << 12)),
            proportional: None,
            minor_faults: Some(self.next_id * 3),
            major_faults: Some(2),
            allocator_in_use: Some(Bytes(self.random(1 << 20))),
            allocator_held: (self.random(2) == 0).then_some(Bytes(1 << 22)),
            most_resident: None,
        }
    }
}

fn at(time: u64, fact: Fact) -> Record {
    Record { time, thread: 0, domain: 0, kind: RecordKind::Fact(fact) }
}

pub fn facts_of_a_start(time: u64) -> Vec<Record> {
    let sampler = |id, name: &str, unit, rate| {
        Fact::Sampler(Sampler { id: SamplerId(id), name: name.into(), unit, rate })
    };
    [
        Fact::Process(Process {
            arguments: vec!["program".into(), "--fast".into()],
            executable: "/bin/program".into(),
            pid: 4242,
            parent_pid: 1,
            host: "machine".into(),
            container: "0123abcd".into(),
            runtime: "ocaml".into(),
            runtime_version: "4.14.1".into(),
            agent_version: "0.1.0".into(),
            start: Some(Timestamp(time - 1000)),
            ..Process::default()
        }),
        Fact::Parent(Parent { pid: 1, trace: "lifetrace.init.1.lt".into() }),
        Fact::Label(Label { key: "build".into(), value: "größer".into() }),
        sampler(0, "ocaml", SampledUnit::Word, 1e-4),
        sampler(1, "malloc", SampledUnit::Byte, 1.0 / 512.0),
        sampler(2, "pool", SampledUnit::Object, 1.0),
        Fact::Module(Module {
            number: 0,
            start: 0x7f00_0000_1000,
            end: 0x7f00_0003_0000,
            bias: 0x7f00_0000_0000,
            build_id: vec![1, 2, 254],
            path: "/usr/lib/libc.so.6".into(),
        }),
        Fact::ThreadName(ThreadName { thread: ThreadId(1), os_id: 4243, name: "worker".into() }),
        Fact::WallClock(Timestamp(time + 7)),
    ]
    .into_iter()
    .map(|fact| at(time, fact))
    .collect()
}

pub fn facts_of_an_end(time: u64) -> Vec<Record> {
    let cycle = |generation, begins| Fact::Cycle(Cycle { generation, number: 12, begins });
    [
        cycle(Generation::Minor, true),
        cycle(Generation::Major, false),
        cycle(Generation::Compaction, true),
        Fact::Resize(Resize { id: AllocationId(3), size: Size::Bytes(Bytes(100)) }),
        Fact::Resize(Resize { id: AllocationId(4), size: Size::Words(Words(0)) }),
        Fact::Lost(Lost { reason: "ring-full".into(), count: 17 }),
        Fact::Exit(Exit::Signal(9)),
        Fact::Exit(Exit::Status(-1)),
        Fact::Exit(Exit::Exec),
        Fact::Exit(Exit::Unknown),
    ]
    .into_iter()
    .map(|fact| at(time, fact))
    .collect()
}
