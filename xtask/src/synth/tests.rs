use std::collections::{HashMap, HashSet};

use lifetrace_trace::event::Event;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{AllocationId, LocationCode};
use lifetrace_trace::lt::{Item, Reader};

use super::*;

fn options(shape: Shape, events: u64, gc: bool) -> Options {
    let output = PathBuf::from("unused");
    Options { events, seed: 7, shape, threads: 4, gc, output, overwrite: false }
}

fn trace(options: &Options) -> Vec<u8> {
    Program::new(Vec::new(), options).unwrap().run().unwrap()
}

/// What is in a trace that was read from its start to its end.
#[derive(Default)]
struct Found {
    births: u64,
    promotions: u64,
    deaths: u64,
    counters: Vec<u64>,
    cycles: u64,
    living: HashSet<AllocationId>,
    backtraces: HashMap<Vec<LocationCode>, u64>,
    depths: u64,
    /// Frames that are not those of the backtrace before.
    new: u64,
}

fn read(bytes: &[u8]) -> Found {
    let mut found = Found::default();
    let mut reader = Reader::open(bytes).unwrap();
    while let Some((_, item)) = reader.next().unwrap() {
        match item {
            Item::Fact(Fact::Counters(counters)) => {
                found.counters.push(counters.resident.unwrap().0);
            }
            Item::Fact(Fact::Cycle(_)) => found.cycles += 1,
            Item::Fact(_) => {}
            Item::Event(Event::Allocation(birth)) => {
                found.births += 1;
                found.depths += birth.backtrace.len() as u64;
                found.new += (birth.backtrace.len() - birth.common_prefix) as u64;
                assert!(found.living.insert(birth.id));
                *found.backtraces.entry(birth.backtrace.to_vec()).or_default() += 1;
            }
            Item::Event(Event::Promotion(id)) => {
                found.promotions += 1;
                assert!(found.living.contains(&id));
            }
            Item::Event(Event::Collection(id)) => {
                found.deaths += 1;
                assert!(found.living.remove(&id));
            }
        }
    }
    assert_eq!(reader.damages().len(), 0);
    found
}

#[test]
fn a_trace_has_the_events_that_were_asked_for() {
    for shape in [Shape::Json, Shape::Server, Shape::Mixed] {
        for gc in [false, true] {
            let found = read(&trace(&options(shape, 20_000, gc)));
            assert_eq!(found.births + found.promotions + found.deaths, 20_000);
            assert_eq!(gc, found.promotions > 1_000);
            assert_eq!(gc, found.cycles > 100);
            assert!(found.counters.len() > 5, "{}", found.counters.len());
        }
    }
}

#[test]
fn the_seed_decides() {
    let same = options(Shape::Mixed, 5_000, false);
    let other = Options { seed: 8, ..options(Shape::Mixed, 5_000, false) };
    assert!(trace(&same) == trace(&same));
    assert!(trace(&same) != trace(&other));
}

#[test]
fn backtraces_have_their_shapes() {
    let shape = |shape| {
        let found = read(&trace(&options(shape, 60_000, false)));
        let depth = found.depths as f64 / found.births as f64;
        (depth, found.new as f64 / found.depths as f64, found.backtraces.len(), found.births)
    };
    let (depth, new, distinct, births) = shape(Shape::Json);
    assert!((400.0..1000.0).contains(&depth) && distinct as u64 > births / 4, "{depth} {distinct}");
    assert!((0.02..0.06).contains(&new), "{new}");
    let (depth, new, distinct, _) = shape(Shape::Server);
    assert!((15.0..31.0).contains(&depth) && distinct <= 300, "{depth} {distinct}");
    assert!((0.15..0.35).contains(&new), "{new}");
    let (depth, new, distinct, _) = shape(Shape::Mixed);
    assert!((12.0..61.0).contains(&depth) && distinct > 3_000, "{depth} {distinct}");
    assert!((0.2..0.4).contains(&new), "{new}");
}

#[test]
fn the_busiest_backtrace_has_its_share() {
    let found = read(&trace(&options(Shape::Server, 60_000, false)));
    let most = found.backtraces.values().max().unwrap();
    let share = *most as f64 / found.births as f64;
    // 1 / (1 + 1/2 + ... + 1/299)
    assert!((share - 0.159).abs() < 0.02, "{share}");
}

#[test]
fn what_waits_does_not_grow_with_the_trace() {
    let pending = |events| {
        let options = options(Shape::Server, events, false);
        let mut program = Program::new(std::io::sink(), &options).unwrap();
        program.work().unwrap();
        program.pending()
    };
    let (short, long) = (pending(600_000), pending(1_200_000));
    assert!(short < 60_000 && long < short * 3 / 2, "{short}, {long}");
}

#[test]
fn words_are_understood() {
    let parse = |line: &str| Options::parse(&line.split_whitespace().collect::<Vec<_>>());
    let options = parse("--events 10M --seed 5 --stacks json --gc --threads 3 -o x.lt").unwrap();
    assert_eq!((options.events, options.seed, options.threads), (10_000_000, 5, 3));
    assert!(options.gc && options.shape == Shape::Json && !options.overwrite);
    for line in [
        "--events 10M",
        "-o x.lt",
        "--events ten -o x.lt",
        "--events 99999999999G -o x.lt",
        "--events 1 -o x.lt --stacks tall",
        "--events 1 -o x.lt --threads 0",
        "--events 1 -o x.lt --fast",
        "--events",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn a_file_is_not_overwritten_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.lt");
    let name = path.to_str().unwrap();
    let words = ["--events", "100", "-o", name];
    run(&words).unwrap();
    assert!(run(&words).unwrap_err().to_string().contains("-f overwrites"));
    run(&[&words[..], &["-f"]].concat()).unwrap();
}
