//! What a replay tells, in the decoder's words.

use lifetrace_analysis::Names;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::{Death, Observer};
use lifetrace_study::Study;
use lifetrace_study::open::Trace;
use lifetrace_trace::event::Source;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{LocationCode, Timestamp};

use crate::decoded::{Backtrace, Event, Life, Line};

/// What is heard.
#[derive(Default)]
struct Ear {
    blocks: Vec<(Block, Option<String>)>,
    events: Vec<Event>,
    samplers: Vec<(u8, String)>,
    start: i64,
    has_threads: bool,
}

impl Ear {
    fn since_start(&self, time: Timestamp) -> i64 {
        time.0 as i64 - self.start
    }
}

impl Observer for Ear {
    fn born(&mut self, block: &Block) {
        assert_eq!(block.index, self.blocks.len() as u64);
        self.events.push(Event::Birth(self.blocks.len()));
        let named = self.samplers.iter().rev().find(|(id, _)| *id == block.sampler.0);
        self.blocks.push((*block, named.map(|(_, name)| name.clone())));
    }

    fn promoted(&mut self, block: &Block) {
        let time = self.since_start(block.promoted.unwrap());
        self.events.push(Event::Promotion(block.index as usize, time));
    }

    fn died(&mut self, block: &Block, death: Death) {
        let thread = self.has_threads.then_some(death.thread.0.into());
        let time = self.since_start(death.time);
        self.events.push(Event::Death(block.index as usize, time, thread));
    }

    fn fact(&mut self, _time: Timestamp, fact: &Fact) {
        if let Fact::Sampler(sampler) = fact {
            self.samplers.push((sampler.id.0, sampler.name.to_string()));
        }
    }
}

/// All lives of a trace, and what happened.
pub fn heard(study: &Study) -> (Vec<Life>, Vec<Event>) {
    let trace = &study.reading.trace;
    let start = trace.info().start_time.0 as i64;
    let mut ear = Ear { start, has_threads: trace.has_facts(), ..Ear::default() };
    study.replay(&mut ear).unwrap();
    let backtraces = backtraces(study);
    let life = |(block, sampler): &(Block, Option<String>)| Life {
        birth: ear.since_start(block.born),
        backtrace: backtraces[block.backtrace.index()],
        bytes: block.bytes as f64,
        weight: block.weight.value(),
        source: source(block, sampler.as_deref()).to_owned(),
        sampler: sampler.clone(),
        growth: block.is_growth,
        thread: ear.has_threads.then_some(block.thread.0.into()),
    };
    (ear.blocks.iter().map(life).collect(), ear.events.clone())
}

fn source(block: &Block, sampler: Option<&str>) -> &'static str {
    match (block.source, sampler) {
        (Source::Minor, _) => "minor",
        (Source::Major, _) => "major",
        (Source::External, None | Some("malloc")) => "native",
        (Source::External, _) => "external",
    }
}

/// By number of the node.
fn backtraces(study: &Study) -> Vec<Backtrace> {
    let mut backtraces = vec![Backtrace::default()];
    for (_, parent, code) in study.reading.profile.tree().nodes() {
        backtraces.push(backtraces[parent.index()].with(&lines(&study.reading.trace, code)));
    }
    backtraces
}

fn lines(trace: &Trace, code: LocationCode) -> Vec<Line> {
    let locations = trace.locations(code);
    if locations.is_empty() {
        return vec![Line::Unknown(code.0)];
    }
    let known = |(depth, it): (usize, &lifetrace_trace::event::Location)| Line::Known {
        function: it.defname.to_string(),
        file: it.filename.to_string(),
        line: it.line,
        columns: if it.end_char > 0 { [it.start_char, it.end_char] } else { [0, 0] },
        inlined: depth > 0,
    };
    locations.iter().enumerate().map(known).collect()
}
