//! What importers' tests have in common: whole files made into traces, and damaged ones.

use std::collections::BTreeMap;

use lifetrace_analysis::Profile;
use lifetrace_analysis::estimate::Tally;
use lifetrace_trace::AnyReader;
use lifetrace_trace::event::Location;
use lifetrace_trace::lt::Reader;
use lifetrace_trace::record::RecordKind;

use super::naming::{Nameless, Resolver, Spot};
use super::points::{Amount, Point};
use super::{Failure, Imported, import};

/// Names what lies in files whose paths end with `named`.
pub struct Namer;

impl Resolver for Namer {
    fn resolve(&mut self, spot: Spot<'_>) -> Result<Vec<Location>, Nameless> {
        let defname = format!("at_{:x}", spot.offset).into();
        let filename = "named.c".into();
        match spot.path.ends_with("named") {
            true => Ok(vec![Location { filename, line: 1, start_char: 0, end_char: 0, defname }]),
            false => Err(Nameless::NoFile),
        }
    }
}

/// The trace that becomes of a file, and what is said.
pub fn imported(file: &[u8]) -> (Vec<u8>, Result<Imported, String>) {
    let mut trace = Vec::new();
    let outcome = import(file, &mut trace, &mut Namer).map_err(|failure| match failure {
        Failure::Input(fault) => fault.to_string(),
        Failure::Output(error) => panic!("memory takes everything: {error}"),
    });
    (trace, outcome)
}

/// Of one that nothing is wrong with.
pub fn whole(file: &[u8]) -> (Vec<u8>, Imported) {
    let (trace, outcome) = imported(file);
    let imported = outcome.unwrap();
    assert!(imported.fault.is_none(), "{}", imported.fault.unwrap());
    (trace, imported)
}

/// What a reader finds, by backtraces: functions, outermost first, with `;` between them.
pub fn found(trace: &[u8]) -> BTreeMap<String, Point> {
    let mut reader = AnyReader::lt(Reader::open(trace).unwrap());
    let mut profile = Profile::new(Reader::open(trace).unwrap().info()).unwrap();
    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    while let Some(record) = reader.next().unwrap() {
        if let RecordKind::Birth(_) = record.kind {
            for code in reader.backtrace() {
                let frame = reader.frame(*code);
                let name = |it: &Location| it.defname.to_string();
                let functions: Vec<_> = frame.locations.iter().map(name).collect();
                names.insert(code.0, functions.join(";"));
            }
        }
        profile.take(&record, reader.backtrace());
    }
    profile.finish(reader.end_time());
    let mut found: BTreeMap<String, Point> = BTreeMap::new();
    for (node, balance) in profile.balances() {
        let mut path: Vec<_> = profile.tree().frames(node).collect();
        path.reverse();
        let path: Vec<_> = path.iter().map(|code| names[&code.0].as_str()).collect();
        let point = found.entry(path.join(";")).or_default();
        let amount = |tally: &Tally| {
            let amount = tally.amount();
            let [bytes, blocks] = [amount.bytes, amount.objects].map(|it| it.value.round() as u64);
            Amount { bytes, blocks }
        };
        point.total = amount(&balance.allocated);
        point.end = amount(&balance.live);
        point.peak = amount(&balance.peak);
    }
    found
}

/// All labels of a trace.
pub fn labels(trace: &[u8]) -> BTreeMap<String, String> {
    let mut reader = AnyReader::lt(Reader::open(trace).unwrap());
    let mut labels = BTreeMap::new();
    while let Some(record) = reader.next().unwrap() {
        if let RecordKind::Fact(fact) = record.kind
            && let lifetrace_trace::fact::Fact::Label(label) = *fact
        {
            labels.insert(label.key.to_string(), label.value.to_string());
        }
    }
    labels
}

/// Cut anywhere, and with any byte changed, a file is refused or gives a whole trace of what there is.
/// A cut is told, unless `is_silent` says of what is left that nobody can know.
pub fn survives_damage(file: &[u8], is_silent: impl Fn(&[u8]) -> bool) {
    for length in 0..file.len() {
        let cut = &file[..length];
        let outcome = checked(cut, length);
        let is_told = outcome.is_none_or(|imported| imported.fault.is_some());
        let end = String::from_utf8_lossy(&cut[length.saturating_sub(60)..]).into_owned();
        assert!(is_told || is_silent(cut), "cut at {length}: {end}");
    }
    for position in 0..file.len() {
        for mask in [0x01, 0x10, 0x80] {
            let mut damaged = file.to_vec();
            damaged[position] ^= mask;
            checked(&damaged, position);
        }
    }
}

fn checked(file: &[u8], position: usize) -> Option<Imported> {
    let (trace, outcome) = imported(file);
    let imported = outcome.ok()?;
    let mut reader = AnyReader::lt(Reader::open(&trace[..]).unwrap());
    let mut births = 0;
    while let Some(record) = reader.next().unwrap() {
        births += u64::from(matches!(record.kind, RecordKind::Birth(_)));
    }
    assert_eq!(births, imported.births, "damaged at {position}");
    Some(imported)
}
