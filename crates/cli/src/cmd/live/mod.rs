//! `lifetrace live`

mod attached;
mod launched;
mod screen;
mod source;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::ArgGroup;
use lifetrace_live::board::Board;
use lifetrace_live::model::Model;
use lifetrace_live::process::Stage;
use lifetrace_live::{document, page};

use crate::choosing;
use crate::cmd::record::options::How;
use crate::cmd::record::quantity;
use crate::terminal;
use attached::Attached;
use launched::Launched;
use source::{Source, is_unrecorded};

/// What may be typed.
#[derive(clap::Args)]
#[command(
    after_help = EXAMPLES,
    group = ArgGroup::new("what").args(["pid", "command"]),
    group = ArgGroup::new("recorded").args(OF_RECORDING).multiple(true).requires("what").conflicts_with("once"),
)]
pub struct Args {
    /// A process. If nobody records it, it is attached to until the page is left, and its trace goes with the page unless -o
    /// names one [default: all that this user's recorders record now]
    #[arg(value_parser = quantity::pid)]
    pid: Option<u32>,
    /// Print what is known now, once, instead of a page that is drawn again and again
    #[arg(long, conflicts_with = "command")]
    once: bool,
    /// Write JSON (see docs/json.md): one document with --once, else a line a second
    #[arg(long, conflicts_with = "command")]
    json: bool,
    /// Print so many callsites of each process
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    #[command(flatten)]
    choice: choosing::Args,
    #[command(flatten, next_help_heading = "Options of recording, as record has them")]
    how: How,
    /// A program to run and record, and its arguments. It gets no input from the terminal; what it prints is kept until the
    /// page is left. Its trace goes with the page unless -o names one
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What makes sense only where something is recorded.
const OF_RECORDING: [&str; 23] = [
    "output",
    "format",
    "labels",
    "force",
    "sources",
    "interval",
    "rate",
    "stack_limit",
    "native_frames",
    "no_small_objects",
    "seed",
    "delay",
    "duration",
    "max_size",
    "counters",
    "no_children",
    "no_leak_check",
    "keep_empty",
    "on",
    "every",
    "at_exit",
    "after_gc",
    "when",
];

const EXAMPLES: &str = "\
Examples:
  lifetrace live -- ./server --port 8080
  lifetrace live $(pidof server)
  lifetrace live --once --json $(pidof server)";

/// How often the page is drawn again.
const PERIOD: Duration = Duration::from_secs(1);

/// So long all that is there may be read at once, where somebody waits for nothing else.
const PATIENCE: Duration = Duration::from_millis(200);

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { pid, once, json, top, choice, how, command } = args;
    let board = Board::new(choice.choice()?)?;
    let has_page = !once && !json;
    if has_page {
        refuse_terminal()?;
    }
    if let Some(pid) = pid.filter(|&pid| !once && is_unrecorded(pid)) {
        return Attached::start(pid, how)?.show(board, json.then_some(top));
    }
    if command.is_empty() {
        if how.output.is_some() {
            bail!("it is being recorded already: its recorder has been told where its trace goes");
        }
        let source = Source::find(pid)?;
        return match (once, json) {
            (true, _) => print_once(board, source.alone(), json.then_some(top), top),
            (false, true) => print_lines(board, source.alone(), top),
            (false, false) => screen::show(board, source, pid, None),
        };
    }
    Launched::start(command, how)?.show(board)
}

/// # Errors
/// If no page can be drawn on standard output.
fn refuse_terminal() -> anyhow::Result<()> {
    let what = match std::env::var_os("TERM") {
        _ if !std::io::stdout().is_terminal() => "standard output is no terminal",
        Some(kind) if kind == "dumb" => "this terminal cannot move its cursor (TERM=dumb)",
        None => "nothing is known of this terminal (TERM is not set)",
        Some(_) => return Ok(()),
    };
    bail!("{what}\n  live --once PID prints what is known now, with --json as JSON");
}

/// Prints what is known now.
fn print_once(
    mut board: Board,
    mut source: Source,
    json: Option<usize>,
    top: usize,
) -> anyhow::Result<ExitCode> {
    source.settle();
    board.take(source.sessions());
    while !board.advance(PATIENCE) {}
    match json {
        Some(top) => terminal::print(&document::json(&mut board, top, false)?)?,
        None => print_pages(&mut board, source.wanted(), top)?,
    }
    Ok(conclude(&board))
}

/// The page of the process that is wanted, or of each.
fn print_pages(board: &mut Board, wanted: Option<u32>, top: usize) -> anyhow::Result<()> {
    let width = terminal::width().lines.unwrap_or(200);
    let mut model = Model::default();
    let all = board.view(model.screen()).processes;
    if wanted.is_none() {
        let view = board.view(model.screen());
        terminal::print(&page::text(&model, &view, width, view.processes.len()))?;
    }
    for shown in all.iter().filter(|it| wanted.is_none_or(|pid| it.session.pid == pid)) {
        model.enter(shown.key);
        let view = board.view(model.screen());
        let blank = if wanted.is_none() { "\n" } else { "" };
        let notes: Vec<_> = shown.notes.iter().map(|note| format!("note: {note}\n")).collect();
        let text = page::text(&model, &view, width, top);
        terminal::print(&format!("{blank}{text}{}", notes.concat()))?;
    }
    Ok(())
}

/// Prints what is known, a line a second, until all has ended.
fn print_lines(mut board: Board, mut source: Source, top: usize) -> anyhow::Result<ExitCode> {
    loop {
        let next = Instant::now() + PERIOD;
        board.take(source.sessions());
        while !board.advance(PATIENCE) {}
        let line = document::json(&mut board, top, true)?;
        terminal::print(&line)?;
        let processes = board.view(Model::default().screen()).processes;
        let is_over = source.is_over() || source.wanted().is_some();
        if is_over
            && processes.iter().all(|it| matches!(it.stage, Stage::Ended(_) | Stage::Failed(_)))
        {
            return Ok(conclude(&board));
        }
        sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// A trace that cannot be read is a failure.
fn conclude(board: &Board) -> ExitCode {
    let failures: Vec<_> = board.failures().collect();
    for (session, why) in &failures {
        terminal::complain(format_args!("process {}: {why}", session.pid));
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
