//! Traces of a fleet that does not exist, of which all is known: what leaks, and what has changed from one version to the
//! next.
//!
//! Each run is drawn from its own seed, so the same fleet is made again wherever it is. Blocks are drawn as a sampler would
//! have hit them: of a callsite that allocates so many blocks an hour, those that are sampled are a Poisson process with
//! that rate times the probability of a hit.

use std::io::{self, Write};

use fastrand::Rng;
use lifetrace_trace::event::{Location, Source, TraceInfo};
use lifetrace_trace::fact::{Exit, Fact, Label, Process, SampledUnit, Sampler};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp,
};
use lifetrace_trace::lt::{NewBirth, Writer};

/// 2026-01-01.
const BEGIN_US: u64 = 1_767_225_600_000_000;
const DAY_US: u64 = 86_400_000_000;
const HOUR_US: f64 = 3.6e9;

/// Of which version runs of the first, and of the later half of the fleet are.
pub const VERSIONS: [&str; 2] = ["1.4", "1.5"];

/// The callsite that leaks since the later version, the one that always does, and the one that holds more in it.
pub const NEW_LEAK: &str = "Session.remember";
/// As [`NEW_LEAK`] says.
pub const OLD_LEAK: &str = "Audit.keep";
/// As [`NEW_LEAK`] says.
pub const REGRESSION: &str = "Json.parse";

/// These are the first ones of each service.
const PLANTED: usize = 3;

/// So much more the regression holds.
pub const FACTOR: f64 = 1.5;

/// A fleet.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// How many runs it has.
    pub runs: usize,
    /// About how many sampled blocks each has.
    pub samples: usize,
    /// How many callsites there are, in all services together; each has its own, and those that are planted.
    pub sites: usize,
    /// How many services.
    pub services: usize,
    /// Over how many days the runs begin.
    pub days: u64,
    /// How long each is.
    pub hours: f64,
    /// What random numbers begin with.
    pub seed: u64,
}

impl Default for Fleet {
    fn default() -> Self {
        Fleet { runs: 40, samples: 2_000, sites: 300, services: 2, days: 4, hours: 1.0, seed: 1 }
    }
}

/// What becomes of a callsite's blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// They die after so many microseconds on average.
    Dies(f64),
    /// They are born when the run begins, and stay.
    StartUp,
    /// They are born all the time, and stay.
    Leaks,
}

/// A callsite of one run.
#[derive(Clone, Copy, Debug)]
struct Place {
    number: usize,
    bytes: u64,
    fate: Fate,
    /// Sampled blocks that it has on average.
    samples: f64,
}

/// The mean distance between hits, in bytes.
const INTERVAL: f64 = 512.0 * 1024.0;

impl Fleet {
    /// The name of the file of a run.
    pub fn name(&self, run: usize) -> String {
        format!("run-{run:06}.lt")
    }

    /// Writes the trace of a run.
    ///
    /// # Errors
    /// The output's.
    pub fn write<W: Write>(&self, run: usize, output: W) -> io::Result<W> {
        let mut random = Rng::with_seed(self.seed.wrapping_mul(1_000_003).wrapping_add(run as u64));
        let (start, length) = (self.start(run), (self.hours * HOUR_US) as u64);
        let mut writer = Writer::new(output, &self.info(run, start))?;
        self.facts(run, start).iter().try_for_each(|fact| writer.fact(start, fact))?;
        let events = self.events(run, length, &mut random);
        let mut ids = vec![AllocationId(0); events.len()];
        for (time, event) in events {
            let time = Timestamp(start.0 + time);
            match event {
                Step::Born { index, place } => ids[index] = birth(&mut writer, time, &place)?,
                Step::Died { index } => writer.collection(time, ids[index])?,
            }
        }
        let end = Timestamp(start.0 + length);
        writer.fact(end, &Fact::Exit(Exit::Status(0)))?;
        writer.finish()
    }

