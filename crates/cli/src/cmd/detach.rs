//! `lifetrace detach`

use std::process::ExitCode;

use lifetrace_recorder::{AttachError, Detached, recorder_of};

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
    let detached = lifetrace_recorder::detach(pid).map_err(|error| {
        anyhow::anyhow!("cannot detach from process {pid}: {}", why(pid, &error))
    })?;
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

/// What is recorded from its start on is not attached to, and its recording ends otherwise.
fn why(pid: u32, error: &AttachError) -> String {
    let recorder = matches!(error, AttachError::NotAttached).then(|| recorder_of(pid, false).ok());
    match recorder.flatten() {
        None => error.to_string(),
        Some(recorder) if recorder.pid == pid => {
            "it records itself, by the library that it has linked in: whatever began that in it ends it".to_owned()
        }
        Some(recorder) if recorder.command.split_whitespace().nth(1) == Some("collect") => format!(
            "it is recorded by `lifetrace collect` (process {0}), which records others too: its trace ends with it, or with \
             that process (`kill -INT {0}`)",
            recorder.pid
        ),
        Some(recorder) => format!(
            "it is recorded by `lifetrace record` (process {0}), and not attached to: its trace ends with it; to end it \
             sooner, and let it go on: kill -INT {0}; sleep 0.2; kill -INT {0}",
            recorder.pid
        ),
    }
}
