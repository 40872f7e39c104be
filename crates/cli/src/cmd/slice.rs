//! `lifetrace slice`
//!
//! The input is read twice. One that cannot be (a pipe) is copied to a temporary file first.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use lifetrace_human as human;
use lifetrace_import::Lack;
use lifetrace_study::input::Input;
use lifetrace_study::twice::Twice;
use lifetrace_trace::transfer::{Plan, Span, slice_if};

use super::record::quantity;
use crate::bar::Bar;
use crate::choosing;
use crate::naming::{self, Verb};
use crate::selection::Selection;
use crate::transfer::{Options, Otherwise, Transfer, read};

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The trace to read; - is standard input
    input: PathBuf,
    /// From when to when, since the trace's start: 10s-20s, 1.5m-, -500ms; all of it with --filter alone
    #[arg(long, value_name = "FROM-TO", value_parser = span, allow_hyphen_values = true)]
    #[arg(required_unless_present = "filter")]
    time: Option<Span>,
    #[command(flatten)]
    blocks: choosing::Blocks,
    /// The trace to write; - is standard output
    #[arg(short, long)]
    output: PathBuf,
    #[command(flatten)]
    options: Options,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace slice server.lt --time 10s-20s -o part.lt
  lifetrace slice server.lt --filter leaks -o leaks.lt";

const VERB: Verb = Verb { name: "slice", writes_memtrace: true, has_format: true, option: "-o " };

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    naming::refuse(VERB, &args.output, args.options.format.is_some())?;
    let filter = args.blocks.filter()?;
    let input = Twice::open(&args.input)?;
    if args.time.is_some() {
        let (origin, path) = lifetrace_study::origin_of(&input)?;
        origin.refuse(&path, "a slice of time", &[Lack::Times])?;
    }
    let quiet = args.options.quiet;
    let plan = plan(input.again()?, args.time.unwrap_or_default(), quiet)?;
    let (again, otherwise) = (input.again()?, Otherwise::AsInput);
    let mut trace = Transfer::begin(again, &args.input, &args.output, &args.options, otherwise)?;
    let mut selection = Selection::of(&input, &filter, trace.reader.info(), quiet)?;
    let info = plan.info(trace.reader.info());
    let stopped = trace.write(&info, |reader, writer| {
        selection.announce(&info, writer)?;
        slice_if(reader, writer, &plan, |reader, told| selection.keeps(reader, told))
    })?;
    Ok(super::conclude(&trace.damages(stopped)))
}

/// Finds out what the slice has in it.
fn plan(input: Input, span: Span, quiet: bool) -> anyhow::Result<Plan> {
    let (path, bytes) = (input.path.clone(), input.bytes);
    let mut reader = read(input)?.without_backtraces();
    let _bar = Bar::start(reader.progress(), bytes, quiet)?;
    // What stops it is met again.
    let (plan, _stopped) = Plan::new(&mut reader, span);
    if plan.duration().is_none() {
        let micros = reader.end_time().0.saturating_sub(reader.info().start_time.0);
        let lasts = human::duration(Duration::from_micros(micros));
        bail!("{}: ends before that\n  the trace lasts {lasts}", path.display());
    }
    Ok(plan)
}

/// `10s-20s`, `10s-`, `-20s`.
fn span(text: &str) -> Result<Span, String> {
    let parts = text.split_once('-').filter(|_| text != "-");
    let (from, to) = parts.ok_or("not a span of time such as 10s-20s, 10s- or -20s")?;
    let micros = |text: &str| match text {
        "" => Ok(None),
        _ => quantity::span(text).map(|span| u64::try_from(span.as_micros()).ok()),
    };
    let span = Span { from: micros(from)?, to: micros(to)? };
    match span.to.is_some_and(|to| to <= span.from.unwrap_or(0)) {
        true => Err("ends before it begins".to_owned()),
        false => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let check = |text, from, to| assert_eq!(span(text), Ok(Span { from, to }), "{text}");
        check("10s-20s", Some(10_000_000), Some(20_000_000));
        check("10s-", Some(10_000_000), None);
        check("-1.5m", None, Some(90_000_000));
        check("0s-500ms", Some(0), Some(500_000));
        check("999us-1h", Some(999), Some(3_600_000_000));
    }

    #[test]
    fn spans_that_make_no_sense() {
        for text in ["", "-", "10s", "10-20", "20s-10s", "1s-1s", "1s-2s-3s", "-0s", "a-b"] {
            assert!(span(text).is_err(), "{text}: {:?}", span(text));
        }
    }
}
