//! What threads are at, in the program's own terms, as the recorder is told.
//!
//! A thread's *place* is a path of names, outermost first, that never goes away. The recorder is told of it
//! with the next sample only, if it has changed since the last.

use std::cell::Cell;

use lifetrace_agent::guard::Entered;
use lifetrace_transport::message::{
    Body, FrameKind, FrameName, Frames, MANAGED_FRAME, MemoryKind, SAID_FRAME,
};

use crate::said::Told;

/// A place inside another.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) outer: Option<&'static Place>,
    pub(crate) name: &'static str,
    /// Where in the source it is, if that is known.
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    /// From 0, each once.
    pub(crate) number: u32,
    /// How many there are around it.
    pub(crate) depth: u32,
    pub(crate) told: Told,
}

/// Places inside one another.
pub(crate) const DEEPEST: u32 = 64;

thread_local! {
    /// The session, and what it knows of this thread.
    static TOLD: Cell<(u32, Option<u32>)> = const { Cell::new((0, None)) };
}

/// Has the recorder know that this thread is at `place`.
pub(crate) fn tell(at: &mut Entered, place: Option<&'static Place>) {
    let session = at.session().number;
    let known = Some(TOLD.get()).filter(|told| told.0 == session).and_then(|told| told.1);
    let number = place.map(|place| place.number);
    if known != number && tell_of(at, place) {
        TOLD.set((session, number));
    }
}

#[cold]
fn tell_of(at: &mut Entered, place: Option<&'static Place>) -> bool {
    let mut frames = [0; DEEPEST as usize];
    let mut depth = 0;
    let path = std::iter::successors(place, |place| place.outer);
    for (frame, place) in frames.iter_mut().zip(path) {
        place.tell(at);
        *frame = MANAGED_FRAME | place.frame();
        depth += 1;
    }
    at.send(Body::Context { frames: Frames::Words(&frames[..depth]) })
}

impl Place {
    fn frame(&self) -> u64 {
        SAID_FRAME | (u64::from(MemoryKind::MOST) + u64::from(self.number))
    }

    fn tell(&self, at: &mut Entered) {
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
        self.told.tell(at, name);
    }
}
