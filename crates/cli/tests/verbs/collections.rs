//! Views of a generational program, from a trace of everything that was made by a fixed rule.

use lifetrace_trace::event::{Location, Source, TraceInfo};
use lifetrace_trace::fact::{Counters, Cycle, Fact, Generation};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, Timestamp, Words,
};
use lifetrace_trace::lt::{NewBirth, Writer};

use crate::*;

const START: u64 = 1_786_965_711_174_340;
/// A minor collection comes after so many births, a major one after so many minor ones.
const YOUNG: u64 = 100;
const MINORS: u64 = 10;
const MINOR_HEAP_WORDS: u64 = 1000;

/// A program that allocates blocks of nine words and their header. Of each ten blocks one lives for
/// two more minor collections, and one of a hundred for ever; a large one is born old in between.
struct Program {
    writer: Writer<Vec<u8>>,
    time: u64,
    births: u64,
    minors: u64,
    majors: u64,
    young: Vec<u64>,
    /// Numbers, and the minor collection before which they are garbage.
    old: Vec<(u64, u64)>,
}

impl Program {
    fn run(parameters: &str, births: u64) -> Vec<u8> {
        let info = TraceInfo {
            sample_rate: 1.0,
            word_bits: 64,
            executable_name: "/bin/generations".into(),
            host_name: "machine".into(),
            runtime_params: parameters.into(),
            pid: 7,
            start_time: Timestamp(START),
            initial_domain: DomainId(0),
            context: None,
        };
        let writer = Writer::new(Vec::new(), &info).unwrap();
        let (young, old) = (Vec::new(), Vec::new());
        let mut program = Self { writer, time: START, births: 0, minors: 0, majors: 0, young, old };
        while program.births < births {
            program.step();
        }
        program.writer.finish().unwrap()
    }

    fn now(&mut self) -> Timestamp {
        self.time += 10;
        Timestamp(self.time)
    }

    fn step(&mut self) {
        let number = self.births;
        let is_large = number % 500 == 499;
        let (source, words, place) = match (is_large, number % 10) {
            (true, _) => (Source::Major, 500, 3),
            (false, 0) => (Source::Minor, 9, 2),
            (false, _) => (Source::Minor, 9, 1),
        };
        let birth = NewBirth {
            size: Size::Words(Words(words)),
            samples: words + 1,
            source,
            sampler: SamplerId(0),
            is_truncated: false,
            backtrace: &[LocationCode(4), LocationCode(place)],
            common_prefix: 0,
            id: None,
        };
        let time = self.now();
        self.writer.birth(time, &birth, &mut frame).unwrap();
        self.births += 1;
        match source {
            Source::Major => self.old.push((number, self.minors + 15)),
            _ => self.young.push(number),
        }
        if self.births.is_multiple_of(YOUNG) {
            self.minor();
        }
    }

    fn cycle(&mut self, generation: Generation, number: u64, begins: bool) {
        let (time, cycle) = (self.now(), Cycle { generation, number, begins });
        self.writer.fact(time, &Fact::Cycle(cycle)).unwrap();
    }

    fn minor(&mut self) {
        self.minors += 1;
        self.cycle(Generation::Minor, self.minors, true);
        for number in std::mem::take(&mut self.young) {
            let time = self.now();
            let life = if number % 100 == 0 { u64::MAX } else { self.minors + 2 };
            if number % 10 == 0 {
                self.writer.promotion(time, AllocationId(number)).unwrap();
                self.old.push((number, life));
            } else {
                self.writer.collection(time, AllocationId(number)).unwrap();
            }
        }
        self.cycle(Generation::Minor, self.minors, false);
        if self.minors.is_multiple_of(MINORS) {
            self.major();
        }
    }

