//! `lifetrace detach`

use std::process::ExitCode;

use lifetrace_recorder::Detached;

use super::record::quantity;
use crate::terminal;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The process: one that `lifetrace attach` records
    #[arg(value_parser = quantity::pid)]
    pid: u32,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace detach $(pidof server)";

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let pid = args.pid;
    let detached = lifetrace_recorder::detach(pid)
        .map_err(|error| anyhow::anyhow!("cannot detach from process {pid}: {error}"))?;
    if !args.quiet {
        terminal::complain(match detached {
            Detached::ByRecorder(recorder) => {
                format!("process {recorder}, which recorded process {pid}, has ended the recording")
            }
            Detached::WithoutRecorder => format!(
                "the recorder of process {pid} was gone, and has left a trace without an end; what it had changed is put back"
            ),
        });
    }
    Ok(ExitCode::SUCCESS)
}
