//! Processes that were recorded.

use anyhow::Result;
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::arrow::record_batch::RecordBatch;

use super::{Partition, Table, column, list_of, moment, optional, required};

/// A trace that was added. Texts are empty where nobody says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Made of what the trace says of its process and its time: the same whenever it is added.
    pub run: i64,
    /// One number for all traces of a process: a recorder may divide them.
    pub process: i64,
    /// When the trace begins, in microseconds since 1970.
    pub start: i64,
    /// How long it is.
    pub duration_us: i64,
    /// Its file was finished by who wrote it, and all of it can be read.
    pub is_whole: bool,
    /// The machine.
    pub host: String,
    /// The container on it.
    pub container: String,
    /// Path of the program.
    pub executable: String,
    /// The linker's fingerprint of the program, in hexadecimal digits.
    pub build_id: String,
    /// Its arguments, the program's name first.
    pub arguments: Vec<String>,
    /// The process's number.
    pub pid: i64,
    /// `native`, `ocaml`, `ruby`, and its version.
    pub runtime: [String; 2],
    /// How it ended: `exit 0`, `signal 9`, `exec`, or nothing if nobody saw it.
    pub ended: Option<String>,
    /// The version of what watched it.
    pub agent_version: String,
    /// The label `version`.
    pub version: Option<String>,
    /// Samples in the table of these.
    pub samples: i64,
    /// The most resident memory that was seen.
    pub peak_resident: Option<i64>,
    /// Who sampled what, and how densely.
    pub sources: Vec<Source>,
    /// The mean distance between hits in bytes, the longest of all samplers; 0 if all is recorded.
    pub interval_bytes: f64,
    /// What was not recorded, by reason.
    pub losses: Vec<(String, i64)>,
    /// The file's name.
    pub trace: String,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub content: String,
}

/// A sampler.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// `malloc`, `ocaml`.
    pub name: String,
    /// What it hits: `byte`, `word`, `object`.
    pub unit: &'static str,
    /// The probability that a unit is hit.
    pub rate: f64,
}

/// Rows of the table.
pub type Runs = Vec<Run>;

pub(super) fn columns() -> Vec<Field> {
    let text = |name| required(name, DataType::Utf8);
    vec![
        required("run", DataType::Int64),
        required("process", DataType::Int64),
        required("start", moment()),
        required("duration_us", DataType::Int64),
        required("is_whole", DataType::Boolean),
        text("host"),
        text("container"),
        text("executable"),
        text("build_id"),
        text("command"),
        required("pid", DataType::Int64),
        text("runtime"),
        text("runtime_version"),
        optional("ended", DataType::Utf8),
        text("agent_version"),
        optional("version", DataType::Utf8),
        required("samples", DataType::Int64),
        optional("peak_resident", DataType::Int64),
        required("sources", list_of(source_columns())),
        required("losses", list_of(loss_columns())),
        required("lost", DataType::Int64),
        text("trace"),
        text("content"),
        required("interval_bytes", DataType::Float64),
    ]
}

fn source_columns() -> Fields {
    Fields::from(vec![
        required("name", DataType::Utf8),
        required("unit", DataType::Utf8),
        required("rate", DataType::Float64),
    ])
}

fn loss_columns() -> Fields {
    Fields::from(vec![required("reason", DataType::Utf8), required("count", DataType::Int64)])
}

/// As Arrow has them, in the order in which they are given.
///
/// # Errors
/// Never, unless columns and schema differ.
pub fn batch(of: &Partition, rows: &[Run]) -> Result<RecordBatch> {
    let ints = |of: fn(&Run) -> i64| column::int64(rows.iter().map(of).collect());
    let texts = |of: fn(&Run) -> &str| column::text(&rows.iter().map(of).collect::<Vec<_>>());
    let maybe =
        |of: fn(&Run) -> Option<&str>| column::maybe_text(&rows.iter().map(of).collect::<Vec<_>>());
    let commands: Vec<_> = rows.iter().map(|it| it.arguments.join(" ")).collect();
    let lost = |run: &Run| run.losses.iter().fold(0i64, |sum, loss| sum.saturating_add(loss.1));
    let columns = vec![
        ints(|it| it.run),
        ints(|it| it.process),
        column::moment(rows.iter().map(|it| it.start).collect()),
        ints(|it| it.duration_us),
        column::truth(rows.iter().map(|it| it.is_whole).collect()),
        texts(|it| &it.host),
        texts(|it| &it.container),
        texts(|it| &it.executable),
        texts(|it| &it.build_id),
        column::text(&commands),
        ints(|it| it.pid),
        texts(|it| &it.runtime[0]),
        texts(|it| &it.runtime[1]),
        maybe(|it| it.ended.as_deref()),
        texts(|it| &it.agent_version),
        maybe(|it| it.version.as_deref()),
        ints(|it| it.samples),
        column::maybe_int64(rows.iter().map(|it| it.peak_resident).collect()),
        sources(rows),
        losses(rows),
        column::int64(rows.iter().map(lost).collect()),
        texts(|it| &it.trace),
        texts(|it| &it.content),
        column::float(rows.iter().map(|it| it.interval_bytes).collect()),
    ];
    Ok(Table::Runs.batch(of, rows.len(), columns)?)
}

fn sources(rows: &[Run]) -> datafusion::arrow::array::ArrayRef {
    let lengths: Vec<_> = rows.iter().map(|it| it.sources.len()).collect();
    let all: Vec<_> = rows.iter().flat_map(|it| &it.sources).collect();
    let columns = vec![
        column::text(&all.iter().map(|it| &*it.name).collect::<Vec<_>>()),
        column::text(&all.iter().map(|it| it.unit).collect::<Vec<_>>()),
        column::float(all.iter().map(|it| it.rate).collect()),
    ];
    column::lists(source_columns(), &lengths, columns)
}

fn losses(rows: &[Run]) -> datafusion::arrow::array::ArrayRef {
    let lengths: Vec<_> = rows.iter().map(|it| it.losses.len()).collect();
    let all: Vec<_> = rows.iter().flat_map(|it| &it.losses).collect();
    let columns = vec![
        column::text(&all.iter().map(|it| &*it.0).collect::<Vec<_>>()),
        column::int64(all.iter().map(|it| it.1).collect()),
    ];
    column::lists(loss_columns(), &lengths, columns)
}