    fn start(&self, run: usize) -> Timestamp {
        let day = run as u64 * self.days / self.runs.max(1) as u64;
        Timestamp(BEGIN_US + day * DAY_US + run as u64 * 1_000_000)
    }

    /// Which of the [`VERSIONS`] it is of.
    pub fn version(&self, run: usize) -> usize {
        usize::from(run * 2 >= self.runs)
    }

    fn service(&self, run: usize) -> usize {
        run % self.services.max(1)
    }

    fn info(&self, run: usize, start: Timestamp) -> TraceInfo {
        TraceInfo {
            sample_rate: 8.0 / INTERVAL,
            word_bits: 64,
            executable_name: "/srv/bin/server".into(),
            host_name: format!("host-{}", run % 50),
            runtime_params: String::new(),
            pid: 1_000 + run as u64,
            start_time: start,
            initial_domain: DomainId(0),
            context: None,
        }
    }

    fn facts(&self, run: usize, start: Timestamp) -> Vec<Fact> {
        let label =
            |key: &str, value: String| Fact::Label(Label { key: key.into(), value: value.into() });
        let process = Process {
            arguments: vec!["server".into(), format!("--shard={run}").into()],
            executable: "/srv/bin/server".into(),
            pid: 1_000 + run as u64,
            host: format!("host-{}", run % 50).into(),
            runtime: "native".into(),
            start: Some(start),
            name: "server".into(),
            ..Process::default()
        };
        let sampler = Sampler {
            id: SamplerId(0),
            name: "malloc".into(),
            unit: SampledUnit::Byte,
            rate: 1.0 / INTERVAL,
        };
        vec![
            Fact::Process(process),
            Fact::Sampler(sampler),
            label("service", format!("service-{}", self.service(run))),
            label("version", VERSIONS[self.version(run)].to_owned()),
        ]
    }

    /// Processes differ: each callsite of a run is a little more, or less, busy than usual.
    fn places(&self, run: usize, random: &mut Rng) -> Vec<Place> {
        let is_later = self.version(run) == 1;
        let length = self.hours * HOUR_US;
        let sites = self.sites / self.services.max(1);
        let weights: Vec<f64> = (0..sites).map(|at| 1.0 / (at as f64 + 10.0)).collect();
        let sum: f64 = weights.iter().sum();
        let mut places = Vec::with_capacity(sites);
        for (at, weight) in weights.iter().enumerate() {
            let mut samples = self.samples as f64 * weight / sum;
            samples *= (0.2 * normal(random)).exp();
            let number = if at < PLANTED { at } else { at + sites * self.service(run) };
            let bytes = 16 << (number * 7 % 11);
            let fate = match at {
                0 if is_later => Fate::Leaks,
                0 => Fate::Dies(length / 200.0),
                1 => Fate::Leaks,
                2 => Fate::Dies(length / 20.0 * if is_later { FACTOR } else { 1.0 }),
                _ => match at % 5 {
                    0 => Fate::Dies(length / 30.0),
                    1 => Fate::StartUp,
                    2 => Fate::Dies(1e6),
                    _ => Fate::Dies(1e4),
                },
            };
            places.push(Place { number, bytes, fate, samples });
        }
        places
    }

    fn events(&self, run: usize, length: u64, random: &mut Rng) -> Vec<(u64, Step)> {
        let (mut events, mut index) = (Vec::new(), 0);
        for place in self.places(run, random) {
            for _ in 0..poisson(place.samples, random) {
                let until = if place.fate == Fate::StartUp { length / 50 } else { length };
                let born = random.u64(0..until);
                events.push((born, Step::Born { index, place }));
                if let Fate::Dies(mean) = place.fate {
                    let died = born + (-mean * (1.0 - random.f64()).ln()) as u64;
                    if died < length {
                        events.push((died, Step::Died { index }));
                    }
                }
                index += 1;
            }
        }
        // A birth comes before a death of the same moment.
        events.sort_by_key(|(time, step)| (*time, matches!(step, Step::Died { .. })));
        events
    }

