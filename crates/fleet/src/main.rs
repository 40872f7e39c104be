//! The command `lifetrace-fleet`.
#![forbid(unsafe_code)]

mod args;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use lifetrace_fleet::answers::page::Page;
use lifetrace_fleet::answers::{
    self, Selection, flamegraph, leaks, outliers, regressions, runs, top,
};
use lifetrace_fleet::engine::{Engine, VIEWS};
use lifetrace_fleet::extract::{self, Extracted};
use lifetrace_fleet::ingest::{self, Added};
use lifetrace_fleet::log::Entry;
use lifetrace_fleet::store::Store;
use lifetrace_fleet::{cluster, query, synthetic, upkeep};
use lifetrace_human::counted;
use serde::Serialize;

use args::{
    Add, Args, Asked, ExecutorArgs, Extract, Flamegraph, LimitArgs, Outliers, Regressions,
    Synthetic, Top, Verb,
};

/// How often a folder is looked into.
const LOOK: Duration = Duration::from_secs(5);

/// Plans are walked by recursion, and those of a cluster are deep.
const STACK: usize = 16 << 20;

fn main() -> ExitCode {
    let args = Args::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = run(args.verb) => outcome,
            _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(130)),
        }
    });
    // Whatever still computes is of no use to anybody.
    runtime.shutdown_background();
    outcome.unwrap_or_else(|error| failed(&error))
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("lifetrace-fleet: {error:#}");
    ExitCode::FAILURE
}

async fn run(verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::Add(add) => add_traces(&add).await,
        Verb::Query { dataset, sql, form, limits } => {
            let engine = Engine::open(&Store::open(&dataset)?, (&limits).into()).await?;
            let rows = watched(engine.ask(&sql)).await?;
            let mut text = Vec::new();
            query::write(form.into(), &rows, &mut text)?;
            print(&text)
        }
        Verb::Runs(asked) => {
            let answer = watched(runs::ask(&asked.engine().await?, &asked.of())).await?;
            show(asked.json, &answer, runs::Runs::page)
        }
        Verb::Top(Top { asked, metric, by }) => {
            let engine = asked.engine().await?;
            let question = top::Question { of: asked.of(), metric, by, limit: asked.limit };
            show(asked.json, &watched(top::ask(&engine, &question)).await?, top::Top::page)
        }
        Verb::Leaks(asked) => {
            let engine = asked.engine().await?;
            let answer = watched(leaks::ask(&engine, &asked.of(), asked.limit)).await?;
            show(asked.json, &answer, leaks::Leaks::page)
        }
        Verb::Regressions(Regressions { asked, before, after, metric }) => {
            let [before, after] = [before, after].map(|side| asked.of().and(&side));
            let engine = engine(&asked.dataset, &asked.limits, &[&before, &after]).await?;
            let question = regressions::Question { before, after, metric };
            let answer = watched(regressions::ask(&engine, &question)).await?;
            show(asked.json, &answer, regressions::Regressions::page)
        }
        Verb::Outliers(Outliers { asked, metric }) => {
            let engine = asked.engine().await?;
            let question = outliers::Question { of: asked.of(), metric, limit: asked.limit };
            let answer = watched(outliers::ask(&engine, &question)).await?;
            show(asked.json, &answer, outliers::Outliers::page)
        }
        Verb::Flamegraph(wanted) => print_stacks(&wanted).await,
        Verb::Extract(extract) => write_trace(&extract).await,
        Verb::Compact { dataset } => {
            told(&upkeep::compact(&Store::open(&dataset)?).await?);
            Ok(ExitCode::SUCCESS)
        }
        Verb::Expire { dataset, older_than } => {
            let before = args::day_before(&older_than)?;
            told(&upkeep::expire(&Store::open(&dataset)?, &before).await?);
            Ok(ExitCode::SUCCESS)
        }
        Verb::Check { dataset, clean } => check(&dataset, clean).await,
        Verb::Synthetic(synthetic) => make(&synthetic),
        Verb::Scheduler(it) => {
            cluster::schedule(it.port).await?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Executor(it) => execute(&it).await,
        Verb::Queries => show_queries(),
    }
}

async fn execute(wanted: &ExecutorArgs) -> Result<ExitCode> {
    let temporary = tempfile::tempdir()?;
    let folder = wanted.folder.as_deref().unwrap_or(temporary.path());
    cluster::execute(wanted.into(), folder).await?;
    Ok(ExitCode::SUCCESS)
}

fn show_queries() -> Result<ExitCode> {
    let questions: std::collections::BTreeMap<_, _> = answers::queries().into_iter().collect();
    let views: std::collections::BTreeMap<_, _> = VIEWS.into_iter().collect();
    let all = serde_json::json!({ "views": views, "questions": questions });
    print(format!("{}\n", lifetrace_human::json_text::pretty(&all)?).as_bytes())
}

/// For questions to these runs, or those.
async fn engine(dataset: &Path, limits: &LimitArgs, of: &[&Selection]) -> Result<Engine> {
    let is_wanted = |it: &Entry| of.iter().any(|of| of.admits(&it.date, &it.service));
    Engine::of_files(&Store::open(dataset)?, limits.into(), is_wanted).await
}

/// Says on a terminal how long it has been computed, while it is.
async fn watched<T>(what: impl Future<Output = T>) -> T {
    if !std::io::stderr().is_terminal() {
        return what.await;
    }
    let mut what = std::pin::pin!(what);
    let mut seconds = 0;
    loop {
        tokio::select! {
            outcome = &mut what => {
                eprint!("\r\x1b[K");
                return outcome;
            }
            () = tokio::time::sleep(Duration::from_secs(1)) => {
                seconds += 1;
                eprint!("\rlifetrace-fleet: computing for {seconds} s");
            }
        }
    }
}

