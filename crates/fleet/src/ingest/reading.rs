//! A trace is read, once.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use lifetrace_analysis::Observer;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::leaks::{Judgement, Kind, Leaks};
use lifetrace_analysis::replay::{Death, Replay};
use lifetrace_analysis::select::Admission;
use lifetrace_analysis::sites::SiteId;
use lifetrace_study::Reading;
use lifetrace_study::facts::Facts;
use lifetrace_study::open::{Backtraces, Trace};
use lifetrace_trace::event::{Source as Heap, TraceInfo};
use lifetrace_trace::fact::{Exit, Module, SampledUnit};
use lifetrace_trace::ids::{SamplerId, Timestamp};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::Intake;
use super::identity::{hexadecimal, number};
use super::naming::Naming;
use crate::tables::growth::Row;
use crate::tables::runs::{Run, Source};
use crate::tables::samples::Sample;
use crate::tables::{Labels, Partition, Rollup, totals};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The label that says which service a run is of, and the one that says which version of it.
const SERVICE: &str = "service";
const VERSION: &str = "version";

/// Reads a trace.
///
/// # Errors
/// If it cannot be opened, or nothing can be estimated from it. What of it is damaged is left out, and told.
pub fn read(path: &Path) -> Result<Intake> {
    let content = content(path)?;
    let mut lives = Lives::default();
    let trace = Trace::open(path, Backtraces::Read)?;
    let mut reading = Reading::begin(trace, &Admission::all())?;
    let mut admission = Admission::all();
    while let Some(record) = reading.trace.next_record() {
        reading.take(record, &mut admission, &mut lives);
    }
    reading.finish();
    if reading.facts.process.is_none() && !reading.trace.has_facts() {
        bail!(
            "{}: says nothing of its process; `lifetrace convert` makes a .lt trace of it",
            path.display()
        );
    }
    lives.survive(reading.profile.replay());
    Ok(intake(path, content, &reading, lives))
}

fn interval(replay: &Replay) -> f64 {
    let sampling = replay.sampling();
    if sampling.is_exact() { 0.0 } else { sampling.interval_bytes() }
}

fn content(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let mut file =
        File::open(path).with_context(|| format!("{}: cannot be opened", path.display()))?;
    std::io::copy(&mut file, &mut Writer(&mut hash))
        .with_context(|| format!("{}: cannot be read", path.display()))?;
    Ok(hexadecimal(&hash.finalize()))
}

struct Writer<'a>(&'a mut Sha256);

impl std::io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// All lives of a trace, as they end.
#[derive(Default)]
struct Lives {
    ended: Vec<(Block, Option<Death>)>,
}

impl Observer for Lives {
    fn died(&mut self, block: &Block, death: Death) {
        self.ended.push((*block, Some(death)));
    }
}

impl Lives {
    /// What lives at the end; blocks from before the trace's start are another run's.
    fn survive(&mut self, replay: &Replay) {
        let blocks = replay.history().live().map(|(_, block)| block);
        let born_here = blocks.filter(|block| block.born >= replay.start());
        self.ended.extend(born_here.map(|block| (*block, None)));
    }
}

fn intake(path: &Path, content: String, reading: &Reading, lives: Lives) -> Intake {
    let (info, facts) = (reading.trace.info(), &reading.facts);
    let naming = Naming::new(reading.profile.tree(), &reading.trace);
    let end = reading.profile.replay().end();
    let mut run = run(info, facts, end);
    run.is_whole = reading.trace.is_complete() == Some(true) && reading.damages.is_empty();
    run.trace = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    run.content = content;
    run.interval_bytes = interval(reading.profile.replay());
    let sources = source_names(facts);
    let mut samples: Vec<_> = lives
        .ended
        .iter()
        .map(|(block, death)| sample(block, death.as_ref(), &run, &naming, &sources))
        .collect();
    samples.sort_unstable_by_key(|sample| (sample.site, sample.birth_us));
    run.samples = samples.len() as i64;
    let nodes = lives.ended.iter().map(|(block, _)| block.backtrace);
    let sites = naming.rows(nodes, &reading.trace);
    let growth = growth(&naming, reading, &lives, [info.start_time, end], run.run);
    let labels = facts.labels.iter();
    let labels = labels.map(|(key, value)| (run.run, key.to_string(), value.to_string()));
    let labels = Labels { rows: labels.collect() };
    let partition = Partition {
        date: run.start.div_euclid(MICROS_PER_DAY) as i32,
        service: service(facts, &run).into(),
    };
    Intake {
        partition,
        labels,
        sites,
        totals: totals::of(&samples, run.duration_us),
        rollup: Rollup::of(&run, &samples),
        growth,
        damage: reading.damages.list(),
        samples,
        run,
    }
}

/// The label, else the program's name.
fn service(facts: &Facts, run: &Run) -> String {
    let name = facts.process.as_ref().map(|process| process.name.to_string());
    let executable = || run.executable.rsplit('/').next().unwrap_or_default().to_owned();
    let label = facts.labels.get(SERVICE).map(ToString::to_string);
    let name = label.or(name.filter(|name| !name.is_empty())).unwrap_or_else(executable);
    if name.is_empty() { "unknown".to_owned() } else { name }
}

