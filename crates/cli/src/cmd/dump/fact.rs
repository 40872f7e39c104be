//! A fact as text: its kind, and `key=value` for each of its parts, with tabs between.

use std::fmt::{Display, Write as _};

use lifetrace_human as human;
use lifetrace_report::unit_name;
use lifetrace_trace::fact::{
    Collector, Counters, Cycle, Exit, Fact, Generation, Held, Holder, Label, Looked, Lost, Module,
    Parent, Process, Resize, RuntimeCount, Sampler, ThreadName,
};
use lifetrace_trace::ids::{Bytes, Size, Timestamp, Words};

/// The line's columns after `fact`.
pub(super) fn text(fact: &Fact) -> String {
    match fact {
        Fact::Counters(counters) => of_counters(counters),
        Fact::ThreadName(ThreadName { thread, os_id, name }) => Line::new("thread_name")
            .with("thread", thread.0)
            .with("os_id", os_id)
            .text("name", name),
        Fact::Module(module) => of_module(module),
        Fact::Sampler(Sampler { id, name, unit, rate }) => Line::new("sampler")
            .with("id", id.0)
            .with("unit", unit_name(*unit))
            .with("rate", rate)
            .text("name", name),
        Fact::Cycle(cycle) => of_cycle(cycle),
        Fact::Resize(Resize { id, size }) => {
            let line = Line::new("resize").with("id", id.0);
            match size {
                Size::Bytes(Bytes(bytes)) => line.with("bytes", bytes),
                Size::Words(Words(words)) => line.with("words", words),
            }
        }
        Fact::Label(Label { key, value }) => {
            Line::new("label").text("key", key).text("value", value)
        }
        Fact::Marker(text) => Line::new("marker").text("text", text),
        Fact::Lost(Lost { reason, count }) => {
            Line::new("lost").with("count", count).text("reason", reason)
        }
        Fact::Process(process) => of_process(process),
        Fact::Parent(Parent { pid, trace }) => {
            Line::new("parent").with("pid", pid).text("trace", trace)
        }
        Fact::Exit(exit) => of_exit(*exit),
        Fact::WallClock(Timestamp(time)) => Line::new("wall_clock").with("time_us", time),
        Fact::Collector(collector) => of_collector(collector),
        Fact::Notice(code) => Line::new("notice").text("code", code),
        Fact::RuntimeCount(RuntimeCount { name, value }) => {
            Line::new("runtime_count").with("value", value).text("name", name)
        }
        Fact::Looked(Looked { bytes, micros }) => {
            Line::new("looked").with("bytes", bytes.0).with("stopped_us", micros)
        }
        Fact::Held(held) => of_held(held),
    }
    .0
}

/// A line in the making.
struct Line(String);

impl Line {
    fn new(kind: &str) -> Self {
        Self(kind.to_owned())
    }

    fn with(mut self, key: &str, value: impl Display) -> Self {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "\t{key}={value}");
        self
    }

    fn text(self, key: &str, value: &str) -> Self {
        self.with(key, human::printable(value))
    }

    /// Nothing for what nobody said.
    fn maybe(self, key: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }
}

fn of_counters(counters: &Counters) -> Line {
    let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
    Line::new("counters")
        .maybe("resident_bytes", bytes(counters.resident))
        .maybe("proportional_bytes", bytes(counters.proportional))
        .maybe("minor_faults", counters.minor_faults)
        .maybe("major_faults", counters.major_faults)
        .maybe("allocator_in_use_bytes", bytes(counters.allocator_in_use))
        .maybe("allocator_held_bytes", bytes(counters.allocator_held))
        .maybe("most_resident_bytes", bytes(counters.most_resident))
}

fn of_collector(collector: &Collector) -> Line {
    const KEYS: [&str; 9] = [
        "minor_words",
        "promoted_words",
        "major_words",
        "minor_collections",
        "major_collections",
        "compactions",
        "heap_words",
        "top_heap_words",
        "young_heap_words",
    ];
    let figures = KEYS.into_iter().zip(collector.figures());
    let line = figures.fold(Line::new("heap"), |line, (key, figure)| line.maybe(key, figure));
    line.maybe("is_behind", Some(true).filter(|_| collector.is_behind))
        .maybe("has_samplers_share", Some(true).filter(|_| collector.has_samplers_share))
}

fn of_module(Module { number, start, end, bias, build_id, path }: &Module) -> Line {
    let build_id: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    Line::new("module")
        .with("number", number)
        .with("start", format_args!("{start:#x}"))
        .with("end", format_args!("{end:#x}"))
        .with("bias", format_args!("{bias:#x}"))
        .with("build_id", build_id)
        .text("path", path)
}

fn of_cycle(Cycle { generation, number, begins }: &Cycle) -> Line {
    let generation = match generation {
        Generation::Minor => "minor",
        Generation::Major => "major",
        Generation::Compaction => "compaction",
    };
    let step = if *begins { "begins" } else { "ends" };
    Line::new("gc_cycle").with("generation", generation).with("number", number).with("step", step)
}

fn of_process(process: &Process) -> Line {
    let arguments = process.arguments.iter();
    let line = Line::new("process")
        .with("pid", process.pid)
        .with("parent_pid", process.parent_pid)
        .maybe("start_us", process.start.map(|start| start.0))
        .text("executable", &process.executable)
        .text("host", &process.host)
        .text("container", &process.container)
        .text("runtime", &process.runtime)
        .text("runtime_version", &process.runtime_version)
        .text("agent_version", &process.agent_version)
        .maybe("name", unless_empty(&process.name))
        .maybe("title", unless_empty(&process.title));
    arguments.fold(line, |line, argument| line.text("argument", argument))
}

fn of_held(Held { by, blocks }: &Held) -> Line {
    let line = Line::new("held");
    let line = match by {
        Holder::Nothing => line.with("by", "nothing"),
        Holder::Lost => line.with("by", "lost"),
        Holder::Variable(name) => line.with("by", "variable").text("name", name),
        Holder::Block(id) => line.with("by", "block").with("holder", id.0),
        Holder::Kernel => line.with("by", "kernel"),
        Holder::Thread(name) => line.with("by", "thread").text("name", name),
        Holder::File(path) => line.with("by", "file").text("path", path),
        Holder::Memory => line.with("by", "memory"),
    };
    blocks.iter().fold(line, |line, block| line.with("id", block.0))
}

/// Nothing if it is empty.
fn unless_empty(text: &str) -> Option<impl Display> {
    (!text.is_empty()).then(|| human::printable(text))
}

fn of_exit(exit: Exit) -> Line {
    let line = Line::new("exit");
    match exit {
        Exit::Status(status) => line.with("status", status),
        Exit::Signal(signal) => line.with("signal", signal),
        Exit::Exec => line.with("how", "exec"),
        Exit::Unknown => line.with("how", "unknown"),
    }
}
