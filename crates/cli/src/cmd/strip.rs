//! `lifetrace strip`

use std::path::PathBuf;
use std::process::ExitCode;

use lifetrace_trace::transfer::{Strip, strip};

use crate::naming::{self, Verb};
use crate::transfer::{Options, Otherwise, Transfer};

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The trace to read; - is standard input
    input: PathBuf,
    /// The trace to write; - is standard output
    #[arg(short, long)]
    output: PathBuf,
    /// Leave out line numbers as well
    #[arg(long)]
    lines: bool,
    #[command(flatten)]
    options: Options,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace strip server.lt -o nameless.lt";

const VERB: Verb = Verb { name: "strip", writes_memtrace: true, has_format: true, option: "-o " };

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    naming::refuse(VERB, &args.output, args.options.format.is_some())?;
    let otherwise = Otherwise::AsInput;
    let mut trace = Transfer::open(&args.input, &args.output, &args.options, otherwise)?;
    let mut names = Strip::new(args.lines);
    let info = names.info(trace.reader.info());
    let stopped = trace.write(&info, |reader, writer| strip(reader, writer, &mut names))?;
    Ok(super::conclude(&trace.damages(stopped)))
}
