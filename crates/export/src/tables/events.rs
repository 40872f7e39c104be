//! A line or an object for each event: births, promotions and deaths of sampled blocks, as they came.

use std::io::{self, BufWriter, Write};

use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::{Death, since};
use lifetrace_analysis::shape::LineId;
use lifetrace_analysis::{Observer, Place, Shaped};
use lifetrace_human::json_text;
use lifetrace_report::{file, function};
use lifetrace_study::Study;
use lifetrace_trace::event::Source;
use lifetrace_trace::ids::Timestamp;
use serde::{Serialize, Serializer};

use super::super::length;
use super::csv::Csv;
use crate::{Options, Warn};

const COLUMNS: [&str; 12] = [
    "time_us",
    "event",
    "block",
    "bytes",
    "weight",
    "source",
    "sampler",
    "thread",
    "domain",
    "growth",
    "age_us",
    "backtrace",
];

/// The names are those of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Row {
    /// Since the trace's start.
    time_us: u64,
    event: &'static str,
    /// How many were born before it.
    block: u64,
    bytes: u64,
    /// How many blocks it stands for.
    #[serde(serialize_with = "short")]
    weight: f64,
    source: &'static str,
    sampler: u8,
    /// Where the event was; a promotion has none of its own.
    thread: u32,
    domain: u16,
    /// Not a block of its own, but bytes that were added to one.
    growth: bool,
    /// Nothing at its birth.
    age_us: Option<u64>,
}

/// A line of a backtrace.
#[derive(Clone, Debug, Serialize)]
struct Line {
    function: String,
    file: Option<String>,
    line: Option<u32>,
}

/// A row, and a birth's backtrace, outermost line first.
#[derive(Serialize)]
struct Object<'a> {
    #[serde(flatten)]
    row: Row,
    #[serde(skip_serializing_if = "Option::is_none")]
    backtrace: Option<Vec<&'a Line>>,
}

pub fn write_csv(study: &Study, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut output = BufWriter::new(output);
    let mut csv = Csv::new(&mut output);
    csv.line(COLUMNS)?;
    each(
        study,
        options.warn,
        |line| line.function.len() as u64 + 1,
        |row, lines| {
            let functions = lines.map(|lines| {
                lines.iter().map(|line| line.function.as_str()).collect::<Vec<_>>().join(";")
            });
            csv_line(&mut csv, row, &functions.unwrap_or_default())
        },
    )?;
    Ok(output.flush()?)
}

pub fn write_json(study: &Study, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut output = BufWriter::new(output);
    let in_json = |line: &Line| serde_json::to_string(line).map_or(0, |text| text.len() as u64 + 1);
    each(study, options.warn, in_json, |row, backtrace| {
        json_text::compact(&mut output, &Object { row: *row, backtrace })?;
        writeln!(output)
    })?;
    Ok(output.flush()?)
}

fn csv_line(csv: &mut Csv<impl Write>, row: &Row, backtrace: &str) -> io::Result<()> {
    let age = row.age_us.map(|age| age.to_string()).unwrap_or_default();
    csv.line([
        &*row.time_us.to_string(),
        row.event,
        &row.block.to_string(),
        &row.bytes.to_string(),
        &row.weight.to_string(),
        row.source,
        &row.sampler.to_string(),
        &row.thread.to_string(),
        &row.domain.to_string(),
        if row.growth { "true" } else { "false" },
        &age,
        backtrace,
    ])
}

/// Gives `take` each event, with the backtrace if it is a birth, whose lines are of the given length.
fn each<F>(study: &Study, warn: Warn, length: impl Fn(&Line) -> u64, take: F) -> anyhow::Result<()>
where
    F: FnMut(&Row, Option<Vec<&Line>>) -> io::Result<()>,
{
    let start = study.reading.trace.info().start_time;
    let lines = Lines::new(study);
    length::announce(lines.bytes(study, length), warn);
    let mut events = Events { take, start, lines, failure: None };
    study.replay(&mut events)?;
    Ok(events.failure.map_or(Ok(()), Err)?)
}