    /// What a callsite is called, by its number.
    pub fn function(number: usize) -> String {
        match number {
            0 => NEW_LEAK.to_owned(),
            1 => OLD_LEAK.to_owned(),
            2 => REGRESSION.to_owned(),
            _ => format!("Module_{}.function_{number}", number / 50),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Born { index: usize, place: Place },
    Died { index: usize },
}

fn birth<W: Write>(
    writer: &mut Writer<W>,
    time: Timestamp,
    place: &Place,
) -> io::Result<AllocationId> {
    const MAIN: u64 = 1;
    const LOOP: u64 = 2;
    const HANDLERS: u64 = 1_000;
    const SITES: u64 = 1_000_000;
    let backtrace = [
        LocationCode(MAIN),
        LocationCode(LOOP),
        LocationCode(HANDLERS + place.number as u64 % 97),
        LocationCode(SITES + place.number as u64),
    ];
    let new = NewBirth {
        size: Size::Bytes(Bytes(place.bytes)),
        samples: 1,
        source: Source::External,
        sampler: SamplerId(0),
        is_truncated: false,
        backtrace: &backtrace,
        common_prefix: 0,
        id: None,
    };
    writer.switch(ThreadId(place.number as u32 % 4), DomainId(0));
    writer.birth(time, &new, &mut |code| match code.0 {
        MAIN => located("main", "main.ml", 3),
        LOOP => located("Server.loop", "server.ml", 42),
        handler if handler < SITES => {
            located(&format!("Handler_{}.run", handler - HANDLERS), "handlers.ml", 7)
        }
        site => {
            let number = (site - SITES) as usize;
            let function = Fleet::function(number);
            let file = function.split('.').next().unwrap_or_default().to_lowercase() + ".ml";
            located(&function, &file, number as u32 % 900 + 1)
        }
    })
}

fn located(function: &str, file: &str, line: u32) -> Frame {
    Frame::from(vec![Location {
        filename: format!("/build/src/{file}").into(),
        line,
        start_char: 0,
        end_char: 0,
        defname: function.into(),
    }])
}

/// By Box and Muller (1958).
fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

/// By Knuth's product of uniform numbers, in steps that stay within what a number can hold.
fn poisson(mean: f64, random: &mut Rng) -> usize {
    const STEP: f64 = 500.0;
    let (mut left, mut product, mut count) = (mean, 1.0, 0);
    loop {
        product *= 1.0 - random.f64();
        while product < 1.0 && left > 0.0 {
            let step = left.min(STEP);
            product *= step.exp();
            left -= step;
        }
        if product <= 1.0 {
            return count;
        }
        count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_their_distributions() {
        let mut random = Rng::with_seed(7);
        for mean in [0.3, 40.0, 2_000.0] {
            let count = 20_000;
            let sum: usize = (0..count).map(|_| poisson(mean, &mut random)).sum();
            let error = (mean / count as f64).sqrt();
            assert!((sum as f64 / count as f64 - mean).abs() < 5.0 * error, "{mean}: {sum}");
        }
        let squares: f64 = (0..20_000).map(|_| normal(&mut random).powi(2)).sum();
        assert!((squares / 20_000.0 - 1.0).abs() < 5.0 * (2.0f64 / 20_000.0).sqrt());
    }

    #[test]
    fn a_run_is_the_same_whenever_it_is_made() {
        let fleet = Fleet { runs: 2, samples: 100, ..Fleet::default() };
        let [one, again] = [0, 0].map(|run| fleet.write(run, Vec::new()).unwrap());
        assert_eq!(one, again);
        assert_ne!(one, fleet.write(1, Vec::new()).unwrap());
        assert_eq!(Fleet::function(3), "Module_0.function_3");
    }
}
