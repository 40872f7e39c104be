//! What a synthetic trace tells beside events: names, the process, its threads, memory over time.

use std::io::Write;

use lifetrace_trace::event::{Location, TraceInfo};
use lifetrace_trace::fact::{
    Counters, Exit, Fact, Label, Module, Process, SampledUnit, Sampler, ThreadName,
};
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::{Bytes, DomainId, LocationCode, SamplerId, ThreadId, Timestamp};
use lifetrace_trace::lt::Writer;

use super::Options;
use super::stacks::function_and_line;

/// 2026-01-01 in UTC.
pub const START: Timestamp = Timestamp(1_767_225_600_000_000);

/// Probability that a word is hit: that of `record` at 512 KiB.
pub const RATE: f64 = 1.0 / 65_536.0;

const PROGRAM: &str = "/opt/synthetic/bin/server";

/// Resident memory of a process that has allocated nothing.
const BASE: u64 = 24 << 20;

pub fn info(options: &Options) -> TraceInfo {
    TraceInfo {
        sample_rate: RATE,
        word_bits: 64,
        executable_name: PROGRAM.into(),
        host_name: "synthetic".into(),
        runtime_params: String::new(),
        pid: 4711,
        start_time: START,
        initial_domain: DomainId(0),
        context: Some(format!("server --seed {}", options.seed)),
    }
}

/// Everything that is told before the first event.
pub fn preface<W: Write>(writer: &mut Writer<W>, options: &Options) -> std::io::Result<()> {
    let threads = (0..options.threads as u32).map(|thread| {
        let name = if thread == 0 { "main".into() } else { format!("worker-{thread}").into() };
        Fact::ThreadName(ThreadName { thread: ThreadId(thread), os_id: 4711 + thread, name })
    });
    let unit = SampledUnit::Word;
    let sampler = Sampler { id: SamplerId(0), name: "malloc".into(), unit, rate: RATE };
    let label = Label { key: "synthetic".into(), value: format!("{:?}", options.shape).into() };
    let facts = [Fact::Process(process(options)), Fact::Module(module()), Fact::Sampler(sampler)];
    let facts = facts.into_iter().chain([Fact::Label(label)]).chain(threads);
    facts.into_iter().try_for_each(|fact| writer.fact(START, &fact))
}

pub fn end() -> Fact {
    Fact::Exit(Exit::Status(0))
}

fn process(options: &Options) -> Process {
    Process {
        arguments: vec!["server".into(), "--seed".into(), options.seed.to_string().into()],
        executable: PROGRAM.into(),
        pid: 4711,
        parent_pid: 1,
        host: "synthetic".into(),
        runtime: if options.gc { "ocaml" } else { "native" }.into(),
        start: Some(START),
        ..Process::default()
    }
}

fn module() -> Module {
    Module {
        number: 0,
        start: 0x40_0000,
        end: 0x140_0000,
        bias: 0,
        build_id: (1..=20).collect(),
        path: PROGRAM.into(),
    }
}

/// Resident memory follows what lives, and is slow to come down.
#[derive(Default)]
pub struct Memory {
    resident: u64,
    faults: u64,
}

impl Memory {
    pub fn look(&mut self, live_bytes: u64) -> Fact {
        let used = BASE + live_bytes + live_bytes / 8;
        self.faults += used.saturating_sub(self.resident) / 4096;
        self.resident = used.max(self.resident - self.resident / 100);
        Fact::Counters(Counters {
            resident: Some(Bytes(self.resident)),
            minor_faults: Some(self.faults),
            major_faults: Some(12),
            allocator_in_use: Some(Bytes(live_bytes)),
            allocator_held: Some(Bytes(self.resident - BASE / 2)),
            ..Counters::default()
        })
    }
}

/// What a frame stands for.
pub fn locate(code: LocationCode) -> Frame {
    let (function, line) = function_and_line(code);
    let module = function / 40;
    let location = Location {
        filename: format!("src/module_{module}/part_{}.rs", function % 40 / 8).into(),
        line,
        start_char: 0,
        end_char: 0,
        defname: format!("server::module_{module}::function_{function}").into(),
    };
    Frame { locations: vec![location], kind: FrameKind::Native, module: Some(0) }
}
