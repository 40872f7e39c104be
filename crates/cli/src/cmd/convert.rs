//! `lifetrace convert`

use std::path::PathBuf;
use std::process::ExitCode;

use lifetrace_trace::transfer;

use crate::transfer::{Options, Otherwise, Transfer};

/// What may be typed.
#[derive(clap::Args)]
pub struct Args {
    /// The trace to read; - is standard input
    input: PathBuf,
    /// The trace to write; - is standard output
    output: PathBuf,
    #[command(flatten)]
    options: Options,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let otherwise = Otherwise::Refuse;
    let mut trace = Transfer::open(&args.input, &args.output, &args.options, otherwise)?;
    let info = trace.reader.info().clone();
    #[expect(clippy::redundant_closure, reason = "a function has one lifetime, a closure all")]
    let stopped = trace.write(&info, |reader, writer| transfer::copy(reader, writer))?;
    Ok(super::conclude(&trace.damages(stopped)))
}
