//! What can be asked of the command.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args as Group, Parser, Subcommand};
use lifetrace_fleet::answers::Metric;
use lifetrace_fleet::answers::Selection;
use lifetrace_fleet::cluster::Executor;
use lifetrace_fleet::engine::Limits;
use lifetrace_fleet::query::Form;
use lifetrace_fleet::synthetic::Fleet;

/// Hundreds of processes' traces as one dataset
#[derive(Debug, Parser)]
#[command(name = "lifetrace-fleet", version)]
pub struct Args {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Add traces to a dataset; one that is there is not added again
    Add(Add),
    /// Answer a query in SQL: tables runs, labels, samples, sites, totals, rollup, growth; views places, callsites
    Query {
        /// The dataset: a folder, or s3://BUCKET/PATH
        dataset: PathBuf,
        /// The query
        sql: String,
        #[command(flatten)]
        form: FormArgs,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// Which runs there are
    Runs(Asked),
    /// Who allocates, or holds, most in all runs
    Top(Top),
    /// Which callsites grow for as long as their processes run, in how many, and since which version
    Leaks(Asked),
    /// What has changed from some runs to others
    Regressions(Regressions),
    /// Which runs differ from the others of their service and version, and by what
    Outliers(Outliers),
    /// Print collapsed stacks of many runs, for flame graphs
    Flamegraph(Flamegraph),
    /// Write one trace of many runs, for `lifetrace view`, `report` and `export` (pprof, flame graphs)
    Extract(Extract),
    /// Make few large files of many small ones
    Compact {
        /// The dataset: a folder, or s3://BUCKET/PATH
        dataset: PathBuf,
    },
    /// Remove runs that began long ago
    Expire {
        /// The dataset: a folder, or s3://BUCKET/PATH
        dataset: PathBuf,
        /// Those that began so many days ago (30d), or before a day (2026-11-28)
        #[arg(long)]
        older_than: String,
    },
    /// Read all files, and say what is wrong
    Check {
        /// The dataset: a folder, or s3://BUCKET/PATH
        dataset: PathBuf,
        /// Remove files that are in no commit; to be used while nobody adds
        #[arg(long)]
        clean: bool,
    },
    /// Be the scheduler of a Ballista cluster on this machine
    Scheduler(Scheduler),
    /// Be an executor of it
    Executor(ExecutorArgs),
    /// Print the queries behind the questions, and the views that they use, for other engines
    Queries,
    /// Write traces of a fleet that does not exist, of which all is known
    Synthetic(Synthetic),
}

/// How rows are written.
#[derive(Clone, Copy, Debug, Group)]
#[group(multiple = false)]
pub struct FormArgs {
    /// As JSON: a list of objects
    #[arg(long)]
    json: bool,
    /// As comma-separated values, with a line of names
    #[arg(long)]
    csv: bool,
}

impl From<FormArgs> for Form {
    fn from(args: FormArgs) -> Form {
        match args {
            FormArgs { json: true, .. } => Form::Json,
            FormArgs { csv: true, .. } => Form::Csv,
            _ => Form::default(),
        }
    }
}

#[derive(Debug, Group)]
pub struct Add {
    /// The dataset: a folder, which is made if it is not there, or s3://BUCKET/PATH
    pub dataset: PathBuf,
    /// Traces, in Lifetrace's format
    #[arg(required_unless_present = "watch")]
    pub traces: Vec<PathBuf>,
    /// Add all traces in this folder, and those that come, as a collector finishes them
    #[arg(long, value_name = "DIR", conflicts_with = "traces")]
    pub watch: Option<PathBuf>,
    /// Look into the folder once
    #[arg(long, requires = "watch")]
    pub once: bool,
}

/// What a question is asked of.
#[derive(Debug, Group)]
pub struct Asked {
    /// The dataset: a folder, or s3://BUCKET/PATH
    pub dataset: PathBuf,
    /// Which runs: 'service = web and version = 1.4'; any label is a key
    #[arg(long = "where", value_name = "CONDITIONS")]
    pub runs: Option<Selection>,
    /// So many lines at most
    #[arg(long, default_value_t = 20)]
    pub limit: usize,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
}

impl Asked {
    pub fn of(&self) -> Selection {
        self.runs.clone().unwrap_or_default()
    }
}

#[derive(Debug, Group)]
pub struct Top {
    #[command(flatten)]
    pub asked: Asked,
    /// By what callsites are compared
    #[arg(long, value_enum, default_value_t)]
    pub metric: Metric,
    /// Each value of this label apart
    #[arg(long, value_name = "LABEL")]
    pub by: Option<String>,
}

#[derive(Debug, Group)]
pub struct Outliers {
    #[command(flatten)]
    pub asked: Asked,
    /// By what runs are compared
    #[arg(long, value_enum, default_value_t)]
    pub metric: Metric,
}

#[derive(Debug, Group)]
pub struct Regressions {
    #[command(flatten)]
    pub asked: Asked,
    /// The runs before: 'version = 1.4'
    #[arg(long, value_name = "CONDITIONS")]
    pub before: Selection,
    /// The runs after: 'version = 1.5'
    #[arg(long, value_name = "CONDITIONS")]
    pub after: Selection,
    /// By what callsites are compared
    #[arg(long, value_enum, default_value_t)]
    pub metric: Metric,
}

#[derive(Debug, Group)]
pub struct Flamegraph {
    /// The dataset: a folder, or s3://BUCKET/PATH
    pub dataset: PathBuf,
    /// Which runs: 'service = web and version = 1.4'; any label is a key
    #[arg(long = "where", value_name = "CONDITIONS")]
    pub runs: Option<Selection>,
    /// What the numbers are
    #[arg(long, value_enum, default_value_t)]
    pub metric: Metric,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Debug, Group)]
