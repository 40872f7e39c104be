//! The verbs, in the order in which `--help` has them, and who does each.

use std::process::ExitCode;

use clap::Subcommand;

use crate::cmd;

/// What is to be done.
#[derive(Subcommand)]
pub enum Verb {
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
    /// Say what works on this machine and what does not, and what can be done
    Doctor(cmd::doctor::Args),
    /// Write a shell's completions of this command
    Completions(cmd::completions::Args),
    /// Show the manual's page of a verb, or write all pages
    Man(cmd::man::Args),
    /// Explain a verb, or a topic: `lifetrace help filters`
    Help(cmd::help::Args),
}

/// Does it. `command` makes the definition of all that may be typed.
pub fn run(verb: Verb, command: fn() -> clap::Command) -> anyhow::Result<ExitCode> {
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
        Verb::Doctor(args) => cmd::doctor::run(&args),
        Verb::Completions(args) => cmd::completions::run(&args, &mut command()),
        Verb::Man(args) => cmd::man::run(&args, command()),
        Verb::Help(args) => cmd::help::run(&args, command()),
    }
}
