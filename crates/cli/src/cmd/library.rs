//! `lifetrace library`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use lifetrace_recorder::preload;

use crate::{embedded, terminal};

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The folder to put it into; it is made if it is not there. Programs that have an earlier one loaded keep it
    #[arg(long, value_name = "DIR")]
    install: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace library --install /usr/lib/lifetrace
  eval \"$(lifetrace env --library /usr/lib/lifetrace --export)\"";

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = preload::install(&args.install, embedded::PRELOAD)
        .with_context(|| args.install.display().to_string())?;
    terminal::print(&format!("{}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}
