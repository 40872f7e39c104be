//! Facts as bytes, each after a tag and a length, so that a reader passes over tags it does not know.
//!
//! Counters are told as differences to those before; what is not known is told as such.

use std::sync::Arc;

use super::held_codec;
use crate::fact::{
    Collector, Counters, Cycle, Exit, Fact, Generation, Label, Looked, Lost, Module, Parent,
    Process, Resize, RuntimeCount, SampledUnit, Sampler, ThreadName,
};
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};
use crate::ids::{AllocationId, Bytes, SamplerId, Size, ThreadId, Timestamp, Words};

/// What a fact is about.
pub(super) type Tag = u64;

const COUNTERS: Tag = 1;
const THREAD_NAME: Tag = 2;
const MODULE: Tag = 3;
const SAMPLER: Tag = 4;
const CYCLE: Tag = 5;
const RESIZE: Tag = 6;
const LABEL: Tag = 7;
const MARKER: Tag = 8;
const LOST: Tag = 9;
const PROCESS: Tag = 10;
const PARENT: Tag = 11;
const EXIT: Tag = 12;
const WALL_CLOCK: Tag = 13;
const COLLECTOR: Tag = 14;
const NOTICE: Tag = 15;
const RUNTIME_COUNT: Tag = 16;
const LOOKED: Tag = 17;
const HELD: Tag = 18;

/// Longest string in a fact, in bytes; longer ones are cut.
const MAX_STRING: usize = 1 << 12;

/// Most arguments of a process.
const MAX_ARGUMENTS: usize = 1 << 8;

/// Both sides of the codec: what they have in common is the last figures.
#[derive(Debug, Default)]
pub(super) struct FactCodec {
    counters: [u64; 7],
    collector: [u64; 8],
    /// Start of the last module.
    module: u64,
}

impl FactCodec {
    /// A fact's tag and bytes.
    pub(super) fn encode(&mut self, fact: &Fact) -> (Tag, Vec<u8>) {
        let mut out = Vec::new();
        let tag = match fact {
            Fact::Counters(counters) => {
                self.put_counters(counters, &mut out);
                COUNTERS
            }
            Fact::ThreadName(it) => {
                out.put_varint(it.thread.0.into());
                out.put_varint(it.os_id.into());
                put_string(&it.name, &mut out);
                THREAD_NAME
            }
            Fact::Module(module) => {
                self.put_module(module, &mut out);
                MODULE
            }
            Fact::Sampler(sampler) => {
                out.push(sampler.id.0);
                out.push(sampler.unit as u8);
                out.extend_from_slice(&sampler.rate.to_bits().to_le_bytes());
                put_string(&sampler.name, &mut out);
                SAMPLER
            }
            Fact::Cycle(cycle) => {
                out.push((cycle.generation as u8) << 1 | u8::from(cycle.begins));
                out.put_varint(cycle.number);
                CYCLE
            }
            Fact::Resize(resize) => {
                out.put_varint(resize.id.0);
                put_size(resize.size, &mut out);
                RESIZE
            }
            Fact::Label(label) => {
                put_string(&label.key, &mut out);
                put_string(&label.value, &mut out);
                LABEL
            }
            Fact::Marker(text) => {
                put_string(text, &mut out);
                MARKER
            }
            Fact::Lost(lost) => {
                put_string(&lost.reason, &mut out);
                out.put_varint(lost.count);
                LOST
            }
            Fact::Process(process) => {
                put_process(process, &mut out);
                PROCESS
            }
            Fact::Parent(parent) => {
                out.put_varint(parent.pid);
                put_string(&parent.trace, &mut out);
                PARENT
            }
            Fact::Exit(exit) => {
                put_exit(*exit, &mut out);
                EXIT
            }
            Fact::WallClock(time) => {
                out.put_varint(time.0);
                WALL_CLOCK
            }
            Fact::Collector(collector) => {
                let [figures @ .., young_heap] = collector.figures();
                put_figures(&figures, &mut self.collector, &mut out);
                put_standing(collector, young_heap, &mut out);
                COLLECTOR
            }
            Fact::Notice(code) => {
                put_string(code, &mut out);
                NOTICE
            }
            Fact::RuntimeCount(count) => {
                put_string(&count.name, &mut out);
                out.put_varint(count.value);
                RUNTIME_COUNT
            }
            Fact::Looked(looked) => {
                out.put_varint(looked.bytes.0);
                out.put_varint(looked.micros);
                LOOKED
            }
            Fact::Held(held) => {
                held_codec::put(held, &mut out);
                HELD
            }
        };
        (tag, out)
    }

