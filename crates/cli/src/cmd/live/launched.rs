//! A program that is started, recorded and shown. The terminal is the page's meanwhile: the program has no input from it,
//! and what it prints goes to a file, of which the end is printed when the page is gone.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use lifetrace_live::board::Board;
use lifetrace_recorder::{Config, Format, Recording};
use rustix::process::Signal;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use tempfile::TempDir;

use super::screen;
use super::source::Source;
use crate::cmd::record::options::How;
use crate::cmd::record::telling;
use crate::{embedded, terminal};

/// Of what the program has printed, so much of the end is printed again.
const PRINTED: u64 = 64 << 10;

/// A program that was told to end has this time for it.
const GRACE: Duration = Duration::from_secs(5);

/// A program that is recorded.
pub struct Launched {
    recording: Recording,
    /// Where its trace is, if nobody wants that, and what it prints.
    folder: TempDir,
    keeps_trace: bool,
}

impl Launched {
    /// Starts it.
    ///
    /// # Errors
    /// If it cannot be started or recorded.
    pub fn start(command: Vec<OsString>, how: How) -> anyhow::Result<Self> {
        let keeps_trace = how.output.is_some();
        let folder = tempfile::Builder::new().prefix("lifetrace-live-").tempdir();
        let folder = folder.context("a folder for the trace")?;
        let mut options = how.into_options()?;
        if options.format != Format::Lt {
            bail!("live reads the trace while it is written, which must be a .lt trace for that");
        }
        if !keeps_trace {
            options.output = template(folder.path()).into();
            // Nobody will ever read what that finds.
            options.looks_for_lost = false;
        }
        let config = Config { command, preload: embedded::PRELOAD, options };
        let borrowed = Streams::lend(&printed(folder.path()))?;
        let recording = Recording::start(&config);
        drop(borrowed);
        Ok(Self { recording: recording?, folder, keeps_trace })
    }

    /// Shows it until the page is left, and ends it then if it has not ended.
    ///
    /// # Errors
    /// The terminal's.
    pub fn show(self, board: Board) -> anyhow::Result<ExitCode> {
        let source = Source::own(self.recording.control());
        let first = Some(self.recording.pid());
        let shown = thread::scope(|threads| {
            // How it ends is in its trace for that.
            threads.spawn(|| self.recording.wait_for_command());
            let shown = screen::show(board, source, first, Some(&self.recording));
            self.end();
            shown
        });
        let outcome = self.recording.finish();
        if self.keeps_trace {
            telling::tell(&outcome, self.recording.pid(), false);
        }
        // What it has printed is worth less than why the page could not be shown.
        let _ = print_end_of(&printed(self.folder.path()));
        shown
    }

    /// It has been asked whether that is wanted.
    fn end(&self) {
        let control = self.recording.control();
        if self.recording.living_processes() > 0 {
            control.forward(Signal::TERM.as_raw());
        }
        if !self.recording.wait_for_others(Some(Instant::now() + GRACE)) {
            terminal::complain(format_args!(
                "{} of its processes do not end; they go on, and are not recorded any more",
                self.recording.living_processes()
            ));
        }
        control.stop();
    }
}

/// Names of traces in a folder; a percent sign in its name stands for itself.
pub(super) fn template(folder: &Path) -> OsString {
    let folder = folder.to_string_lossy().replace('%', "%%");
    format!("{folder}/lifetrace.%e.%p.lt").into()
}

/// Where the program prints to.
fn printed(folder: &Path) -> PathBuf {
    folder.join("printed")
}

/// Our streams, as long as the program's are in their place: what is started has them.
struct Streams([OwnedFd; 3]);

impl Streams {
    /// No input, and output to a file where it would be on the terminal.
    fn lend(file: &Path) -> anyhow::Result<Self> {
        let own = Self([
            io::stdin().as_fd().try_clone_to_owned()?,
            io::stdout().as_fd().try_clone_to_owned()?,
            io::stderr().as_fd().try_clone_to_owned()?,
        ]);
        let output = File::create(file).context("a file for what the program prints")?;
        if io::stdin().is_terminal() {
            dup2_stdin(File::open("/dev/null")?)?;
        }
        if io::stdout().is_terminal() {
            dup2_stdout(&output)?;
        }
        if io::stderr().is_terminal() {
            dup2_stderr(&output)?;
        }
        Ok(own)
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        let [stdin, stdout, stderr] = &self.0;
        // They were open before.
        let _ = dup2_stdin(stdin);
        let _ = dup2_stdout(stdout);
        let _ = dup2_stderr(stderr);
    }
}

fn print_end_of(path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > PRINTED {
        terminal::complain(format_args!(
            "the last {PRINTED} of {length} bytes that the program has printed:"
        ));
        file.seek(SeekFrom::Start(length - PRINTED))?;
    }
    let mut printed = Vec::new();
    file.take(PRINTED).read_to_end(&mut printed)?;
    io::stdout().lock().write_all(&printed)
}
