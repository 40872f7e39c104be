//! `lifetrace record`

mod sampling;
mod signals;
mod telling;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lifetrace_recorder::{
    CollectorOptions, CommandEnd, Config, DEFAULT_TEMPLATE, LaunchError, Outcome, Rate, Recording,
    StartError,
};

use crate::{embedded, terminal};
use signals::Signals;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// Trace file; %p is the process id, %e the program, %% a percent sign. Where a name is needed
    /// twice, .2, .3 and so on is put before its suffix
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_TEMPLATE)]
    output: OsString,
    /// Overwrite trace files that exist
    #[arg(short, long)]
    force: bool,
    /// Sample once in so many bytes on average: 4096, 64KiB, 1MB; 1 records everything
    #[arg(long, value_name = "SIZE", default_value = "512KiB", value_parser = sampling::interval)]
    interval: Rate,
    /// Sample each byte with this probability: 1e-5; 1 records everything
    #[arg(long, value_name = "R", value_parser = sampling::rate, conflicts_with = "interval")]
    rate: Option<Rate>,
    /// Seed of the sampler; the same one gives a single-threaded program the same samples
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print the report of the command's trace, too
    #[arg(long)]
    report: bool,
    /// Say nothing but errors and losses
    #[arg(short, long)]
    quiet: bool,
    /// Do not trace processes that the command starts
    #[arg(long)]
    no_children: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const EXIT_CODES: &str = "\
Exit code: the command's own, 128 + N if signal N killed it; 125 if lifetrace failed, 126 if the \
command cannot be executed, 127 if it is not found.";

/// Of `record`, since every code from 0 to 124 may be the command's.
pub const OUR_FAILURE: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// As a shell that was interrupted.
const INTERRUPTED: u8 = 130;

/// What a command leaves behind is mentioned when it lives longer than this.
const AFTERLIFE: Duration = Duration::from_secs(1);

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (report, quiet) = (args.report, args.quiet);
    let code = match record(&args.into_config(), report, quiet) {
        Ok(code) => code,
        Err(failure) => {
            terminal::complain(format_args!("{failure:#}"));
            failure.downcast_ref().map_or(OUR_FAILURE, code_of)
        }
    };
    Ok(ExitCode::from(code))
}

impl Args {
    fn into_config(self) -> Config {
        let options = CollectorOptions {
            output: self.output,
            overwrite: self.force,
            rate: self.rate.unwrap_or(self.interval),
            seed: self.seed.unwrap_or_else(sampling::random_seed),
            follow_children: !self.no_children,
        };
        Config { command: self.command, preload: embedded::PRELOAD, options }
    }
}

fn record(config: &Config, report: bool, quiet: bool) -> anyhow::Result<u8> {
    let signals = Signals::catch()?;
    let recording = Recording::start(config)?;
    let signals = signals.attend(recording.control())?;
    let end = recording.wait_for_command();
    signals.command_has_ended();
    if end != CommandEnd::Abandoned {
        wait_for_others(&recording, quiet);
    }
    let command = recording.pid();
    let outcome = recording.finish();
    telling::tell(&outcome, command, quiet);
    if report {
        telling::report(&outcome, command);
    }
    Ok(exit_code(end, &outcome))
}

fn wait_for_others(recording: &Recording, quiet: bool) {
    if recording.wait_for_others(Some(Instant::now() + AFTERLIFE)) {
        return;
    }
    if !quiet {
        let doing = match recording.living_processes() {
            0 => "writing traces".to_owned(),
            1 => "recording a process that it has started (Ctrl-C ends that)".to_owned(),
            count => format!("recording {count} processes that it has started (Ctrl-C ends that)"),
        };
        terminal::complain(format_args!("the command has ended; still {doing}"));
    }
    recording.wait_for_others(None);
}

/// The command's own, unless that would hide a failure of ours behind a success.
fn exit_code(end: CommandEnd, outcome: &Outcome) -> u8 {
    match end {
        CommandEnd::Exited(0) if telling::has_failed(outcome) => OUR_FAILURE,
        CommandEnd::Exited(code) => code as u8,
        CommandEnd::Killed(signal) => 128 + signal as u8,
        CommandEnd::Abandoned => INTERRUPTED,
    }
}

fn code_of(error: &StartError) -> u8 {
    match error {
        StartError::Launch(LaunchError::NotFound(_)) => NOT_FOUND,
        StartError::Launch(LaunchError::NotExecutable { .. }) => NOT_EXECUTABLE,
        _ => OUR_FAILURE,
    }
}