    /// None if a later version knows what it is.
    pub(super) fn decode(&mut self, tag: Tag, bytes: &[u8]) -> Result<Option<Fact>, Fault> {
        let mut plain = Plain(bytes);
        Ok(Some(match tag {
            COUNTERS => Fact::Counters(self.counters(&mut plain)?),
            THREAD_NAME => Fact::ThreadName(ThreadName {
                thread: ThreadId(plain.small()?),
                os_id: plain.small()?,
                name: string(&mut plain)?,
            }),
            MODULE => Fact::Module(self.module(&mut plain)?),
            SAMPLER => Fact::Sampler(sampler(&mut plain)?),
            CYCLE => Fact::Cycle(cycle(&mut plain)?),
            RESIZE => {
                Fact::Resize(Resize { id: AllocationId(plain.varint()?), size: size(&mut plain)? })
            }
            LABEL => Fact::Label(Label { key: string(&mut plain)?, value: string(&mut plain)? }),
            MARKER => Fact::Marker(string(&mut plain)?),
            LOST => Fact::Lost(Lost { reason: string(&mut plain)?, count: plain.varint()? }),
            PROCESS => Fact::Process(process(&mut plain)?),
            PARENT => Fact::Parent(Parent { pid: plain.varint()?, trace: string(&mut plain)? }),
            EXIT => Fact::Exit(exit(&mut plain)?),
            WALL_CLOCK => Fact::WallClock(Timestamp(plain.varint()?)),
            COLLECTOR => {
                let figures = figures(&mut self.collector, &mut plain)?;
                Fact::Collector(with_standing(figures, &mut plain)?)
            }
            NOTICE => Fact::Notice(string(&mut plain)?),
            RUNTIME_COUNT => {
                let name = string(&mut plain)?;
                Fact::RuntimeCount(RuntimeCount { name, value: plain.varint()? })
            }
            LOOKED => {
                Fact::Looked(Looked { bytes: Bytes(plain.varint()?), micros: plain.varint()? })
            }
            HELD => Fact::Held(held_codec::take(&mut plain)?),
            _ => return Ok(None),
        }))
    }

    fn put_counters(&mut self, counters: &Counters, out: &mut Vec<u8>) {
        let figures = [
            counters.resident.map(|it| it.0),
            counters.proportional.map(|it| it.0),
            counters.minor_faults,
            counters.major_faults,
            counters.allocator_in_use.map(|it| it.0),
            counters.allocator_held.map(|it| it.0),
            counters.most_resident.map(|it| it.0),
        ];
        put_figures(&figures, &mut self.counters, out);
    }

    fn counters(&mut self, plain: &mut Plain<'_>) -> Result<Counters, Fault> {
        let figures = figures(&mut self.counters, plain)?;
        Ok(Counters {
            resident: figures[0].map(Bytes),
            proportional: figures[1].map(Bytes),
            minor_faults: figures[2],
            major_faults: figures[3],
            allocator_in_use: figures[4].map(Bytes),
            allocator_held: figures[5].map(Bytes),
            most_resident: figures[6].map(Bytes),
        })
    }

    fn put_module(&mut self, module: &Module, out: &mut Vec<u8>) {
        out.put_varint(module.number.into());
        out.put_signed(module.start.wrapping_sub(self.module) as i64);
        out.put_varint(module.end.wrapping_sub(module.start));
        out.put_signed(module.start.wrapping_sub(module.bias) as i64);
        out.put_bytes(&module.build_id[..module.build_id.len().min(MAX_STRING)]);
        put_string(&module.path, out);
        self.module = module.start;
    }

    fn module(&mut self, plain: &mut Plain<'_>) -> Result<Module, Fault> {
        let number = plain.small()?;
        let start = self.module.wrapping_add(plain.signed()? as u64);
        self.module = start;
        Ok(Module {
            number,
            start,
            end: start.wrapping_add(plain.varint()?),
            bias: start.wrapping_sub(plain.signed()? as u64),
            build_id: plain.bytes()?.to_vec(),
            path: string(plain)?,
        })
    }
}

/// A bit for each figure that is known, at most eight, then the differences of these.
fn put_figures(figures: &[Option<u64>], last: &mut [u64], out: &mut Vec<u8>) {
    let known = |(at, figure): (usize, &Option<u64>)| u8::from(figure.is_some()) << at;
    out.push(figures.iter().enumerate().map(known).sum());
    for (last, figure) in last.iter_mut().zip(figures) {
        if let Some(figure) = *figure {
            out.put_signed(figure.wrapping_sub(*last) as i64);
            *last = figure;
        }
    }
}

fn figures<const N: usize>(
    last: &mut [u64; N],
    plain: &mut Plain<'_>,
) -> Result<[Option<u64>; N], Fault> {
    let known = plain.take(1)?[0];
    let mut figures = [None; N];
    for (at, (figure, last)) in figures.iter_mut().zip(last).enumerate() {
        if known >> at & 1 == 1 {
            *last = last.wrapping_add(plain.signed()? as u64);
            *figure = Some(*last);
        }
    }
    Ok(figures)
}

const BEHIND: u8 = 1;
const SAMPLERS_SHARE: u8 = 2;

/// Nothing if there is nothing to say.
fn put_standing(collector: &Collector, young_heap: Option<u64>, out: &mut Vec<u8>) {
    let behind = u8::from(collector.is_behind) * BEHIND;
    let standing = behind + u8::from(collector.has_samplers_share) * SAMPLERS_SHARE;
    if standing != 0 || young_heap.is_some() {
        out.push(standing);
    }
    young_heap.into_iter().for_each(|words| out.put_varint(words));
}

