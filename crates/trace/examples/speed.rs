//! How fast traces are read and written: `cargo run --release --example speed -- TRACE...`
//!
//! Prints the best of several rounds over the file in memory, in millions of events per second on
//! one core, and in how many bytes a copy differs. Writing is timed alone, with
//! all events decoded before.

use std::error::Error;
use std::time::{Duration, Instant};

use lifetrace_trace::event::{Event, Location, Source, TraceInfo};
use lifetrace_trace::ids::{AllocationId, LocationCode, Timestamp, Words};
use lifetrace_trace::memtrace::{NewAllocation, Reader, Version, Writer};

const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        let recorded = Recorded::read(&bytes)?;
        let count = recorded.events.len() as f64;
        let rate = |time: Duration| count / time.as_secs_f64() / 1e6;
        let read = best(|| read(Reader::open(&bytes[..])?))?;
        let quick = best(|| read_without_backtraces(&bytes))?;
        let write = best(|| recorded.write().map(|_| ()))?;
        let copy = recorded.write()?;
        let differing = copy.iter().zip(&bytes).filter(|(new, old)| new != old).count();
        println!(
            "{path}: {count} events, {} bytes; M events/s: read {:.1}, without backtraces {:.1}, write {:.1}; \
             the copy has {} bytes, of which {differing} differ",
            bytes.len(),
            rate(read),
            rate(quick),
            rate(write),
            copy.len(),
        );
    }
    Ok(())
}

fn best(mut round: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        round()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

fn read(mut reader: Reader<&[u8]>) -> Result<(), Box<dyn Error>> {
    while let Some(event) = reader.next()? {
        std::hint::black_box(event);
    }
    Ok(())
}

fn read_without_backtraces(bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    read(Reader::open(bytes)?.without_backtraces())
}

/// A trace in memory. Backtraces are kept as prefix length and new frames, as a recorder has them.
struct Recorded {
    info: TraceInfo,
    version: Version,
    events: Vec<(Timestamp, Kept)>,
    frames: Vec<LocationCode>,
    locations: std::collections::HashMap<LocationCode, Vec<Location>>,
}

enum Kept {
    Allocation { length: Words, samples: u64, source: Source, common: usize, new: usize },
    Promotion(AllocationId),
    Collection(AllocationId),
}

impl Recorded {
    fn read(bytes: &[u8]) -> Result<Self, Box<dyn Error>> {
        let mut reader = Reader::open(bytes)?;
        let (mut events, mut frames) = (Vec::new(), Vec::new());
        while let Some((time, event)) = reader.next()? {
            let kept = match event {
                Event::Promotion(id) => Kept::Promotion(id),
                Event::Collection(id) => Kept::Collection(id),
                Event::Allocation(it) => {
                    let new = &it.backtrace[it.common_prefix..];
                    frames.extend_from_slice(new);
                    let (common, new) = (it.common_prefix, new.len());
                    let (length, samples, source) = (it.length, it.samples, it.source);
                    Kept::Allocation { length, samples, source, common, new }
                }
            };
            events.push((time, kept));
        }
        let locate = |code: &LocationCode| (*code, reader.locations(*code).to_vec());
        let locations = frames.iter().map(locate).collect();
        let (info, version) = (reader.info().clone(), reader.version());
        Ok(Self { info, version, events, frames, locations })
    }

    fn write(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut writer = Writer::new(Vec::new(), &self.info, self.version)?;
        let (mut backtrace, mut frames) = (Vec::new(), &self.frames[..]);
        for &(time, ref event) in &self.events {
            match *event {
                Kept::Promotion(id) => writer.promotion(time, id)?,
                Kept::Collection(id) => writer.collection(time, id)?,
                Kept::Allocation { length, samples, source, common, new } => {
                    let (suffix, rest) = frames.split_at(new);
                    frames = rest;
                    backtrace.truncate(common);
                    backtrace.extend_from_slice(suffix);
                    let (backtrace, common_prefix, id) = (&backtrace[..], common, None);
                    let new =
                        NewAllocation { length, samples, source, backtrace, common_prefix, id };
                    writer.allocation(time, &new, &mut |code| self.locations[&code].clone())?;
                }
            }
        }
        Ok(writer.finish()?)
    }
}