fn run(info: &TraceInfo, facts: &Facts, end: Timestamp) -> Run {
    let process = facts.process.clone().unwrap_or_default();
    let host = if process.host.is_empty() { &info.host_name } else { &*process.host };
    let begun = process.start.unwrap_or(info.start_time).0.to_le_bytes();
    let (start, pid) = (info.start_time.0.to_le_bytes(), info.pid.to_le_bytes());
    let executable = match &*process.executable {
        "" => info.executable_name.clone(),
        path => path.to_owned(),
    };
    let losses = facts.lost.iter().map(|(reason, count)| (reason.to_string(), *count as i64));
    Run {
        run: number(&[host.as_bytes(), &pid, &start, executable.as_bytes()]),
        process: number(&[host.as_bytes(), &pid, &begun]),
        start: info.start_time.0 as i64,
        duration_us: end.0.saturating_sub(info.start_time.0) as i64,
        host: host.to_owned(),
        container: process.container.to_string(),
        build_id: build_id(facts, &executable),
        executable,
        arguments: process.arguments.iter().map(ToString::to_string).collect(),
        pid: info.pid as i64,
        runtime: [process.runtime.to_string(), process.runtime_version.to_string()],
        ended: facts.exit.and_then(ended),
        agent_version: process.agent_version.to_string(),
        version: facts.labels.get(VERSION).map(ToString::to_string),
        peak_resident: facts.peak_resident.map(|bytes| bytes.0 as i64),
        sources: sources(info, facts),
        losses: losses.collect(),
        ..Run::default()
    }
}

fn build_id(facts: &Facts, executable: &str) -> String {
    let is_program = |module: &&Module| &*module.path == executable;
    facts.modules.values().find(is_program).map(|it| hexadecimal(&it.build_id)).unwrap_or_default()
}

fn ended(exit: Exit) -> Option<String> {
    match exit {
        Exit::Status(status) => Some(format!("exit {status}")),
        Exit::Signal(signal) => Some(format!("signal {signal}")),
        Exit::Exec => Some("exec".to_owned()),
        Exit::Unknown => None,
    }
}

fn sources(info: &TraceInfo, facts: &Facts) -> Vec<Source> {
    let named = facts.samplers.values().map(|sampler| Source {
        name: sampler.name.to_string(),
        unit: unit(sampler.unit),
        rate: sampler.rate,
    });
    let named: Vec<_> = named.collect();
    match named.is_empty() {
        // Of a trace that has no room for more.
        true => vec![Source { name: NAMELESS.to_owned(), unit: "word", rate: info.sample_rate }],
        false => named,
    }
}

/// What samples are of that no sampler is told of.
const NAMELESS: &str = "heap";

fn unit(unit: SampledUnit) -> &'static str {
    match unit {
        SampledUnit::Byte => "byte",
        SampledUnit::Word => "word",
        SampledUnit::Object => "object",
    }
}

fn source_names(facts: &Facts) -> FxHashMap<SamplerId, Arc<str>> {
    facts.samplers.iter().map(|(id, sampler)| (*id, sampler.name.clone())).collect()
}

fn sample(
    block: &Block,
    death: Option<&Death>,
    run: &Run,
    naming: &Naming<'_>,
    sources: &FxHashMap<SamplerId, Arc<str>>,
) -> Sample {
    let since_birth = |death: &Death| death.time.0.saturating_sub(block.born.0) as i64;
    Sample {
        run: run.run,
        site: naming.site(block.backtrace),
        birth_us: (block.born.0 as i64).saturating_sub(run.start),
        lifetime_us: death.map(since_birth),
        bytes: block.bytes as i64,
        weight: block.weight.value(),
        is_growth: block.is_growth,
        is_promoted: block.promoted.is_some(),
        thread: block.thread.0 as i32,
        source: sources.get(&block.sampler).cloned().unwrap_or_else(|| NAMELESS.into()),
        heap: match block.source {
            Heap::Minor => Some("young"),
            Heap::Major => Some("old"),
            Heap::External => None,
        },
    }
}

/// As `report --view leaks` judges it.
fn growth(
    naming: &Naming<'_>,
    reading: &Reading,
    lives: &Lives,
    [start, end]: [Timestamp; 2],
    run: i64,
) -> Vec<Row> {
    let sites = naming.sites();
    let holders = lives.ended.iter().filter(|(_, death)| death.is_none());
    let holders = holders.filter_map(|(block, _)| sites.of(block.backtrace));
    let mut leaks = Leaks::new(sites, start, holders);
    for (block, death) in &lives.ended {
        match death {
            Some(death) => leaks.died(block, *death),
            None => leaks.survived(block, end),
        }
    }
    let Judgement { holdings, is_too_short, .. } = leaks.judge(end);
    let place = |site: SiteId| naming.callsite(&sites.place(site), &reading.trace);
    let rows = holdings.iter().map(|holding| {
        let (callsite, at) = place(holding.site);
        let rate = holding.growth.as_ref().map(|growth| growth.rate);
        Row {
            run,
            callsite,
            kind: if is_too_short { kind(Kind::Unknown) } else { kind(holding.kind) },
            live_bytes: holding.live.bytes.value,
            live_variance: holding.live.bytes.variance,
            rate: rate.filter(|_| !is_too_short).map(|it| [it.per_hour, it.low, it.high]),
            function: at.function,
        }
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|row| row.callsite);
    rows
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Leak => "leak",
        Kind::Steps => "steps",
        Kind::Filling => "filling",
        Kind::Plateau => "plateau",
        Kind::StartUp => "start-up",
        Kind::Unknown => "unknown",
    }
}
