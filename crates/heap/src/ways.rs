//! By which ways roots hold the sampled blocks of a snapshot, for reports of the trace that the samples are in.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use lifetrace_report::Ways;
use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::heap::Heap;
use lifetrace_snapshot::lth;
use lifetrace_snapshot::paths::Shortest;
use lifetrace_trace::lth::{Header, Reader};

use crate::guess::{Guess, guess};
use crate::holding::says_little;
use crate::steps::{is_stack, slot};

/// The newest snapshot that lies beside a trace and was taken of its process, within its time (nanoseconds since the
/// Unix epoch).
pub fn newest_beside(trace: &Path, pid: u64, from: u64, to: u64) -> Option<PathBuf> {
    let name = trace.file_name()?.to_str()?;
    let folder = trace.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
    let is_its = |header: &Header| {
        header.trace.as_deref() == Some(name)
            && header.pid == pid
            && (from..=to).contains(&header.time)
    };
    let paths = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let snapshots = paths.filter(|path| path.extension().is_some_and(|it| it == "lth"));
    let headers = snapshots.filter_map(|path| Some((header(&path)?, path)));
    let newest = headers
        .filter(|(header, _)| is_its(header))
        .max_by_key(|(header, _)| (header.time, header.number));
    newest.map(|(_, path)| path)
}

fn header(path: &Path) -> Option<Header> {
    // Nobody is waited for, as opening a pipe might.
    path.metadata().ok().filter(|it| it.is_file())?;
    let file = File::open(path).ok()?;
    Reader::open(file).ok().map(|reader| reader.header().clone())
}

/// The ways of a snapshot's samples that roots hold.
///
/// # Errors
/// If it cannot be read.
pub fn ways(path: &Path) -> anyhow::Result<Ways> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let snapshot = lth::read(&file).with_context(|| path.display().to_string())?;
    let heap = &snapshot.heap;
    let shortest = Shortest::of(&heap.graph, says_little(heap));
    let held = snapshot.samples.iter().filter_map(|(sample, id)| {
        let way = shortest.path((*id)?);
        (!way.is_empty()).then(|| (sample.id, steps(heap, &way).into()))
    });
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Ways { snapshot: name, by_birth: held.collect() })
}

/// The root and what comes after it, without the block at the end; what comes several times in a row is told once.
fn steps(heap: &Heap, way: &[BlockId]) -> Vec<String> {
    let names =
        way.iter().enumerate().map(|(at, &id)| match (heap.graph.is_root(id), way.get(at + 1)) {
            (true, Some(&to)) => root(heap, id, to),
            _ => name(heap, id),
        });
    let mut steps: Vec<String> = names.take(way.len() - 1).collect();
    steps.dedup();
    steps
}

/// A variable by its own name, other roots by what they are.
fn root(heap: &Heap, id: BlockId, to: BlockId) -> String {
    let (category, slot) = (heap.name(id), slot(heap, id, to));
    match category {
        "globals" if !slot.is_empty() && !slot.starts_with("0x") => slot,
        _ if slot.is_empty() || slot.starts_with("0x") => category.to_owned(),
        _ if is_stack(category) => format!("{category}, {slot}"),
        _ => format!("{category} ({slot})"),
    }
}

fn name(heap: &Heap, id: BlockId) -> String {
    guess(heap, id).map_or_else(|| heap.name(id).to_owned(), Guess::one)
}
