//! Which spans threads are in, as the recorder is told.
//!
//! A thread's *path* is the names of its spans, outermost first; it never goes away. It is sent to the recorder
//! with the next sample only, if it has changed since the last.

use std::cell::Cell;

use lifetrace_agent::guard::Entered;
use lifetrace_transport::message::{
    Body, FrameKind, FrameName, Frames, MANAGED_FRAME, MemoryKind, SPAN_FRAME,
};

use crate::name_once::NameOnce;

/// A span, and those around it.
#[derive(Debug)]
pub(crate) struct SpanPath {
    pub(crate) outer: Option<&'static SpanPath>,
    pub(crate) name: &'static str,
    /// Where in the source it is, if that is known.
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    /// From 0, each once.
    pub(crate) number: u32,
    /// How many there are around it.
    pub(crate) depth: u32,
    pub(crate) sent: NameOnce,
}

/// The most spans inside one another.
pub(crate) const DEEPEST: u32 = 64;

thread_local! {
    /// The session, and what it knows of this thread.
    static SENT: Cell<(u32, Option<u32>)> = const { Cell::new((0, None)) };
}

/// Has the recorder know that this thread is in the span of `path`.
pub(crate) fn send(at: &mut Entered, path: Option<&'static SpanPath>) {
    let session = at.session().number;
    let known = Some(SENT.get()).filter(|sent| sent.0 == session).and_then(|sent| sent.1);
    let number = path.map(|path| path.number);
    if known != number && send_path(at, path) {
        SENT.set((session, number));
    }
}

#[cold]
fn send_path(at: &mut Entered, path: Option<&'static SpanPath>) -> bool {
    let mut frames = [0; DEEPEST as usize];
    let mut depth = 0;
    let path = std::iter::successors(path, |path| path.outer);
    for (frame, path) in frames.iter_mut().zip(path) {
        path.send(at);
        *frame = MANAGED_FRAME | path.frame();
        depth += 1;
    }
    at.send(Body::Context { frames: Frames::Words(&frames[..depth]) })
}

impl SpanPath {
    fn frame(&self) -> u64 {
        SPAN_FRAME | (u64::from(MemoryKind::MOST) + u64::from(self.number))
    }

    fn send(&self, at: &mut Entered) {
        let name = FrameName {
            frame: self.frame(),
            kind: FrameKind::default(),
            is_first: true,
            is_last: true,
            line: self.line,
            start_char: 0,
            end_char: 0,
            function: self.name.as_bytes(),
            file: self.file.as_bytes(),
        };
        self.sent.send(at, name);
    }
}
