//! What agents say of pages, as births and deaths of mappings.

use std::io;

use lifetrace_trace::event::{GROWTH, Source};
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{Bytes, LocationCode, Size};
use lifetrace_transport::message::{BacktraceDelta, Message, MonotonicNanos, Place, Step};
use lifetrace_transport::sources::SourceName;

use super::Assembler;
use crate::birth::Birth;
use crate::mappings::{Change, Class, Kind, Origin, Owner, PieceId, Seen, owner_of};
use crate::notice::Notice;
use crate::stacks::Stream;

/// The innermost frame of what is left of a mapping that was cut.
const REST: &str = "[rest of a mapping]";

/// By whom memory was asked for; outermost frames first.
#[derive(Default)]
struct Asked {
    /// As the unwinder has found it.
    native: Box<[LocationCode]>,
    /// With an interpreter's own frames in their places.
    backtrace: Box<[LocationCode]>,
    is_truncated: bool,
}

impl Assembler {
    /// Applies a step to the mappings, and writes what becomes of them.
    pub(super) fn pages(
        &mut self,
        message: &Message<'_>,
        step: Step,
        pages: Place,
        backtrace: &BacktraceDelta<'_>,
    ) -> io::Result<()> {
        let is_asked_for = matches!(step, Step::Mapped | Step::Opened | Step::Landed);
        let asked = is_asked_for.then(|| self.backtrace_of_pages(message, backtrace));
        let Asked { native, backtrace, is_truncated } = asked.unwrap_or_default();
        // An allocator that is not heard has blocks that are not in the trace.
        let has_malloc =
            self.samplers.has_malloc() && !self.notices.contains(&Notice::OwnAllocator);
        let Assembler { mappings, places, samplers, told_as_mallocs, .. } = self;
        let heaps = [samplers.runtime(), told_as_mallocs.filter(|_| samplers.has_malloc())];
        let changes = mappings.apply(message.thread, step, pages, || {
            let frames = native.iter().rev().map(|code| places.named(*code));
            let class = class_of(owner_of(pages.size, frames), heaps, has_malloc);
            Origin { class, backtrace, is_truncated }
        });
        changes.into_iter().try_for_each(|change| self.write_change(message.time, change))
    }

    fn backtrace_of_pages(
        &mut self,
        message: &Message<'_>,
        backtrace: &BacktraceDelta<'_>,
    ) -> Asked {
        let stream = Stream { thread: message.thread, is_managed: false };
        let (stack, _) = self.stacks.update(stream, backtrace, &mut self.places);
        // The next block's backtrace is none that resembles the last one written.
        self.last_stream = None;
        let is_interpreters = |code| self.places.is_interpreters(code);
        let (codes, _) = self.contexts.join(message.thread, stack, 0, 0, is_interpreters);
        Asked {
            native: stack.backtrace().into(),
            backtrace: codes.into(),
            is_truncated: stack.is_cut(),
        }
    }

    fn write_change(&mut self, time: MonotonicNanos, change: Change<Origin>) -> io::Result<()> {
        match change {
            Change::Born { id, bytes, origin, kind } => {
                self.write_birth(time, id, bytes, origin, kind)
            }
            Change::Died(id) => match self.mapped.remove(&id) {
                Some(id) => {
                    self.counts.events += 1;
                    self.sink.collection(self.anchor.wall(time), id)
                }
                None => Ok(()),
            },
        }
    }

    fn write_birth(
        &mut self,
        time: MonotonicNanos,
        piece: PieceId,
        bytes: u64,
        origin: Origin,
        kind: Kind,
    ) -> io::Result<()> {
        let owner = match origin.class {
            Class::Program => None,
            Class::Arena(owner) => Some(owner),
            Class::Backing => return Ok(()),
        };
        let sampler = self.samplers.of_mapping(owner.is_some());
        let mut backtrace = origin.backtrace.into_vec();
        backtrace.extend(owner.map(|owner| self.places.remark(owner.remark())));
        backtrace.extend(match kind {
            Kind::New => None,
            Kind::Rest => Some(self.places.remark(REST)),
            Kind::Growth => Some(GROWTH),
        });
        let birth = Birth {
            size: Size::Bytes(Bytes(bytes)),
            samples: bytes.max(1),
            source: Source::External,
            sampler,
            is_truncated: origin.is_truncated,
            backtrace: &backtrace,
            common_prefix: 0,
        };
        let (places, time) = (&self.places, self.anchor.wall(time));
        let id = self.sink.allocation(time, &birth, &mut |code| places.locate(code))?;
        self.last_stream = None;
        self.mapped.insert(piece, id);
        self.counts.samples += 1;
        self.counts.allocated = self.counts.allocated.saturating_add(bytes);
        self.counts.events += 1;
        Ok(())
    }

    /// Writes what is mapped at the end.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn write_mappings(&mut self) -> io::Result<()> {
        if !self.samplers.has_mappings() {
            return Ok(());
        }
        let counts = self.mappings.counts();
        counts.into_iter().try_for_each(|it| self.fact(self.last_time, &Fact::RuntimeCount(it)))
    }

    /// Compares what is mapped with what the system says at the end, if it says anything.
    pub(crate) fn see_mapped(&mut self, seen: Option<&Seen>) {
        seen.into_iter().for_each(|seen| self.mappings.see(seen));
    }

    /// The most that was heard to be mapped and is no backing of blocks that are heard, in bytes.
    pub(crate) fn most_mapped(&self) -> u64 {
        self.mappings.most()
    }
}

/// Whose memory it is, if an allocator or a runtime has mapped it, and the blocks of these runtimes are in the trace.
fn class_of(owner: Option<Owner>, heaps: [Option<SourceName>; 2], has_malloc: bool) -> Class {
    let Some(owner) = owner else { return Class::Program };
    let is_managed = heaps.into_iter().flatten().any(|name| owner.is_runtime(name));
    match is_managed || (has_malloc && owner.is_malloc()) {
        true => Class::Backing,
        false => Class::Arena(owner),
    }
}
