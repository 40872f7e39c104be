//! A process that nobody records: it is attached to, shown, and let go of.

use std::process::ExitCode;

use anyhow::{Context, bail};
use lifetrace_live::board::Board;
use lifetrace_recorder::{AttachConfig, Attachment, Format};
use tempfile::TempDir;

use super::launched::template;
use super::source::Source;
use super::{print_lines, screen};
use crate::cmd::record::options::How;
use crate::cmd::record::signals::Signals;
use crate::cmd::record::telling;
use crate::embedded;

/// A process that is recorded.
pub struct Attached {
    attachment: Attachment,
    keeps_trace: bool,
    /// Where its trace is, if nobody wants that.
    _folder: TempDir,
}

impl Attached {
    /// Attaches to it.
    ///
    /// # Errors
    /// If it cannot be attached to or recorded.
    pub fn start(pid: u32, how: How) -> anyhow::Result<Self> {
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
        let config = AttachConfig { pid, preload: embedded::PRELOAD, options };
        let attachment = Attachment::start(&config).map_err(|error| {
            anyhow::anyhow!("nobody records process {pid}, and it cannot be attached to: {error}")
        })?;
        Ok(Self { attachment, keeps_trace, _folder: folder })
    }

    /// Shows it until the page is left, or, as `lines` of JSON with so many callsites, until it ends or a signal comes; then
    /// lets go of it.
    ///
    /// # Errors
    /// The terminal's, or if the process could not be left as it was.
    pub fn show(self, board: Board, lines: Option<usize>) -> anyhow::Result<ExitCode> {
        let pid = self.attachment.pid();
        let source = Source::own_of(self.attachment.control(), pid);
        let shown = match lines {
            None => screen::show(board, source, Some(pid), None),
            Some(top) => {
                let signals = Signals::catch(None)?;
                signals.end_recording(self.attachment.control())?;
                print_lines(board, source, top)
            }
        };
        let (outcome, detached) = self.attachment.finish();
        if self.keeps_trace {
            telling::tell(&outcome, pid, false);
        }
        if let Err(error) = detached {
            bail!(
                "what was changed in process {pid} could not be put back: {error}; it does no harm, and `lifetrace detach` \
                 tries again"
            );
        }
        shown
    }
}
