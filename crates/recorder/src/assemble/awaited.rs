//! The process's managed runtime, as its agent tells of it. One that ran already when its process was attached to is heard
//! from the moment on at which it comes to a place where that can begin.

use std::io;
use std::time::Duration;

use lifetrace_trace::fact::Fact;
use lifetrace_transport::message::MonotonicNanos;
use lifetrace_transport::sources::SourceName;

use super::Assembler;
use crate::clock::monotonic_now;
use crate::notice::Notice;
use crate::runtimes;

/// Since when which runtime is awaited; none if it is heard from the start, or has been met.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Awaited(Option<(SourceName, MonotonicNanos)>);

impl Assembler {
    /// Has it note when the runtime is met, if one is awaited.
    pub(crate) fn awaiting(mut self, runtime: Option<SourceName>) -> Self {
        self.awaited = Awaited(runtime.map(|name| (name, monotonic_now())));
        self
    }

    /// Whether the agent has met a managed runtime.
    pub(crate) fn has_runtime(&self) -> bool {
        self.process.as_ref().is_some_and(|process| !process.runtime_version.is_empty())
    }

    /// The process has a runtime of this name and version. One that is not known has a name all the same.
    pub(super) fn name_runtime(&mut self, name: SourceName, version: &[u8]) -> io::Result<()> {
        if let Some(language) = runtimes::language(name) {
            self.places.are_of(language);
        }
        let Some(process) = &mut self.process else { return Ok(()) };
        process.runtime = name.to_string().into();
        process.runtime_version = String::from_utf8_lossy(version).into();
        let told = Fact::Process(process.clone());
        self.fact(self.last_time, &told)?;
        self.write_heard(name)
    }

    /// The runtime has been met.
    fn write_heard(&mut self, name: SourceName) -> io::Result<()> {
        let Some((_, since)) = self.awaited.0.take_if(|(awaited, _)| *awaited == name) else {
            return Ok(());
        };
        let after = Duration::from_nanos(self.last_time.0.saturating_sub(since.0));
        self.notice(Notice::HeardFrom(name, after))
    }

    /// At the end: says that it has not been met, if that is so.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn write_unheard(&mut self) -> io::Result<()> {
        let Some((name, _)) = self.awaited.0.take() else { return Ok(()) };
        let is_explained = self.notices.iter().any(|it| matches!(it, Notice::OfRuntime(_)));
        if is_explained { Ok(()) } else { self.notice(Notice::NeverHeard(name)) }
    }
}