pub struct Extract {
    /// The dataset: a folder, or s3://BUCKET/PATH
    pub dataset: PathBuf,
    /// Which runs: 'service = web and version = 1.4'; any label is a key
    #[arg(long = "where", value_name = "CONDITIONS")]
    pub runs: Option<Selection>,
    /// The trace's file
    #[arg(short, long)]
    pub output: PathBuf,
    /// So many samples at most
    #[arg(long, value_name = "SAMPLES", default_value_t = 5_000_000)]
    pub most: u64,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Clone, Debug, Group)]
pub struct LimitArgs {
    /// Memory that a query may take, in MiB; what does not fit is put on disk
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: usize,
    /// Have a Ballista cluster answer, whose executors see the dataset at the same place
    #[arg(long, value_name = "df://HOST:PORT")]
    cluster: Option<String>,
    /// How long a cluster is waited for: one that has lost an executor may never answer
    #[arg(long, value_name = "SECONDS", default_value_t = 600, requires = "cluster")]
    patience: u64,
}

impl From<&LimitArgs> for Limits {
    fn from(args: &LimitArgs) -> Limits {
        let LimitArgs { memory, cluster, patience } = args.clone();
        let patience = Duration::from_secs(patience);
        Limits { memory: memory << 20, cluster, patience, ..Limits::default() }
    }
}

#[derive(Debug, Group)]
pub struct Scheduler {
    /// Where it listens
    #[arg(long, default_value_t = 50050)]
    pub port: u16,
}

#[derive(Debug, Group)]
pub struct ExecutorArgs {
    /// Where its scheduler listens
    #[arg(long, default_value_t = 50050)]
    scheduler: u16,
    /// Where it listens itself; the next port is its, too
    #[arg(long, default_value_t = 50060)]
    port: u16,
    /// How many threads compute; all that the machine has
    #[arg(long)]
    threads: Option<usize>,
    /// Memory that queries may take, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: u64,
    /// Where it keeps what it has computed; a temporary folder if not said
    #[arg(long)]
    pub folder: Option<PathBuf>,
}

impl From<&ExecutorArgs> for Executor {
    fn from(it: &ExecutorArgs) -> Executor {
        let threads = it.threads.unwrap_or_else(|| Limits::default().threads);
        Executor { scheduler: it.scheduler, port: it.port, threads, memory: it.memory << 20 }
    }
}

#[derive(Debug, Group)]
pub struct Synthetic {
    /// Where the traces are written
    pub folder: PathBuf,
    /// How many runs
    #[arg(long, default_value_t = 40)]
    runs: usize,
    /// Sampled blocks of a run
    #[arg(long, default_value_t = 2_000)]
    samples: usize,
    /// Callsites
    #[arg(long, default_value_t = 300)]
    sites: usize,
    /// Services
    #[arg(long, default_value_t = 2)]
    services: usize,
    /// Days on which they begin
    #[arg(long, default_value_t = 4)]
    days: u64,
    /// What random numbers begin with
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl From<&Synthetic> for Fleet {
    fn from(it: &Synthetic) -> Fleet {
        let Synthetic { runs, samples, sites, services, days, seed, .. } = *it;
        Fleet { runs, samples, sites, services, days, seed, ..Fleet::default() }
    }
}

/// The day so many days ago, or the day itself.
///
/// # Errors
/// If it is neither.
pub fn day_before(text: &str) -> Result<String> {
    let Some(days) = text.strip_suffix('d') else {
        let parts: Vec<_> = text.split('-').collect();
        let is_day = parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok());
        ensure!(
            is_day && text.len() == 10,
            "'{text}' is neither so many days (30d) nor a day (2026-11-28)"
        );
        return Ok(text.to_owned());
    };
    let days: i32 = days.parse().with_context(|| format!("'{text}' is no number of days"))?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    let today = (now / 86_400) as i32;
    let partition = lifetrace_fleet::tables::Partition { date: today - days, service: "".into() };
    Ok(partition.day())
}