    fn major(&mut self) {
        self.majors += 1;
        self.cycle(Generation::Major, self.majors, true);
        let counters =
            Counters { resident: Some(Bytes(8 * self.time % 9999)), ..Counters::default() };
        let time = self.now();
        self.writer.fact(time, &Fact::Counters(counters)).unwrap();
        let minors = self.minors;
        let (dead, old) = self.old.iter().partition(|(_, life)| *life < minors);
        self.old = old;
        let dead: Vec<(u64, u64)> = dead;
        for (number, _) in dead {
            let time = self.now();
            self.writer.collection(time, AllocationId(number)).unwrap();
        }
        self.cycle(Generation::Major, self.majors, false);
    }
}

fn frame(code: LocationCode) -> Frame {
    let names = ["", "Parser.token", "Tree.add", "Buffer.grow", "Main.run"];
    let location = Location {
        filename: "main.ml".into(),
        line: code.0 as u32,
        start_char: 0,
        end_char: 0,
        defname: names[code.0 as usize].into(),
    };
    Frame { locations: vec![location], ..Frame::default() }
}

fn scratch(parameters: &str) -> Scratch {
    Scratch::new(&Program::run(parameters, 20_000))
}

fn view(scratch: &Scratch, options: &[&str]) -> Value {
    json(&[&["report", argument(&scratch.path()), "--json", "--view"], options].concat())
}

#[test]
fn collections_are_told() {
    let scratch = scratch("s=1000");
    let page = stdout(&["report", argument(&scratch.path()), "--view", "gc"]);
    check_golden("view-gc.txt", &page);
    let found = view(&scratch, &["gc"]);
    let [minor, major] = [0, 1].map(|at| &found["collections"][at]);
    assert_eq!((&minor["generation"], &minor["count"]), (&"minor".into(), &200.into()));
    assert_eq!((&major["generation"], &major["count"]), (&"major".into(), &20.into()));
    assert_eq!(minor["last_number"], 200);
    let parts: u64 =
        minor["over_time"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(parts, 200);
    assert_eq!(found["allocated_old"]["samples"], 40);
    assert_eq!(found["promoted"]["samples"], 2000);
    assert_eq!(found["live_young"]["samples"], 0);
}

#[test]
fn survivals_are_those_of_the_rule() {
    let found = view(&scratch("s=1000"), &["gc"]);
    let site = |name: &str| {
        let sites = found["callsites"].as_array().unwrap();
        sites.iter().find(|site| site["function"] == name).unwrap().clone()
    };
    let short = site("Parser.token");
    assert_eq!(short["survived_minor_most"], 0);
    assert_eq!(short["live_old"]["samples"], 0);
    let long = site("Tree.add");
    assert_eq!(long["promoted"]["samples"], 2000);
    assert_eq!(
        (&long["survived_minor_most"], &long["survived_major_most"]),
        (&200.into(), &20.into())
    );
    // A large block is garbage after fifteen minor collections. It is born before the fifth or the tenth
    // after a major one; so the second or the third one finds it dead, in the sixteenth or the
    // twenty-first minor one's turn.
    let large = site("Buffer.grow");
    assert_eq!(
        (&large["survived_minor_most"], &large["survived_major_most"]),
        (&21.into(), &2.into())
    );
}

#[test]
fn a_larger_young_heap_is_forecast_whoever_tells_its_size() {
    let told = view(&scratch("v=0,s=1000"), &["promotion"]);
    assert_eq!(told["young_heap_words"], MINOR_HEAP_WORDS);
    assert_eq!(told["young_heap_bytes"], 8 * MINOR_HEAP_WORDS);
    let share = told["promoted_share"].as_f64().unwrap();
    assert!((share - 2000.0 / 19_960.0).abs() < 1e-9, "{share}");
    let untold = view(&scratch(""), &["promotion"]);
    assert!(untold["young_heap_words"].is_null());
    let measured = untold["young_heap_bytes"].as_f64().unwrap();
    assert!((measured / 8000.0 - 1.0).abs() < 0.05, "{measured}");
    for found in [&told, &untold] {
        let times: Vec<_> =
            found["larger"].as_array().unwrap().iter().map(|it| &it["times"]).collect();
        assert_eq!(times, [2, 4, 8]);
    }
}
