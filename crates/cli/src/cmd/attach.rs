//! `lifetrace attach`

use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use lifetrace_human::duration;
use lifetrace_recorder::{AttachConfig, Attachment, AttachmentEnd};

use super::record::options::{Options, Verbosity};
use super::record::progress::ProgressLine;
use super::record::quantity;
use super::record::signals::Signals;
use super::record::{AFTERLIFE, tell, telling};
use crate::{embedded, terminal};

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The process
    #[arg(value_parser = quantity::pid)]
    pid: u32,
    #[command(flatten)]
    options: Options,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace attach $(pidof server) --duration 30s
  lifetrace report lifetrace.server.1234.lt
Ctrl-C, SIGTERM or `lifetrace detach PID` end it, too: then the trace is written, and the process is as it was before. \
docs/attach.md says what is done to it, and what it costs.";

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { pid, options } = args;
    let (verbosity, snapshot_on) = (options.verbosity(), options.snapshot_signal());
    let config = AttachConfig { pid, preload: embedded::PRELOAD, options: options.into_options()? };
    let signals = Signals::catch(snapshot_on)?;
    let attachment = Attachment::start(&config)
        .map_err(|error| anyhow::anyhow!("cannot attach to process {pid}: {error}"))?;
    signals.end_recording(attachment.control())?;
    begin(&attachment, verbosity);
    wait(&attachment, verbosity)?;
    finish(&attachment, verbosity)
}

/// What has been done to the process, for those who want to know.
fn begin(attachment: &Attachment, verbosity: Verbosity) {
    if attachment.is_filtered() {
        terminal::complain(format_args!(
            "process {} filters its system calls (seccomp): what it forbids could have ended it; its children are not \
             recorded",
            attachment.pid()
        ));
    }
    if verbosity.quiet {
        return;
    }
    let pauses = attachment.pauses();
    terminal::complain(format_args!(
        "attached to process {} after {}: all of its threads ({}) stood still for {}, and one of them was borrowed for {} \
         before; Ctrl-C ends the recording",
        attachment.pid(),
        duration(pauses.took),
        pauses.threads,
        duration(pauses.all),
        duration(pauses.borrowed),
    ));
}

fn wait(attachment: &Attachment, verbosity: Verbosity) -> anyhow::Result<()> {
    let line = match verbosity.progress {
        Some(false) => ProgressLine::none(),
        wish => ProgressLine::start(attachment.control(), wish.is_some())?,
    };
    if attachment.wait() == AttachmentEnd::Ended
        && !attachment.wait_for_others(Some(Instant::now() + AFTERLIFE))
    {
        let count = attachment.living_processes();
        if !verbosity.quiet && count > 0 {
            line.say(format_args!(
                "the process has ended; still recording what it has started, {count} in number (Ctrl-C ends that)"
            ));
        }
        attachment.wait_for_others(None);
    }
    Ok(())
}

fn finish(attachment: &Attachment, verbosity: Verbosity) -> anyhow::Result<ExitCode> {
    let (outcome, detached) = attachment.finish();
    tell(&outcome, attachment.pid(), verbosity);
    if let Err(error) = detached {
        bail!(
            "what was changed in process {} could not be put back: {error}; it does no harm, and `lifetrace detach` tries \
             again",
            attachment.pid()
        );
    }
    let has_failed = telling::has_failed(&outcome);
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
