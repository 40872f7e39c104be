//! Every golden file, cut at every byte and with every single byte changed (of one with very many
//! events, and of one whose packets of events are those of a later minor version's, every 101st).
//!
//! Backtraces take most of the time to read, so they are read at some of the places only; the sample's
//! are read at all of them, by the tests of damage.

use std::path::Path;

use lifetrace_trace::event::Event;
use lifetrace_trace::lt::{Item, Listing, PacketKind, Reader, Version};

use crate::golden::version;
use crate::support::{fixtures_with, read_from};

/// Time, what happened, and to which block; of a fact, nothing more.
type Brief = (u64, char, u64);

struct Read {
    events: Vec<Brief>,
    is_whole: bool,
}

fn read(trace: &[u8]) -> Option<Read> {
    let mut reader = Reader::open(trace).ok()?.without_backtraces();
    let mut events = Vec::new();
    while let Some((time, item)) = reader.next().unwrap() {
        let (kind, id) = match item {
            Item::Fact(_) => ('f', 0),
            Item::Event(Event::Allocation(it)) => ('+', it.id.0),
            Item::Event(Event::Promotion(id)) => ('^', id.0),
            Item::Event(Event::Collection(id)) => ('-', id.0),
        };
        events.push((time.0, kind, id));
    }
    Some(Read { events, is_whole: reader.damages().is_empty() && reader.is_complete() })
}

/// The most events that lie between two checkpoints.
fn longest_part(trace: &[u8]) -> usize {
    let (mut longest, mut steps) = (0, 0);
    for packet in Listing::new(trace).map(Result::unwrap) {
        match packet.kind {
            PacketKind::Data(columns) => steps += columns.steps,
            _ => steps = 0,
        }
        longest = longest.max(steps);
    }
    longest as usize
}

/// Whether `some` are `all` but for one stretch.
fn lacks_one_stretch(some: &[Brief], all: &[Brief]) -> bool {
    let before = some.iter().zip(all).take_while(|(one, other)| one == other).count();
    let after = some.len() - before;
    some.len() <= all.len() && some[before..] == all[all.len() - after..]
}

/// Every byte; of a trace that takes long to read, or has a twin, some.
fn places(path: &Path, len: usize, events: usize) -> impl Iterator<Item = usize> {
    (0..len).step_by(if events > 20_000 || has_later_twin(path) { 101 } else { 1 })
}

/// Whether the trace is there in a later minor version, too.
fn has_later_twin(path: &Path) -> bool {
    let Some(Version { major, minor }) = version(path) else { return false };
    let this = format!("-v{major}.{minor}.lt");
    let name = path.to_str().unwrap().strip_suffix(&this).unwrap();
    Path::new(&format!("{name}-v{major}.{}.lt", minor + 1)).exists()
}

#[test]
fn a_changed_byte_costs_one_part_at_most() {
    std::thread::scope(|scope| {
        for path in fixtures_with("lt") {
            scope.spawn(move || change_each_byte(&path));
        }
    });
}

fn change_each_byte(path: &Path) {
    let name = path.display();
    let mut trace = std::fs::read(path).unwrap();
    let all = read(&trace).unwrap().events;
    let longest = longest_part(&trace);
    for at in places(path, trace.len(), all.len()) {
        trace[at] ^= 1 << (at % 8);
        let read = read(&trace).unwrap();
        let lost = all.len() - read.events.len().min(all.len());
        assert!(lost <= longest, "{name}: {lost} events lost by byte {at}");
        assert!(!read.is_whole, "{name}: nobody notices byte {at}");
        assert!(lacks_one_stretch(&read.events, &all), "{name}: wrong events by byte {at}");
        if at % 211 == 0 {
            read_from(&mut Reader::open(&trace[..]).unwrap());
        }
        trace[at] ^= 1 << (at % 8);
    }
}

#[test]
fn what_is_before_any_cut_is_read() {
    for path in fixtures_with("lt") {
        let trace = std::fs::read(&path).unwrap();
        let all = read(&trace).unwrap().events;
        let packets: Vec<_> = Listing::new(&trace[..]).map(Result::unwrap).collect();
        let mut least = 0;
        for len in places(&path, trace.len(), all.len()) {
            let Some(read) = read(&trace[..len]) else {
                assert!((len as u64) < packets[0].len, "{}: cut at {len}", path.display());
                continue;
            };
            let count = read.events.len();
            assert!(!read.is_whole && read.events == all[..count], "{} {len}", path.display());
            assert!(count >= least, "{}: less of more, cut at {len}", path.display());
            least = count;
            if len % 211 == 0 {
                read_from(&mut Reader::open(&trace[..len]).unwrap());
            }
        }
    }
}
