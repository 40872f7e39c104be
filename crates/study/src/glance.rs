//! What a finished `.lt` trace says without being read: its header and its index.
//!
//! A long trace is told in the time of a short one. One of few events is read whole, and one whose
//! version or writer did not gather in the index what is so of all of it.

use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};

use anyhow::Context;
use lifetrace_analysis::Sampling;
use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::lt::{Closing, Index, Listing, PacketKind, Reader, Summary, Version};

use crate::facts::Facts;
use crate::input::{Input, Kind};
use crate::open::Format;

/// So many events are read in an instant.
const FEW: u64 = 20_000;

/// What a look at a trace gives.
pub struct Glance {
    /// As messages call the trace.
    pub path: PathBuf,
    /// Its length.
    pub file_bytes: u64,
    /// Its format.
    pub format: Format,
    /// What it says about itself.
    pub info: TraceInfo,
    /// How it was sampled.
    pub sampling: Sampling,
    /// What is in it.
    pub index: Index,
    /// Those facts that the index tells again.
    pub facts: Facts,
}

/// What a look gives.
pub enum Look {
    /// All that `info` shows.
    Glance(Box<Glance>),
    /// It is to be read whole, since it has few events, says too little in its index, is in another
    /// format, or no file.
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
        let Some(closing) = index.closing.as_ref().filter(|_| events(&index) > FEW) else {
            return Ok(Look::NotWorthwhile);
        };
        let facts = facts_of(closing);
        let header = read_header(&mut file).with_context(unreadable)?;
        let Some((info, version)) = header else { return Ok(Look::NotWorthwhile) };
        let sampling = Sampling::new(&info);
        let sampling =
            sampling.with_context(|| format!("{}: cannot be analysed", path.display()))?;
        let path = path.to_owned();
        let format = Format::lt(version);
        let glance = Self { path, file_bytes, format, info, sampling, index, facts };
        Ok(Look::Glance(Box::new(glance)))
    }
}

/// Facts included.
fn events(index: &Index) -> u64 {
    let Summary { allocations, promotions, collections, facts, .. } = index.summary;
    [allocations, promotions, collections, facts].into_iter().fold(0, u64::saturating_add)
}

fn facts_of(closing: &Closing) -> Facts {
    let mut facts = Facts::default();
    closing.facts.iter().for_each(|fact| facts.take(fact.clone()));
    facts.peak_resident = closing.peak_resident;
    facts.truncated_backtraces = closing.truncated_backtraces;
    facts
}

/// Nothing if the trace's beginning is damaged.
fn read_header(file: &mut File) -> std::io::Result<Option<(TraceInfo, Version)>> {
    file.rewind()?;
    match Listing::new(&mut *file).next() {
        Some(Ok(packet)) if packet.offset == 0 && packet.kind == PacketKind::Header => {}
        _ => return Ok(None),
    }
    file.rewind()?;
    Ok(Reader::open(file).ok().map(|reader| (reader.info().clone(), reader.version())))
}
