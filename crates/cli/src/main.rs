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
//! tips       what may have been meant
//! verb       the list of verbs                             front, topics     what newcomers see, what `help` explains
//! ```
#![forbid(unsafe_code)]

mod bar;
mod choosing;
mod cmd;
mod embedded;
mod front;
mod gates;
mod naming;
mod output;
mod selection;
mod terminal;
mod tips;
mod topics;
mod transfer;
mod typed;
mod verb;
mod viewing;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use lifetrace_analysis::filter::ParseError;

use verb::Verb;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: lifetrace_recorder::Allocator = lifetrace_recorder::Allocator;

/// Watches the whole life of sampled allocations, in programs as they are.
#[derive(Parser)]
#[command(
    name = "lifetrace",
    version,
    long_version = front::LONG_VERSION.as_str(),
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "`lifetrace help TOPIC` explains: filters, sampling, reports, attaching, collecting and more."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

fn main() -> ExitCode {
    if std::env::args_os().len() == 1 {
        terminal::advise(front::FIRST);
        return ExitCode::from(2);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(error),
    };
    verb::run(cli.verb, Cli::command).unwrap_or_else(|error| {
        if terminal::is_closed_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        terminal::complain(format_args!("{error:#}"));
        // What is wrong with the command line is 2, as clap has it.
        if error.is::<ParseError>() { ExitCode::from(2) } else { ExitCode::FAILURE }
    })
}

/// Says what is wrong with the command line, or what was asked for: help, or the version.
fn refuse(mut error: clap::Error) -> ExitCode {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    tips::add(&mut error, &words.collect::<Vec<_>>());
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
