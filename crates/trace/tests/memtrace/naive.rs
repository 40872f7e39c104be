//! A decoder that is as simple as possible, written from the format's description only.
//!
//! Slow, without a thought for memory, and without mercy: anything odd is a panic.

use std::collections::HashMap;

use lifetrace_trace::event::{Location, Source};
use lifetrace_trace::ids::{LocationCode, Timestamp};

use crate::support::Owned;

/// What a trace without damage says.
pub struct Trace {
    pub events: Vec<(Timestamp, Owned)>,
    pub locations: HashMap<u64, Vec<Location>>,
}

#[derive(Default)]
struct Domain {
    codes: HashMap<u16, u64>,
    predictions: HashMap<u16, u16>,
    backtrace: Vec<u64>,
    files: Vec<(String, Vec<String>)>,
}

struct Bytes<'a>(&'a [u8]);

pub fn decode(trace: &[u8]) -> Trace {
    let mut result = Trace { events: Vec::new(), locations: HashMap::new() };
    let mut domains: HashMap<u16, Domain> = HashMap::new();
    let mut rest = Bytes(trace);
    while !rest.0.is_empty() {
        let len = u32::from_le_bytes(rest.0[4..8].try_into().unwrap()) / 8;
        decode_packet(Bytes(rest.take(len as usize)), &mut domains, &mut result);
    }
    result
}

fn decode_packet(mut bytes: Bytes<'_>, domains: &mut HashMap<u16, Domain>, trace: &mut Trace) {
    assert_eq!(bytes.number(4), 0xc1fc_1fc1);
    bytes.number(4);
    let (begin, end) = (bytes.number(8), bytes.number(8));
    bytes.number(4);
    let version = bytes.number(2);
    bytes.number(8);
    let domain_id = if version == 3 { bytes.number(2) as u16 } else { 0 };
    let domain = domains.entry(domain_id).or_default();
    let (slot, prediction, code) = (bytes.number(2), bytes.number(2), bytes.number(8));
    if slot != 0xffff {
        let slot = slot as u16;
        assert_eq!(domain.predictions.get(&slot).copied().unwrap_or(0), prediction as u16);
        assert_eq!(domain.codes.get(&slot).copied().unwrap_or(0), code);
    }
    let (mut next_id, last_id) = (bytes.number(8), bytes.number(8));
    while !bytes.0.is_empty() {
        let head = bytes.number(4);
        let time = begin + head.wrapping_sub(begin) % (1 << 25);
        assert!(time <= end);
        let event = match head >> 25 {
            0 => {
                skip_info(&mut bytes, version);
                continue;
            }
            1 => {
                let (code, locations) = decode_locations(&mut bytes, domain);
                trace.locations.insert(code, locations);
                continue;
            }
            3 => Owned::Promotion((next_id as i64 - 1 - bytes.vint()) as u64),
            4 => Owned::Collection((next_id as i64 - 1 - bytes.vint()) as u64),
            kind => {
                next_id += 1;
                decode_allocation(&mut bytes, kind, domain, (next_id - 1, domain_id))
            }
        };
        trace.events.push((Timestamp(time), event));
    }
    assert_eq!(next_id, last_id);
}

fn skip_info(bytes: &mut Bytes<'_>, version: u64) {
    bytes.take(9);
    (0..3).for_each(|_| drop(bytes.string()));
    bytes.take(8);
    if version >= 2 {
        bytes.string();
    }
}

fn decode_locations(bytes: &mut Bytes<'_>, domain: &mut Domain) -> (u64, Vec<Location>) {
    let code = bytes.number(8);
    let count = bytes.number(1);
    let locations = (0..count).map(|_| {
        let bits = bytes.number(6);
        let file_code = (bits >> 38) as usize % 32;
        let defname_code = (bits >> 43) as usize % 32;
        let file = match file_code {
            31 => (bytes.string(), Vec::new()),
            known => domain.files.remove(known),
        };
        domain.files.insert(0, file);
        domain.files.truncate(31);
        let (filename, defnames) = &mut domain.files[0];
        let defname = match defname_code {
            31 => bytes.string(),
            known => defnames.remove(known),
        };
        defnames.insert(0, defname);
        defnames.truncate(31);
        Location {
            filename: filename.as_str().into(),
            line: (bits % (1 << 20)) as u32,
            start_char: (bits >> 20) as u32 % (1 << 8),
            end_char: (bits >> 28) as u32 % (1 << 10),
            defname: defnames[0].as_str().into(),
        }
    });
    (code, locations.collect())
}

fn decode_allocation(
    bytes: &mut Bytes<'_>,
    kind: u64,
    domain: &mut Domain,
    (id, domain_id): (u64, u16),
) -> Owned {
    let is_short = kind != 2;
    let length = if is_short { kind - 100 } else { bytes.vint() as u64 };
    let samples = if is_short { 1 } else { bytes.vint() as u64 };
    let sources = [Source::Minor, Source::Major, Source::External];
    let source = sources[if is_short { 0 } else { bytes.number(1) as usize }];
    let common = bytes.vint() as usize;
    let words = bytes.number(if is_short { 1 } else { 2 });
    let new = decode_words(bytes, domain, words);
    if common <= domain.backtrace.len() {
        domain.backtrace = [&domain.backtrace[..common], &new].concat();
    }
    let backtrace = domain.backtrace.iter().copied().map(LocationCode).collect();
    Owned::Allocation { id, length, samples, source, domain: domain_id, backtrace }
}

fn decode_words(bytes: &mut Bytes<'_>, domain: &mut Domain, words: u64) -> Vec<u64> {
    let mut frames = Vec::new();
    let mut previous = 0;
    for _ in 0..words {
        let word = bytes.number(2) as u16;
        let (slot, tag) = (word / 4, word % 4);
        domain.predictions.insert(previous, slot);
        previous = slot;
        if tag == 3 {
            domain.codes.insert(slot, bytes.number(8));
        }
        frames.push(domain.codes[&slot]);
        let predicted = [0, 1, 0, 0][usize::from(tag)];
        let predicted = if tag == 2 { bytes.number(1) } else { predicted };
        for _ in 0..predicted {
            previous = domain.predictions.get(&previous).copied().unwrap_or(0);
            frames.push(domain.codes[&previous]);
        }
    }
    frames
}

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken
    }

    fn number(&mut self, len: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(self.take(len));
        u64::from_le_bytes(bytes)
    }

    fn vint(&mut self) -> i64 {
        match self.number(1) {
            253 => self.number(2) as i64,
            254 => i64::from(self.number(4) as u32 as i32),
            255 => self.number(8) as i64,
            small => small as i64,
        }
    }

    fn string(&mut self) -> String {
        let len = self.0.iter().position(|&byte| byte == 0).unwrap();
        let string = String::from_utf8(self.take(len).to_vec()).unwrap();
        self.take(1);
        string
    }
}
