//! `lifetrace join`

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use lifetrace_study::succession::{Part, arrange, join};

use crate::naming::{self, Verb};
use crate::terminal;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The files of one process, in any order
    #[arg(required = true, value_name = "TRACE")]
    inputs: Vec<PathBuf>,
    /// The trace to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Overwrite a file that exists
    #[arg(short, long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace join /var/lib/lifetrace/lifetrace.server.1234.*.lt -o server.lt";

const VERB: Verb = Verb { name: "join", writes_memtrace: false, has_format: false, option: "-o " };

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    naming::refuse(VERB, &args.output, false)?;
    let mut parts: Vec<Part> =
        args.inputs.iter().map(|path| Part::open(path)).collect::<anyhow::Result<_>>()?;
    arrange(&mut parts)?;
    let output = create(&args.output, args.force)?;
    let joined = join(&mut parts, &output);
    for (path, why) in joined.with_context(|| args.output.display().to_string())? {
        terminal::complain(format_args!("{}: {why}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn create(path: &Path, force: bool) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(!force).create(force).truncate(force);
    options.open(path).with_context(|| path.display().to_string())
}
