//! `lifetrace convert`

use std::path::PathBuf;
use std::process::ExitCode;

use lifetrace_study::twice::Twice;
use lifetrace_trace::transfer::copy_if;

use crate::choosing;
use crate::naming::{self, Verb};
use crate::selection::Selection;
use crate::transfer::{Options, Otherwise, Transfer};

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The trace to read; - is standard input
    input: PathBuf,
    /// The trace to write; - is standard output
    output: PathBuf,
    #[command(flatten)]
    blocks: choosing::Blocks,
    #[command(flatten)]
    options: Options,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace convert server.lt server.ctf     for Memtrace's viewer
  lifetrace convert server.ctf server.lt";

const VERB: Verb = Verb { name: "convert", writes_memtrace: true, has_format: true, option: "" };

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    naming::refuse(VERB, &args.output, args.options.format.is_some())?;
    let (mut trace, mut selection) = open(&args)?;
    let info = trace.reader.info().clone();
    let stopped = trace.write(&info, |reader, writer| {
        selection.announce(&info, writer)?;
        copy_if(reader, writer, |reader, told| selection.keeps(reader, told))
    })?;
    Ok(super::conclude(&trace.damages(stopped)))
}

/// A filter may have to read the trace before.
fn open(args: &Args) -> anyhow::Result<(Transfer, Selection)> {
    let Args { input, output, blocks, options } = args;
    let filter = blocks.filter()?;
    let otherwise = Otherwise::Refuse;
    if filter.is_empty() {
        let trace = Transfer::open(input, output, options, otherwise)?;
        return Ok((trace, Selection::all()));
    }
    let twice = Twice::open(input)?;
    let trace = Transfer::begin(twice.again()?, input, output, options, otherwise)?;
    let selection = Selection::of(&twice, &filter, trace.reader.info(), options.quiet)?;
    Ok((trace, selection))
}
