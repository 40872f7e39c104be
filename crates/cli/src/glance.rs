//! What a finished `.lt` trace says without being read whole: its header, its index, the facts before
//! its first event, and those of its last segment if that is short.
//!
//! A long trace is told in the time of a short one: one of few events is read whole, of others no
//! more than [`MANY_FACTS`] are read at the start, and [`SHORT`] bytes at the end.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use lifetrace_analysis::Sampling;
use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::lt::{Index, Item, Listing, PacketKind, Reader, Summary, Version};

use crate::facts::Facts;
use crate::input::{Input, Kind};
use crate::open::{Format, Oddities};
use crate::report::{Counts, Coverage, Known, Told};

/// So many events are read in an instant.
const FEW: u64 = 20_000;

/// So many bytes as well: where they are densest, they are 35 000 events.
const SHORT: u64 = 24 << 10;

/// Most facts before the first event: a program without events tells of others for ever.
const MANY_FACTS: usize = 4096;

/// What a look at both ends of a trace gives.
pub struct Glance {
    path: PathBuf,
    file_bytes: u64,
    version: Version,
    info: TraceInfo,
    sampling: Sampling,
    index: Index,
    facts: Facts,
    coverage: Coverage,
}

/// What a look gives.
pub enum Look {
    Glance(Box<Glance>),
    /// It is to be read whole, since it has few events, is in another format, or no file.
    NotWorthwhile,
    /// It has no index that can be used.
    NoIndex,
}

impl Glance {
    /// Looks at a trace.
    ///
    /// # Errors
    /// If it cannot be opened or read, or its samples mean nothing. Damage is no error.
    pub fn at(path: &Path) -> anyhow::Result<Look> {
        let file_bytes = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            _ => return Ok(Look::NotWorthwhile),
        };
        if Input::open(path)?.kind != Kind::Lt {
            return Ok(Look::NotWorthwhile);
        }
        let unreadable = || format!("{}: cannot be read", path.display());
        let mut file = File::open(path).with_context(unreadable)?;
        let Some(index) = Index::read(&mut file).with_context(unreadable)? else {
            return Ok(Look::NoIndex);
        };
        if events(&index) <= FEW {
            return Ok(Look::NotWorthwhile);
        }
        let mut facts = Facts::default();
        let start = read_start(&mut file, &mut facts).with_context(unreadable)?;
        let Some(Start { header, info, version }) = start else { return Ok(Look::NotWorthwhile) };
        let coverage = match index.checkpoints.last() {
            Some(last) if file_bytes.saturating_sub(last.offset) <= SHORT => {
                read_end(&mut file, &header, last.offset, &mut facts).with_context(unreadable)?;
                Coverage::StartAndEnd
            }
            _ => Coverage::Start,
        };
        let sampling = Sampling::new(&info);
        let sampling =
            sampling.with_context(|| format!("{}: cannot be analysed", path.display()))?;
        let path = path.to_owned();
        let glance = Self { path, file_bytes, version, info, sampling, index, facts, coverage };
        Ok(Look::Glance(Box::new(glance)))
    }

    /// What is known of the trace.
    pub fn known(&self) -> Known<'_> {
        let Summary { allocations, samples, promotions, collections, duration, .. } =
            self.index.summary;
        Known {
            path: &self.path,
            file_bytes: Some(self.file_bytes),
            format: Format::lt(self.version),
            info: &self.info,
            sampling: self.sampling.clone(),
            duration: Duration::from_micros(duration),
            counts: Counts {
                samples: allocations,
                hits: samples,
                promotions,
                collections,
                unmatched: None,
            },
            oddities: Oddities::default(),
            is_complete: Some(true),
            index: Some(&self.index),
            facts: Some(Told::new(&self.facts, self.coverage)),
        }
    }
}

/// Facts included.
fn events(index: &Index) -> u64 {
    let Summary { allocations, promotions, collections, facts, .. } = index.summary;
    [allocations, promotions, collections, facts].into_iter().fold(0, u64::saturating_add)
}

/// How a trace begins.
struct Start {
    /// The packet.
    header: Vec<u8>,
    info: TraceInfo,
    version: Version,
}

/// Reads facts until the first event; nothing if the beginning is damaged.
fn read_start(file: &mut File, facts: &mut Facts) -> std::io::Result<Option<Start>> {
    file.rewind()?;
    let mut header = Vec::new();
    file.by_ref().take(SHORT).read_to_end(&mut header)?;
    match Listing::new(&header[..]).next() {
        Some(Ok(packet)) if packet.offset == 0 && packet.kind == PacketKind::Header => {
            header.truncate(packet.len as usize);
        }
        _ => return Ok(None),
    }
    file.rewind()?;
    let Ok(reader) = Reader::open(file) else { return Ok(None) };
    let mut reader = reader.without_backtraces();
    for _ in 0..MANY_FACTS {
        let Ok(Some((_, Item::Fact(fact)))) = reader.next() else { break };
        facts.take(fact);
    }
    let (info, version) = (reader.info().clone(), reader.version());
    Ok(Some(Start { header, info, version }))
}

/// Reads the facts of the segment that begins at an offset.
fn read_end(file: &mut File, header: &[u8], offset: u64, facts: &mut Facts) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    let Ok(reader) = Reader::open(header.chain(file)) else { return Ok(()) };
    let mut reader = reader.without_backtraces();
    while let Ok(Some((_, item))) = reader.next() {
        if let Item::Fact(fact) = item {
            facts.take(fact);
        }
    }
    Ok(())
}
