//! `lifetrace check --repair`

use std::path::Path;
use std::process::ExitCode;

use lifetrace_human as human;
use lifetrace_trace::transfer::{Salvage, repair};

use crate::terminal;
use crate::transfer::{Options, Otherwise, Transfer};

/// Writes a whole trace of what can be read of a damaged or unfinished one, and says what was lost.
/// The end of the output's name says its format; else it is the input's.
///
/// # Errors
/// If nothing can be read, or the output cannot be written.
pub fn run(input: &Path, output: &Path, force: bool) -> anyhow::Result<ExitCode> {
    let options = Options { force, ..Options::default() };
    let mut trace = Transfer::open(input, output, &options, Otherwise::AsInput)?;
    let info = trace.reader.info().clone();
    #[expect(clippy::redundant_closure, reason = "a function has one lifetime, a closure all")]
    let mut salvage = trace.write(&info, |reader, writer| repair(reader, writer))?;
    let damages = trace.damages(salvage.stopped.take());
    damages.list().iter().for_each(terminal::complain);
    terminal::complain(summary(trace.output_name(), &salvage, damages.is_empty()));
    Ok(ExitCode::SUCCESS)
}

fn summary(output: &str, salvage: &Salvage, is_whole: bool) -> String {
    let count = |number: u64| human::count(number as f64);
    let mut text = format!("{output}: {} allocations", count(salvage.births));
    text += match is_whole {
        true => ", all that there were",
        false => " saved",
    };
    if salvage.missing > 0 {
        text += &format!(", {} missing", count(salvage.missing));
    }
    if salvage.orphans > 0 {
        let orphans = count(salvage.orphans);
        text += &format!("; left out: {orphans} promotions and deaths of missing ones");
    }
    text
}
