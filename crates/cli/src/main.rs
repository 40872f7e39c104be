//! The `lifetrace` command.
//!
//! Reports go to stdout, messages to stderr. Exit codes: 0 is success, 1 a failure, a damaged
//! trace (whatever could be read has been reported) or a condition of `--fail-if` that is true, 2 a
//! command line that makes no sense. `record` passes on the exit code of the program it ran, and ends
//! with 125 for anything of its own.
//!
//! ```text
//! cmd/*      what may be typed, and what is done then     choosing, typed   what many verbs take
//! gates      conditions of --fail-if, and the exit code   naming            names of outputs
//! transfer   from one trace to another                    selection         some blocks of it only
//! output     where to                                     bar, terminal     what is shown meanwhile
//! viewing    pages for browsers                            embedded          the library that goes into programs
//! ```
#![forbid(unsafe_code)]

mod bar;
mod choosing;
mod cmd;
mod embedded;
mod gates;
mod naming;
mod output;
mod selection;
mod terminal;
mod transfer;
mod typed;
mod viewing;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use lifetrace_analysis::filter::ParseError;

/// Watches the whole life of sampled allocations, in programs as they are.
#[derive(Parser)]
#[command(name = "lifetrace", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a program and record its allocations
    #[command(alias = "run")]
    Record(cmd::record::Args),
    /// Record a process that runs already
    ///
    /// Nothing has to be prepared in it, and it is not restarted. What is sampled is what it allocates from then on: blocks
    /// from before are not known.
    Attach(Box<cmd::attach::Args>),
    /// End the recording of a process that was attached to
    Detach(cmd::detach::Args),
    /// Record all processes that find it, for as long as it runs: a service
    ///
    /// They find it by two environment variables, which `lifetrace env` prints. Finished traces are in a folder, cut by time
    /// and size; docs/collector.md says how to run it for months.
    Collect(Box<cmd::collect::Args>),
    /// Print the environment variables by which programs find `lifetrace collect`
    Env(cmd::env::Args),
    /// Put the library down that programs load, for images of containers and for `lifetrace env`
    Library(cmd::library::Args),
    /// Show how much was allocated and by whom
    Report(cmd::report::Args),
    /// Show traces in a browser, with every question at the mouse
    ///
    /// Makes one page that needs nothing from anywhere, in a private folder, and opens it. Whatever it shows first, it has
    /// all of the traces: docs/viewer.md. `lifetrace export -F html` writes the same page to a file.
    View(Box<cmd::view::Args>),
    /// Show what changed between traces, and whether that is more than noise
    Diff(Box<cmd::diff::Args>),
    /// Show what a trace is of, and what is in it
    Info(cmd::info::Args),
    /// Say how densely to sample so that a leak is seen, and what a given interval shows
    Rate(cmd::rate::Args),
    /// Write all events as text, one per line
    Dump(cmd::dump::Args),
    /// Verify traces: whether everything in them can be read
    Check(cmd::check::Args),
    /// Rewrite a trace in another format, or what is left of a damaged one
    Convert(cmd::convert::Args),
    /// Read what another memory profiler wrote: heaptrack, DHAT, massif, pprof, jemalloc, memray, V8
    ///
    /// Writes a trace, so that all reports and views work on it. docs/import.md says what each kind of
    /// file tells and what it does not. Of a dump of Ruby's heap it writes a snapshot.
    Import(cmd::import::Args),
    /// Cut a span of time out of a trace, or some blocks
    ///
    /// Blocks that are alive when the slice begins are born there; those that are alive at its end
    /// live on. What lasts (the process, samplers, modules, labels) is kept, counters and markers only
    /// if they are within. A filter is of the whole input, whatever the span.
    Slice(cmd::slice::Args),
    /// Make one trace of the files that `lifetrace collect` has written of a process
    Join(cmd::join::Args),
    /// Copy a trace without its names, so that it can be shown to others
    ///
    /// Functions, files, modules, the executable, its arguments, the host, threads, markers and the
    /// values of labels get pseudonyms (f1, s2.ml, m3.so), the same one wherever they occur; addresses
    /// become small numbers, build ids go. Sizes, times, the shape of backtraces, line numbers,
    /// processes' numbers, keys of labels and versions stay.
    Strip(cmd::strip::Args),
    /// Write a trace as other programs read it: pprof, flame graphs and the like
    Export(cmd::export::Args),
    /// Show what programs hold now, while they run, and how that changes
    ///
    /// A page like top's, once a second, of a program that it runs, or of one that is being recorded: live bytes and their
    /// growth by callsite, the calls that lead there, lifetimes, and what changed since a moment: docs/live.md.
    Live(Box<cmd::live::Args>),
    /// Show what is being recorded on this machine, and by whom
    Ps(cmd::ps::Args),
    /// Take a snapshot of the heap of a process that is being recorded
    Snapshot(cmd::snapshot::Args),
    /// Show what is on a heap, what holds it, and what would go with what
    Heap(cmd::heap::Args),
    /// Write a shell's completions of this command
    Completions(cmd::completions::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    run(cli.verb).unwrap_or_else(|error| {
        if terminal::is_closed_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        terminal::complain(format_args!("{error:#}"));
        // What is wrong with the command line is 2, as clap has it.
        if error.is::<ParseError>() { ExitCode::from(2) } else { ExitCode::FAILURE }
    })
}

/// Says what is wrong with the command line, or what was asked for: help, or the version.
fn refuse(error: &clap::Error) -> ExitCode {
    // Nobody is left to hear that this can't be printed.
    let _ = error.print();
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ if is_record(std::env::args_os().nth(1)) => ExitCode::from(cmd::record::OUR_FAILURE),
        code => ExitCode::from(u8::try_from(code).unwrap_or(1)),
    }
}

/// A program that is run may end with any small number itself.
fn is_record(verb: Option<std::ffi::OsString>) -> bool {
    verb.is_some_and(|verb| verb == "record" || verb == "run")
}

fn run(verb: Verb) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Record(args) => cmd::record::run(args),
        Verb::Attach(args) => cmd::attach::run(*args),
        Verb::Detach(args) => cmd::detach::run(&args),
        Verb::Collect(args) => cmd::collect::run(*args),
        Verb::Env(args) => cmd::env::run(&args),
        Verb::Library(args) => cmd::library::run(&args),
        Verb::Report(args) => cmd::report::run(args),
        Verb::View(args) => cmd::view::run(*args),
        Verb::Diff(args) => cmd::diff::run(*args),
        Verb::Info(args) => cmd::info::run(args),
        Verb::Rate(args) => cmd::rate::run(args),
        Verb::Dump(args) => cmd::dump::run(args),
        Verb::Check(args) => cmd::check::run(args),
        Verb::Convert(args) => cmd::convert::run(args),
        Verb::Import(args) => cmd::import::run(args),
        Verb::Slice(args) => cmd::slice::run(args),
        Verb::Join(args) => cmd::join::run(&args),
        Verb::Strip(args) => cmd::strip::run(args),
        Verb::Export(args) => cmd::export::run(args),
        Verb::Live(args) => cmd::live::run(*args),
        Verb::Ps(args) => cmd::ps::run(&args),
        Verb::Snapshot(args) => cmd::snapshot::run(args),
        Verb::Heap(args) => cmd::heap::run(args),
        Verb::Completions(args) => cmd::completions::run(&args, &mut Cli::command()),
    }
}