impl Asked {
    async fn engine(&self) -> Result<Engine> {
        engine(&self.dataset, &self.limits, &[&self.of()]).await
    }
}

fn show<T: Serialize>(json: bool, answer: &T, page: fn(&T) -> Page) -> Result<ExitCode> {
    let text = match json {
        true => lifetrace_human::json_text::pretty(answer)?,
        false => page(answer).text(),
    };
    print(text.as_bytes())
}

/// Writes to standard output. A reader that has seen enough, as `head` has, is no reason to complain.
fn print(text: &[u8]) -> Result<ExitCode> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text).and_then(|()| output.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

async fn print_stacks(wanted: &Flamegraph) -> Result<ExitCode> {
    let of = wanted.runs.clone().unwrap_or_default();
    let engine = engine(&wanted.dataset, &wanted.limits, &[&of]).await?;
    let lines = watched(flamegraph::lines(&engine, &of, wanted.metric)).await?;
    let lines: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    print(lines.as_bytes())
}

async fn write_trace(wanted: &Extract) -> Result<ExitCode> {
    let path = &wanted.output;
    let named = || path.display().to_string();
    let of = wanted.runs.clone().unwrap_or_default();
    let engine = engine(&wanted.dataset, &wanted.limits, &[&of]).await?;
    let mut output = tempfile::NamedTempFile::new_in(folder_of(path)).with_context(named)?;
    let buffered = std::io::BufWriter::new(output.as_file_mut());
    let Extracted { runs, samples } =
        watched(extract::write(&engine, &of, wanted.most, buffered)).await?;
    output.persist_noclobber(path).map_err(|error| error.error).with_context(named)?;
    let (runs, samples) = (counted(runs, "run", "runs"), counted(samples, "sample", "samples"));
    eprintln!("lifetrace-fleet: {}: {samples} of {runs}", path.display());
    eprintln!("lifetrace-fleet: next: lifetrace view {}", path.display());
    Ok(ExitCode::SUCCESS)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

async fn add_traces(add: &Add) -> Result<ExitCode> {
    let store = Store::make(&add.dataset).await?;
    let is_shown = std::io::stderr().is_terminal();
    let watch = |path: &PathBuf| {
        if is_shown {
            eprintln!("lifetrace-fleet: has read {}", path.display());
        }
    };
    let Some(folder) = &add.watch else {
        let added = ingest::add(&store, &add.traces, watch).await?;
        say(&added);
        return Ok(if added.has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    };
    let mut seen = std::collections::BTreeSet::new();
    loop {
        let traces = finished(folder, &mut seen)?;
        if !traces.is_empty() {
            say(&ingest::add(&store, &traces, watch).await?);
        }
        if add.once {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Traces in a folder, and in those in it, that were not there before. A collector gives them their names when they are
/// finished.
fn finished(folder: &Path, seen: &mut std::collections::BTreeSet<PathBuf>) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        if path.is_dir() {
            found.extend(finished(&path, seen)?);
        } else if path.extension().is_some_and(|it| it == "lt") && seen.insert(path.clone()) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn say(added: &Added) {
    for complaint in &added.complaints {
        eprintln!("lifetrace-fleet: {complaint}");
    }
    let Added { runs, samples, known, .. } = added;
    let new = counted(*runs as u64, "run", "runs");
    let samples = counted(*samples as u64, "sample", "samples");
    let known = match known {
        0 => String::new(),
        known => format!("; {} there already", counted(*known as u64, "was", "were")),
    };
    eprintln!("lifetrace-fleet: added {new} with {samples}{known}");
}

fn told(done: &upkeep::Done) {
    let smaller = match done.bytes {
        0.. => format!("{} smaller", lifetrace_human::bytes(done.bytes as f64)),
        larger => format!("{} larger", lifetrace_human::bytes(-larger as f64)),
    };
    let runs = match done.runs {
        0 => String::new(),
        runs => format!(" ({})", counted(runs as u64, "run", "runs")),
    };
    eprintln!(
        "lifetrace-fleet: {}{runs} removed, {} written; the dataset is {smaller}",
        counted(done.removed as u64, "file", "files"),
        counted(done.written as u64, "file", "files"),
    );
}

async fn check(dataset: &Path, clean: bool) -> Result<ExitCode> {
    let problems = upkeep::check(&Store::open(dataset)?, clean).await?;
    for problem in &problems {
        println!("{problem}");
    }
    let is_sound = problems.iter().all(|it| matches!(it, upkeep::Problem::LeftOver(_)));
    if is_sound {
        println!("all that is in the dataset can be read");
    }
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn make(wanted: &Synthetic) -> Result<ExitCode> {
    let fleet = synthetic::Fleet::from(wanted);
    std::fs::create_dir_all(&wanted.folder).with_context(|| wanted.folder.display().to_string())?;
    let write = |run| -> Result<()> {
        let path = wanted.folder.join(fleet.name(run));
        let named = || path.display().to_string();
        let file = std::fs::File::create_new(&path).with_context(named)?;
        Ok(fleet.write(run, std::io::BufWriter::new(file)).with_context(named)?.flush()?)
    };
    let (runs, write) = (fleet.runs, &write);
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    std::thread::scope(|scope| {
        let each =
            |first: usize| scope.spawn(move || (first..runs).step_by(threads).try_for_each(write));
        let all: Vec<_> = (0..threads).map(each).collect();
        let results = all.into_iter().map(|it| it.join().map_err(|_| anyhow!("it has failed"))?);
        results.collect::<Result<Vec<()>>>()
    })?;
    Ok(ExitCode::SUCCESS)
}
