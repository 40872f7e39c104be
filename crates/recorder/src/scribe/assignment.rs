//! What a session's thread begins with.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Parent;

use crate::clock::Anchor;
use crate::heap;
use crate::notice::Notice;
use crate::patch::Allocators;
use crate::process::ProcessImage;
use crate::queue::Numbers;
use crate::runtimes::{Programs, SourceChoice};
use crate::samplers::Samplers;
use crate::sink::Destination;
use crate::symbolizer::Symbolizer;

/// What a trace is to be about, and where it goes.
pub(crate) struct Assignment {
    /// Empty if there is no file.
    pub(crate) path: PathBuf,
    pub(crate) destination: Option<Destination>,
    /// What is written beside.
    pub(crate) heap: Option<Arc<Mutex<heap::State>>>,
    pub(crate) info: TraceInfo,
    pub(crate) samplers: Samplers,
    pub(crate) notice: Option<Notice>,
    pub(crate) wanted: SourceChoice,
    /// To be asked whether the program hides a runtime that is wanted, if anybody cares.
    pub(crate) programs: Option<Arc<Programs>>,
    /// To be asked whether the program hides an allocator, if anybody cares.
    pub(crate) allocators: Option<Arc<Allocators>>,
    /// It has one that does not hide and cannot be hooked.
    pub(crate) has_unhooked: bool,
    /// If its session begins in the midst of its life.
    pub(crate) late: Option<Notice>,
    /// Its runtime runs already, and is heard as soon as it comes to a place where that can begin.
    pub(crate) awaits_runtime: bool,
    pub(crate) process: ProcessImage,
    pub(crate) parent: Option<Parent>,
    pub(crate) anchor: Anchor,
    pub(crate) symbolizer: Arc<Symbolizer>,
    /// Set here when the trace cannot be written any more.
    pub(crate) failed: Arc<AtomicBool>,
    /// Where to leave what the samples are called that live at the end, if anybody may want to know.
    pub(crate) last_numbers: Option<Arc<OnceLock<Numbers>>>,
}

impl Assignment {
    /// What the trace is to say of the process from the start.
    pub(super) fn first_notice(&self) -> Option<Notice> {
        let program = self.programs.as_ref().zip(self.process.executable_file.as_ref());
        let is_open = self.notice.as_ref().is_none_or(Notice::is_of_absence);
        let hidden = program.filter(|_| is_open).and_then(|(programs, program)| {
            programs.hidden(program, |runtime| self.wanted.wants(runtime))
        });
        hidden.map(|runtime| Notice::OfRuntime(runtime.hidden())).or_else(|| self.notice.clone())
    }

    /// Whether the program has an allocator of its own that cannot be hooked.
    pub(super) fn has_unhooked_allocator(&self) -> bool {
        let program = self.allocators.as_ref().zip(self.process.executable_file.as_ref());
        let is_hidden = || program.is_some_and(|(them, program)| them.is_hidden(program));
        self.has_unhooked || is_hidden()
    }
}
