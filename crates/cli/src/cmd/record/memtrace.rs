//! `record --memtrace`: a program's own Memtrace writes the trace, and we make it ours.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf, absolute};

use anyhow::Context;
use lifetrace_recorder::{CommandEnd, Config, Format, MemtraceRun};
use lifetrace_trace::transfer;

use super::signals::Signals;
use crate::terminal;
use crate::transfer::{FormatName, Options, Otherwise, Transfer};

/// The program's end, and its trace; none if it has not written any.
pub(super) struct Recorded {
    pub(super) end: CommandEnd,
    pub(super) pid: u32,
    pub(super) trace: Option<PathBuf>,
}

/// Runs it to its end.
///
/// # Errors
/// If it cannot be started, has no Memtrace, or its trace cannot be written where it is to be. What it has
/// written then stays.
pub(super) fn record(config: &Config) -> anyhow::Result<Recorded> {
    let signals = Signals::catch(None)?;
    let output = config.options.output.template().context("Memtrace writes to a file")?;
    let own = own_trace(output)?;
    let mut run = MemtraceRun::start(&config.command, &config.options, own.clone())?;
    let control = run.control();
    signals.pass_on(move |signal| control.forward(signal))?;
    let end = run.wait()?;
    let pid = run.pid();
    if !own.metadata().is_ok_and(|metadata| metadata.len() > 0) {
        // It may have been made and not written to.
        let _ = std::fs::remove_file(&own);
        return Ok(Recorded { end, pid, trace: None });
    }
    let trace = keep(&own, &mut run, config.options.format);
    let trace = trace.with_context(|| format!("what Memtrace has written is {}", own.display()))?;
    std::fs::remove_file(&own)?;
    Ok(Recorded { end, pid, trace: Some(trace) })
}

/// Puts what Memtrace has written where the user wants it.
fn keep(own: &Path, run: &mut MemtraceRun, format: Format) -> anyhow::Result<PathBuf> {
    let (trace, mut file) = run.create_trace()?;
    match format {
        Format::Memtrace => drop(std::io::copy(&mut File::open(own)?, &mut file)?),
        Format::Lt => convert(own, &trace)?,
    }
    Ok(trace)
}

/// Where Memtrace is to write: beside its trace's place, by our number, since it has none yet.
fn own_trace(output: &OsStr) -> anyhow::Result<PathBuf> {
    let output = absolute(Path::new(output))?;
    Ok(output.with_file_name(format!(".memtrace.{}.ctf", std::process::id())))
}

/// The file is there: it has been made for this.
fn convert(own: &Path, trace: &Path) -> anyhow::Result<()> {
    let format = Some(FormatName::Lt);
    let options = Options { force: true, format, quiet: true, ..Options::default() };
    let mut transfer = Transfer::open(own, trace, &options, Otherwise::Refuse)?;
    let info = transfer.reader.info().clone();
    #[expect(clippy::redundant_closure, reason = "a function has one lifetime, a closure all")]
    let stopped = transfer.write(&info, |reader, writer| transfer::copy(reader, writer))?;
    if let Some(stopped) = stopped {
        terminal::complain(format_args!("Memtrace's trace ends early: {stopped}"));
    }
    Ok(())
}
