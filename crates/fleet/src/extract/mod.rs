//! One trace of many runs, for all that reads traces: the viewer, reports, pprof, flame graphs.
//!
//! All runs begin at its start, so its time is the age of a process, and its sums are those of all runs together. What lives at
//! a run's end lives at its end. When a block was promoted is not in a dataset, so that is not told.

mod samplers;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use lifetrace_human::counted;
use lifetrace_trace::event::{Source as Heap, TraceInfo};
use lifetrace_trace::fact::{Fact, Label, Process};
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, Size, ThreadId, Timestamp,
};
use lifetrace_trace::lt::{NewBirth, Writer};

use crate::answers::Selection;
use crate::answers::rows::{Row, each, widened};
use crate::engine::Engine;
use crate::stacks::Stacks;
use samplers::Samplers;

/// What has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// Of so many runs.
    pub runs: u64,
    /// So many samples.
    pub samples: u64,
}

/// Writes a trace of these runs, which have not more than so many samples.
///
/// # Errors
/// If there is no such run, or there are too many samples; the engine's, and the output's.
pub async fn write<W: Write>(
    engine: &Engine,
    of: &Selection,
    most: u64,
    output: W,
) -> Result<Extracted> {
    let about = About::of(engine, of).await?;
    ensure!(about.runs > 0, "there is no run of which '{of}' is true");
    ensure!(
        about.samples <= most,
        "{} of which '{of}' is true: more than {most} (--most); choose fewer by --where",
        counted(about.samples, "sample is of runs", "samples are of runs")
    );
    let samplers = Samplers::of(engine, of).await?;
    let stacks = Stacks::of(engine, of).await?;
    let samples = samples(engine, of).await?;
    let mut sketch =
        Sketch { writer: about.begin(output)?, samplers, stacks, dying: BinaryHeap::new() };
    samples.iter().try_for_each(|sample| sketch.take(sample))?;
    sketch.die_until(u64::MAX)?;
    sketch.writer.flush(at(about.longest))?;
    sketch.writer.finish()?;
    Ok(Extracted { runs: about.runs, samples: samples.len() as u64 })
}

/// In bytes.
const WORD: f64 = 8.0;

/// When runs begin.
const START: Timestamp = Timestamp(0);

fn at(micros: u64) -> Timestamp {
    Timestamp(START.0.saturating_add(micros))
}

/// What all these runs have in common.
struct About {
    of: String,
    runs: u64,
    samples: u64,
    /// How long the longest is, in microseconds.
    longest: u64,
    executable: String,
    runtime: String,
    /// Between two hits of the run that was sampled most densely, on average; 0 if all was recorded.
    interval_bytes: f64,
    services: [Option<String>; 2],
}

impl About {
    async fn of(engine: &Engine, of: &Selection) -> Result<About> {
        let query = format!(
            "SELECT count(*) AS runs, coalesce(sum(samples), 0) AS samples,
                coalesce(max(duration_us), 0) AS longest, min(executable) AS executable,
                min(runtime) AS runtime, coalesce(min(interval_bytes), 0.0) AS interval_bytes,
                min(service) AS first, max(service) AS last
            FROM runs WHERE {}",
            of.sql()
        );
        let batches = widened(engine.ask(&query).await?)?;
        let row = each(&batches).next().context("the engine has counted nothing")?;
        Ok(About {
            of: of.to_string(),
            runs: row.whole("runs")? as u64,
            samples: row.whole("samples")? as u64,
            longest: row.whole("longest")? as u64,
            executable: row.text("executable")?.unwrap_or_default(),
            runtime: row.text("runtime")?.unwrap_or_default(),
            interval_bytes: row.number("interval_bytes")?,
            services: [row.text("first")?, row.text("last")?],
        })
    }

