//! Sizes and speeds of our own format beside Memtrace's:
//! `cargo run --release --example lt -- TRACE.ctf...`
//!
//! Each trace is converted in memory. Prints, as comma-separated values with a line of names, sizes in
//! bytes and the best of several rounds in processor time of this thread. Writing is timed alone,
//! with all events decoded before; a *life* is a birth with all that follows it.
//!
//! `--once write` (or `read`, `skip`, `memtrace-write`) does one of these once, for counting
//! instructions.

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use lifetrace_trace::AnyReader;
use lifetrace_trace::event::{Event, Source, TraceInfo};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, LocationCode, SamplerId, Size, Timestamp, Words};
use lifetrace_trace::lt::{self, ColumnSizes, Listing, NewBirth, PacketKind};
use lifetrace_trace::memtrace;
use lifetrace_trace::transfer::{self, AnyWriter, Format};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 7;

const COLUMNS: &str = "trace,lives,events,memtrace_bytes,lt_bytes,percent,bytes_per_life,\
     event_bytes,backtrace_bytes,frame_bytes,other_bytes,checkpoints,\
     write_us_per_life,read_mevents_per_s,skip_mevents_per_s";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|argument| argument == "--once") {
        let what: Vec<String> = arguments.drain(..2).collect();
        return arguments.iter().try_for_each(|path| once(&what[1], path));
    }
    println!("{COLUMNS}");
    arguments.iter().try_for_each(|path| measure(path))
}

fn measure(path: &str) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let recorded = Recorded::read(&bytes)?;
    let trace = recorded.write()?;
    let back = memtrace_of(&trace)?;
    assert_eq!(back, recorded.write_memtrace()?, "{path}: the way back gives other bytes");
    let write = best(|| recorded.write().map(|_| ()))?;
    let read = best(|| read(&trace, true))?;
    let skip = best(|| read_all(lt::Reader::open(&trace[..])?.without_backtraces()))?;
    let lives = recorded.lives() as f64;
    let rate = |time: Duration| recorded.events.len() as f64 / time.as_secs_f64() / 1e6;
    let (columns, checkpoints) = columns(&trace)?;
    let in_columns = columns.events + columns.backtraces + columns.frames + columns.facts;
    println!(
        "{},{lives},{},{},{},{:.1},{:.2},{},{},{},{},{checkpoints},{:.2},{:.2},{:.1}",
        path.rsplit('/').next().unwrap_or(path),
        recorded.events.len(),
        bytes.len(),
        trace.len(),
        100.0 * trace.len() as f64 / bytes.len() as f64,
        trace.len() as f64 / lives,
        columns.events,
        columns.backtraces,
        columns.frames,
        trace.len() as u64 - in_columns,
        write.as_secs_f64() * 1e6 / lives,
        rate(read),
        rate(skip),
    );
    Ok(())
}

fn once(what: &str, path: &str) -> Result<(), Box<dyn Error>> {
    let recorded = Recorded::read(&std::fs::read(path)?)?;
    match what {
        "write" => drop(black_box(recorded.write()?)),
        "memtrace-write" => drop(black_box(recorded.write_memtrace()?)),
        "read" => read(&recorded.write()?, true)?,
        "skip" => read(&recorded.write()?, false)?,
        _ => {}
    }
    println!("{}", recorded.events.len());
    Ok(())
}

fn best(mut round: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = processor_time();
        round()?;
        best = best.min(processor_time() - start);
    }
    Ok(best)
}

/// Of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn read(trace: &[u8], with_backtraces: bool) -> Result<(), Box<dyn Error>> {
    let reader = lt::Reader::open(trace)?;
    read_all(if with_backtraces { reader } else { reader.without_backtraces() })
}

fn read_all(mut reader: lt::Reader<&[u8]>) -> Result<(), Box<dyn Error>> {
    while let Some(item) = reader.next()? {
        black_box(item);
    }
    Ok(())
}

fn columns(trace: &[u8]) -> Result<(ColumnSizes, u64), Box<dyn Error>> {
    let (mut sum, mut checkpoints) = (ColumnSizes::default(), 0);
    for packet in Listing::new(trace) {
        match packet?.kind {
            PacketKind::Data(sizes) => {
                sum.events += sizes.events;
                sum.backtraces += sizes.backtraces;
                sum.frames += sizes.frames;
                sum.facts += sizes.facts;
            }
            PacketKind::Checkpoint => checkpoints += 1,
            _ => {}
        }
    }
    Ok((sum, checkpoints))
}

