//! `lifetrace doctor`
//!
//! What matters most is tried, not guessed: a program is recorded, and one that runs is attached to, by this very
//! command. Each check gives [`Finding`]s, and knows what can be done.

mod finding;
mod program;
mod surroundings;
mod symbols;
mod trials;

use std::ffi::OsString;
use std::process::ExitCode;

use lifetrace_human::json_text;
use lifetrace_report::Page;

use crate::terminal;
use finding::{Document, Finding, State};

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Programs to look at as well: whether they can be recorded, and whether their functions have lines. They are not run
    program: Vec<OsString>,
    /// Write JSON (see docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace doctor
  lifetrace doctor ./server

Exit code: 0 if programs can be recorded here, else 1. Whatever else does not work is told with what can be done.";

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut findings = vec![surroundings::system()];
    findings.push(trials::recording());
    findings.push(trials::attaching());
    findings.push(symbols::of_the_c_library());
    findings.push(symbols::servers());
    findings.extend(surroundings::all());
    findings.extend(args.program.iter().flat_map(|name| program::examined(name)));
    let is_fine = !findings.iter().any(|it| it.is_needed && it.state == State::Fails);
    match args.json {
        true => terminal::print(&json_text::pretty(&Document { findings: &findings })?)?,
        false => terminal::print(&text(&findings))?,
    }
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(findings: &[Finding]) -> String {
    let mut page = Page::new(terminal::width());
    findings.iter().for_each(|finding| finding.show(&mut page));
    page.text
}