    fn begin<W: Write>(&self, output: W) -> Result<Writer<W>> {
        let info = TraceInfo {
            // Each source says its own beside that.
            sample_rate: if self.interval_bytes > WORD { WORD / self.interval_bytes } else { 1.0 },
            word_bits: 64,
            executable_name: self.executable.clone(),
            host_name: String::new(),
            runtime_params: String::new(),
            pid: 0,
            start_time: START,
            initial_domain: DomainId(0),
            context: None,
        };
        let mut writer = Writer::new(output, &info)?;
        let arguments = [format!("{} ({})", counted(self.runs, "run", "runs"), self.of)];
        let process = Process {
            arguments: arguments.map(Arc::from).into(),
            executable: self.executable.as_str().into(),
            runtime: self.runtime.as_str().into(),
            name: "fleet".into(),
            ..Process::default()
        };
        writer.fact(START, &Fact::Process(process))?;
        let [first, last] = &self.services;
        if let Some(service) = first.as_ref().filter(|_| first == last) {
            let label = Label { key: "service".into(), value: service.as_str().into() };
            writer.fact(START, &Fact::Label(label))?;
        }
        Ok(writer)
    }
}

/// A sampled block.
struct Sample {
    run: i64,
    site: i64,
    birth: u64,
    death: Option<u64>,
    bytes: u64,
    weight: f64,
    is_growth: bool,
    thread: i64,
    source: String,
    heap: Heap,
}

async fn samples(engine: &Engine, of: &Selection) -> Result<Vec<Sample>> {
    let query = format!(
        "SELECT run, site, birth_us, coalesce(lifetime_us, -1) AS lifetime_us, bytes, weight,
            CASE WHEN is_growth THEN 1 ELSE 0 END AS is_growth, thread, source, heap
        FROM samples WHERE {} ORDER BY birth_us, run, site",
        of.sql()
    );
    let batches = widened(engine.ask(&query).await?)?;
    each(&batches).map(|row| Sample::of(&row)).collect()
}

impl Sample {
    fn of(row: &Row<'_>) -> Result<Sample> {
        let birth = row.whole("birth_us")?.max(0) as u64;
        let lifetime = u64::try_from(row.whole("lifetime_us")?).ok();
        Ok(Sample {
            run: row.whole("run")?,
            site: row.whole("site")?,
            birth,
            death: lifetime.map(|lifetime| birth.saturating_add(lifetime)),
            bytes: row.whole("bytes")? as u64,
            weight: row.number("weight")?,
            is_growth: row.whole("is_growth")? != 0,
            thread: row.whole("thread")?,
            source: row.text("source")?.unwrap_or_default(),
            heap: match row.text("heap")?.as_deref() {
                Some("young") => Heap::Minor,
                Some("old") => Heap::Major,
                _ => Heap::External,
            },
        })
    }
}

/// A trace that is being written.
struct Sketch<W> {
    writer: Writer<W>,
    samplers: Samplers,
    stacks: Stacks,
    /// Blocks that are yet to die, the first one on top.
    dying: BinaryHeap<Reverse<(u64, AllocationId)>>,
}

impl<W: Write> Sketch<W> {
    fn take(&mut self, sample: &Sample) -> Result<()> {
        self.die_until(sample.birth)?;
        let time = at(sample.birth);
        let (sampler, new) =
            self.samplers.find(sample.run, &sample.source, sample.bytes, sample.weight)?;
        if let Some(fact) = new {
            self.writer.fact(time, &Fact::Sampler(fact))?;
        }
        let mut backtrace: Vec<LocationCode> = self.stacks.backtrace(sample.site).to_vec();
        backtrace.extend(sample.is_growth.then_some(lifetrace_trace::event::GROWTH));
        let new = NewBirth {
            size: Size::Bytes(Bytes(sample.bytes)),
            samples: 1,
            source: sample.heap,
            sampler,
            is_truncated: false,
            backtrace: &backtrace,
            common_prefix: 0,
            id: None,
        };
        self.writer.switch(ThreadId(sample.thread as u32), DomainId(0));
        let stacks = &self.stacks;
        let id = self.writer.birth(time, &new, &mut |code| stacks.frame(code))?;
        self.dying.extend(sample.death.map(|death| Reverse((death, id))));
        Ok(())
    }

    /// Blocks die whose time has come.
    fn die_until(&mut self, time: u64) -> Result<()> {
        while let Some(Reverse((death, id))) = self.dying.peek().copied() {
            if death > time {
                break;
            }
            self.dying.pop();
            self.writer.collection(at(death), id)?;
        }
        Ok(())
    }
}