fn memtrace_of(trace: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut reader = AnyReader::lt(lt::Reader::open(trace)?);
    let format = Format::Memtrace(memtrace::Version::V3);
    let mut writer = AnyWriter::new(Vec::new(), reader.info(), format)?;
    transfer::copy(&mut reader, &mut writer)?;
    Ok(writer.finish()?)
}

/// A trace in memory. Backtraces are kept as prefix length and new frames, as a recorder has them.
struct Recorded {
    info: TraceInfo,
    events: Vec<(Timestamp, Kept)>,
    frames: Vec<LocationCode>,
    places: HashMap<LocationCode, Frame>,
}

enum Kept {
    Birth {
        id: AllocationId,
        length: Words,
        samples: u64,
        source: Source,
        common: usize,
        new: usize,
    },
    Promotion(AllocationId),
    Collection(AllocationId),
}

impl Recorded {
    fn read(bytes: &[u8]) -> Result<Self, Box<dyn Error>> {
        let mut reader = memtrace::Reader::open(bytes)?;
        let (mut events, mut frames) = (Vec::new(), Vec::new());
        while let Some((time, event)) = reader.next()? {
            let kept = match event {
                Event::Promotion(id) => Kept::Promotion(id),
                Event::Collection(id) => Kept::Collection(id),
                Event::Allocation(it) => {
                    let new = &it.backtrace[it.common_prefix..];
                    frames.extend_from_slice(new);
                    let (common, new) = (it.common_prefix, new.len());
                    let (id, length, samples, source) = (it.id, it.length, it.samples, it.source);
                    Kept::Birth { id, length, samples, source, common, new }
                }
            };
            events.push((time, kept));
        }
        let place = |code: &LocationCode| (*code, Frame::from(reader.locations(*code).to_vec()));
        let places = frames.iter().map(place).collect();
        Ok(Self { info: reader.info().clone(), events, frames, places })
    }

    fn lives(&self) -> usize {
        self.events.iter().filter(|(_, event)| matches!(event, Kept::Birth { .. })).count()
    }

    fn write(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut writer = lt::Writer::new(Vec::new(), &self.info)?;
        let (mut stack, mut frames) = (Vec::new(), &self.frames[..]);
        for &(time, ref event) in &self.events {
            match *event {
                Kept::Promotion(id) => writer.promotion(time, id)?,
                Kept::Collection(id) => writer.collection(time, id)?,
                Kept::Birth { id, length, samples, source, common, new } => {
                    push(&mut stack, &mut frames, common, new);
                    let birth = NewBirth {
                        size: Size::Words(length),
                        samples,
                        source,
                        sampler: SamplerId(0),
                        is_truncated: false,
                        backtrace: &stack,
                        common_prefix: common,
                        id: Some(id),
                    };
                    writer.birth(time, &birth, &mut |code| self.places[&code].clone())?;
                }
            }
        }
        Ok(writer.finish()?)
    }

    fn write_memtrace(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        let version = memtrace::Version::V3;
        let mut writer = memtrace::Writer::new(Vec::new(), &self.info, version)?;
        let (mut stack, mut frames) = (Vec::new(), &self.frames[..]);
        for &(time, ref event) in &self.events {
            match *event {
                Kept::Promotion(id) => writer.promotion(time, id)?,
                Kept::Collection(id) => writer.collection(time, id)?,
                Kept::Birth { id, length, samples, source, common, new } => {
                    push(&mut stack, &mut frames, common, new);
                    let (backtrace, common_prefix, id) = (&stack[..], common, Some(id));
                    let block = memtrace::NewAllocation {
                        length,
                        samples,
                        source,
                        backtrace,
                        common_prefix,
                        id,
                    };
                    let locate = &mut |code| self.places[&code].locations.clone();
                    writer.allocation(time, &block, locate)?;
                }
            }
        }
        Ok(writer.finish()?)
    }
}

fn push(stack: &mut Vec<LocationCode>, frames: &mut &[LocationCode], common: usize, new: usize) {
    let (suffix, rest) = frames.split_at(new);
    *frames = rest;
    stack.truncate(common);
    stack.extend_from_slice(suffix);
}
