//! Traces that nobody recorded.

use lifetrace_trace::event::{GROWTH, Location, Source, TraceInfo};
use lifetrace_trace::fact::{Fact, Label, Process, SampledUnit, Sampler, ThreadName};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp, Words,
};
use lifetrace_trace::lt::{NewBirth, Writer};

const START: u64 = 1_000_000;

/// Something happens.
#[derive(Clone, Debug)]
pub struct Step {
    /// Microseconds after what happened before.
    pub wait: u64,
    /// Below 4 a birth.
    pub what: u8,
    pub block: u64,
    pub depth: usize,
    pub thread: u32,
    pub bytes: u64,
}

/// A trace of that; each function, file and whatever else has a name is called like one of `names`.
pub fn written(steps: &[Step], names: &[&str]) -> Vec<u8> {
    let name = |number: u64| names[number as usize % names.len()];
    let info = TraceInfo {
        sample_rate: 1e-3,
        word_bits: 64,
        executable_name: name(0).into(),
        host_name: name(1).into(),
        runtime_params: name(2).into(),
        pid: 7,
        start_time: Timestamp(START),
        initial_domain: DomainId(0),
        context: Some(name(3).into()),
    };
    let mut writer = Writer::new(Vec::new(), &info).unwrap();
    for fact in facts(names) {
        writer.fact(Timestamp(START), &fact).unwrap();
    }
    let mut frame = |code: LocationCode| Frame {
        locations: (0..code.0 % 3)
            .map(|depth| Location {
                filename: name(code.0 + depth).into(),
                line: code.0 as u32,
                start_char: code.0 as u32 % 5,
                end_char: code.0 as u32 % 7,
                defname: name(code.0 + 2 * depth).into(),
            })
            .collect(),
        ..Frame::default()
    };
    let mut time = START;
    for step in steps {
        time += step.wait;
        writer.switch(ThreadId(step.thread), DomainId(0));
        write(step, Timestamp(time), &mut writer, &mut frame);
    }
    writer.finish().unwrap()
}

fn write(
    step: &Step,
    time: Timestamp,
    writer: &mut Writer<Vec<u8>>,
    frame: &mut dyn FnMut(LocationCode) -> Frame,
) {
    let id = AllocationId(step.block);
    match step.what {
        7 => writer.promotion(time, id).unwrap(),
        4..=6 => writer.collection(time, id).unwrap(),
        what => {
            let codes =
                (0..step.depth as u64).map(|depth| LocationCode(step.block / 4 + depth * 5));
            let growth = (what == 3 && step.depth > 1).then_some(GROWTH);
            let backtrace: Vec<_> = codes.chain(growth).collect();
            let is_word = what == 0;
            let size = if is_word {
                Size::Words(Words(step.bytes % 1000))
            } else {
                Size::Bytes(Bytes(step.bytes))
            };
            let birth = NewBirth {
                size,
                samples: 1,
                source: [Source::Minor, Source::Major, Source::External, Source::External]
                    [what as usize],
                sampler: SamplerId(what % 3),
                is_truncated: false,
                backtrace: &backtrace,
                common_prefix: 0,
                id: None,
            };
            writer.birth(time, &birth, frame).unwrap();
        }
    }
}

fn facts(names: &[&str]) -> Vec<Fact> {
    let name = |number: usize| names[number % names.len()].into();
    let process = Process {
        arguments: (0..4).map(name).collect(),
        executable: name(0),
        pid: 7,
        host: name(1),
        runtime: name(2),
        name: name(3),
        title: name(4),
        ..Process::default()
    };
    let sampler = |id: u8, unit, rate| {
        Fact::Sampler(Sampler { id: SamplerId(id), name: name(id.into()), unit, rate })
    };
    let thread = |number: u32| {
        Fact::ThreadName(ThreadName {
            thread: ThreadId(number),
            os_id: 9,
            name: name(number as usize),
        })
    };
    vec![
        Fact::Process(process),
        sampler(0, SampledUnit::Byte, 1e-3),
        sampler(1, SampledUnit::Object, 0.01),
        thread(0),
        thread(2),
        Fact::Label(Label { key: name(1), value: name(2) }),
        Fact::Marker(name(3)),
        Fact::Notice(name(4)),
    ]
}

/// A few hundred births and what becomes of them.
pub fn usual() -> Vec<Step> {
    let step = |number: u64| Step {
        wait: number % 7,
        what: (number * 5 % 8) as u8,
        block: number / 3,
        depth: (number % 5) as usize,
        thread: (number % 3) as u32,
        bytes: 16 << (number % 9),
    };
    (0..600).map(step).collect()
}