/// Earlier versions end sooner.
fn with_standing(figures: [Option<u64>; 8], plain: &mut Plain<'_>) -> Result<Collector, Fault> {
    let mut all = [None; 9];
    all[..8].copy_from_slice(&figures);
    let standing = if plain.0.is_empty() { 0 } else { plain.take(1)?[0] };
    all[8] = if plain.0.is_empty() { None } else { Some(plain.varint()?) };
    Ok(Collector {
        is_behind: standing & BEHIND != 0,
        has_samplers_share: standing & SAMPLERS_SHARE != 0,
        ..all.into()
    })
}

fn put_string(string: &str, out: &mut Vec<u8>) {
    out.put_bytes(crate::framing::varint::cut(string, MAX_STRING).as_bytes());
}

fn string(plain: &mut Plain<'_>) -> Result<Arc<str>, Fault> {
    Ok(plain.string()?.into())
}

/// Empty where an earlier version has none.
fn string_if_any(plain: &mut Plain<'_>) -> Result<Arc<str>, Fault> {
    if plain.0.is_empty() { Ok("".into()) } else { string(plain) }
}

fn put_size(size: Size, out: &mut Vec<u8>) {
    let (unit, count) = match size {
        Size::Words(words) => (0, words.0),
        Size::Bytes(bytes) => (1, bytes.0),
    };
    out.push(unit);
    out.put_varint(count);
}

fn size(plain: &mut Plain<'_>) -> Result<Size, Fault> {
    match plain.take(1)?[0] {
        0 => Ok(Size::Words(Words(plain.varint()?))),
        1 => Ok(Size::Bytes(Bytes(plain.varint()?))),
        _ => Err(Fault::Unexpected("words or bytes")),
    }
}

fn sampler(plain: &mut Plain<'_>) -> Result<Sampler, Fault> {
    let id = SamplerId(plain.take(1)?[0]);
    let unit = match plain.take(1)?[0] {
        0 => SampledUnit::Byte,
        1 => SampledUnit::Word,
        2 => SampledUnit::Object,
        _ => return Err(Fault::Unexpected("a unit of sampling")),
    };
    let rate = f64::from_bits(plain.u64()?);
    let is_rate = rate > 0.0 && rate <= 1.0;
    let name = string(plain)?;
    is_rate.then_some(Sampler { id, name, unit, rate }).ok_or(Fault::Unexpected("a sampling rate"))
}

fn cycle(plain: &mut Plain<'_>) -> Result<Cycle, Fault> {
    let step = plain.take(1)?[0];
    let generation = match step >> 1 {
        0 => Generation::Minor,
        1 => Generation::Major,
        2 => Generation::Compaction,
        _ => return Err(Fault::Unexpected("a generation")),
    };
    Ok(Cycle { generation, begins: step & 1 == 1, number: plain.varint()? })
}

fn put_process(process: &Process, out: &mut Vec<u8>) {
    let arguments = &process.arguments[..process.arguments.len().min(MAX_ARGUMENTS)];
    out.put_varint(arguments.len() as u64);
    arguments.iter().for_each(|argument| put_string(argument, out));
    out.put_varint(process.pid);
    out.put_varint(process.parent_pid);
    out.put_varint(process.start.map_or(0, |start| start.0.saturating_add(1)));
    for name in [
        &process.executable,
        &process.host,
        &process.container,
        &process.runtime,
        &process.runtime_version,
        &process.agent_version,
    ] {
        put_string(name, out);
    }
    if !(process.name.is_empty() && process.title.is_empty()) {
        put_string(&process.name, out);
        put_string(&process.title, out);
    }
}

fn process(plain: &mut Plain<'_>) -> Result<Process, Fault> {
    let count = plain.small::<usize>()?.min(MAX_ARGUMENTS);
    Ok(Process {
        arguments: (0..count).map(|_| string(plain)).collect::<Result<_, _>>()?,
        pid: plain.varint()?,
        parent_pid: plain.varint()?,
        start: plain.varint()?.checked_sub(1).map(Timestamp),
        executable: string(plain)?,
        host: string(plain)?,
        container: string(plain)?,
        runtime: string(plain)?,
        runtime_version: string(plain)?,
        agent_version: string(plain)?,
        name: string_if_any(plain)?,
        title: string_if_any(plain)?,
    })
}

fn put_exit(exit: Exit, out: &mut Vec<u8>) {
    let (how, number) = match exit {
        Exit::Unknown => (0, 0),
        Exit::Status(status) => (1, status),
        Exit::Signal(signal) => (2, signal),
        Exit::Exec => (3, 0),
    };
    out.push(how);
    out.put_signed(number.into());
}

fn exit(plain: &mut Plain<'_>) -> Result<Exit, Fault> {
    let (how, number) = (plain.take(1)?[0], plain.signed()?);
    let number = i32::try_from(number).map_err(|_| Fault::Unexpected("an exit status"))?;
    Ok(match how {
        1 => Exit::Status(number),
        2 => Exit::Signal(number),
        3 => Exit::Exec,
        _ => Exit::Unknown,
    })
}