struct Events<'a, F> {
    take: F,
    start: Timestamp,
    lines: Lines<'a>,
    failure: Option<io::Error>,
}

impl<F> Events<'_, F>
where
    F: FnMut(&Row, Option<Vec<&Line>>) -> io::Result<()>,
{
    fn row(&self, event: &'static str, block: &Block, time: Timestamp) -> Row {
        let micros = |from, to| since(from, to).as_micros() as u64;
        Row {
            time_us: micros(self.start, time),
            event,
            block: block.index,
            bytes: block.bytes,
            weight: block.weight.value(),
            source: source(block.source),
            sampler: block.sampler.0,
            thread: block.thread.0,
            domain: block.domain.0,
            growth: block.is_growth,
            age_us: (event != BIRTH).then(|| micros(block.born, time)),
        }
    }

    /// After a failure nothing is written any more.
    fn take(&mut self, row: &Row, backtrace: NodeId) {
        if self.failure.is_none() && !self.lines.leave_out(backtrace) {
            let lines = (row.event == BIRTH).then(|| self.lines.of(backtrace));
            self.failure = (self.take)(row, lines).err();
        }
    }
}

impl<F> Observer for Events<'_, F>
where
    F: FnMut(&Row, Option<Vec<&Line>>) -> io::Result<()>,
{
    fn born(&mut self, block: &Block) {
        let row = self.row(BIRTH, block, block.born);
        self.take(&row, block.backtrace);
    }

    fn promoted(&mut self, block: &Block) {
        if let Some(time) = block.promoted {
            let row = self.row("promotion", block, time);
            self.take(&row, block.backtrace);
        }
    }

    fn died(&mut self, block: &Block, death: Death) {
        let row = Row { thread: death.thread.0, ..self.row("collection", block, death.time) };
        self.take(&row, block.backtrace);
    }
}

const BIRTH: &str = "allocation";

/// What lines are called, of backtraces as they are to be shown.
struct Lines<'a> {
    shaped: Shaped<'a>,
    /// By their numbers.
    lines: Vec<Line>,
}

impl<'a> Lines<'a> {
    fn new(study: &'a Study) -> Self {
        let reading = &study.reading;
        let view = &study.choice.view;
        let shaped = Shaped::new(reading.profile.tree(), &reading.trace, view);
        let lines = shaped.lines().map(|line| Line::new(&line.place)).collect();
        Self { shaped, lines }
    }

    /// Of the backtraces of all births.
    fn bytes(&self, study: &Study, length: impl Fn(&Line) -> u64) -> u64 {
        let each: Vec<_> = self.lines.iter().map(length).collect();
        let lengths = length::of_stacks(self.shaped.tree(), |line| each[line.index()]);
        let found = self.shaped.merge(study.reading.profile.balances());
        let births = found.iter().map(|(node, balance)| {
            lengths[node.index()].saturating_mul(balance.allocated.amount().samples)
        });
        births.fold(0, u64::saturating_add)
    }

    fn leave_out(&self, node: NodeId) -> bool {
        self.shaped.of(node).is_none()
    }

    /// Outermost line first.
    fn of(&self, node: NodeId) -> Vec<&Line> {
        let shown = self.shaped.of(node).unwrap_or(NodeId::ROOT);
        let line = |line: LineId| &self.lines[line.index()];
        let mut lines: Vec<_> = self.shaped.tree().frames(shown).map(line).collect();
        lines.reverse();
        lines
    }
}

impl Line {
    fn new(place: &Place<'_>) -> Self {
        let line = match place {
            Place::Known(location) => Some(location.line).filter(|line| *line > 0),
            _ => None,
        };
        Self { function: function(place), file: file(place), line }
    }
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Minor => "minor",
        Source::Major => "major",
        Source::External => "external",
    }
}

/// `1`, not `1.0`, and all digits of others.
fn short<S: Serializer>(weight: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match weight.fract() == 0.0 && *weight < 1e15 {
        true => serializer.serialize_u64(*weight as u64),
        false => serializer.serialize_f64(*weight),
    }
}
