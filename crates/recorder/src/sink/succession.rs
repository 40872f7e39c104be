//! One trace after the other, each of which stands for itself.
//!
//! ```text
//! first file                     second file
//! births, deaths, facts   ──>    what lasts; births of what lives, at their own times, before the file's start; ...
//! ```
//!
//! What lives is read from the file that has just been finished: no backtrace is kept in memory for that. Names of blocks
//! are the same in all files of a process.
//!
//! When nothing can be written (a full disk) nothing is, and nobody waits: what is missed is counted, and from time to time
//! it is tried again. The file that comes then begins with what of the last one still lives; what was born meanwhile is
//! unknown there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lifetrace_trace::AnyReader;
use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::{Fact, Lost};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, DomainId, LocationCode, ThreadId, Timestamp};
use lifetrace_trace::lt::{Reader, Writer};
use lifetrace_trace::transfer::{CONTINUES, carry_over};
use rustc_hash::FxHashSet;
use rustix::fs::statvfs;

use super::lasting::Lasting;
use super::{Lt, Sink};
use crate::birth::Birth;
use crate::folder::{Folder, Part, Rotation};
use crate::notice::Notice;
use crate::trace_file::{Length, TraceFile};

/// After so long it is tried again to write.
const RETRY: Duration = Duration::from_secs(5);

/// Nothing is begun where there is less room than this, in bytes.
const ROOM: u64 = 4 << 20;

/// So many sessions go on in another file at a time: each reads a file meanwhile.
const AT_ONCE: u32 = 2;

/// Sessions that do so now.
static RENEWING: AtomicU32 = AtomicU32::new(0);

/// Why events are missing.
const DISK_FULL: &str = "disk-full";

/// A process's trace, in files.
pub(crate) struct Succession {
    folder: Folder,
    info: TraceInfo,
    current: Current,
    lasting: Lasting,
    thread: ThreadId,
    /// The name of the next block.
    next: AllocationId,
    keeps_empty: bool,
    /// Of all files.
    length: Length,
    /// Of those that are finished.
    before: u64,
}

enum Current {
    Writing(Box<Writing>),
    Unwritable(Unwritable),
}

/// A file that can be written to.
struct Writing {
    lt: Lt<TraceFile>,
    part: Part,
    length: Length,
    begun: Instant,
    /// What it has of the file before, in bytes.
    carried: u64,
    tells: bool,
}

/// Nothing can be written now.
struct Unwritable {
    last: Part,
    retry: Instant,
    /// What was not written, by reason.
    missed: BTreeMap<Arc<str>, u64>,
}

/// The right to read a file in order to go on in another.
struct Turn;

impl Turn {
    fn take() -> Option<Turn> {
        let taken = RENEWING.fetch_add(1, Ordering::Relaxed);
        let turn = Turn;
        (taken < AT_ONCE).then_some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        RENEWING.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Succession {
    pub(crate) fn begin(
        part: Part,
        file: File,
        length: Length,
        info: &TraceInfo,
        keeps_empty: bool,
    ) -> Self {
        let folder = part.folder().clone();
        let current = match Writing::begin(part.clone(), file, info) {
            Ok(writing) => Current::Writing(Box::new(writing)),
            Err(_) => {
                part.discard();
                Current::Unwritable(Unwritable::since_now(part))
            }
        };
        Succession {
            folder,
            info: info.clone(),
            current,
            lasting: Lasting::default(),
            thread: ThreadId(0),
            next: AllocationId(0),
            keeps_empty,
            length,
            before: 0,
        }
    }

    /// Writes, if that can be; what cannot be written is missed.
    fn write<T>(&mut self, write: impl FnOnce(&mut Writing) -> io::Result<T>) -> Option<T> {
        let Current::Writing(writing) = &mut self.current else {
            self.miss(DISK_FULL.into(), 1);
            return None;
        };
        match write(writing) {
            Ok(written) => {
                self.length.set(self.before + writing.length.get());
                Some(written)
            }
            Err(_) => {
                self.give_up();
                self.miss(DISK_FULL.into(), 1);
                None
            }
        }
    }

    fn miss(&mut self, reason: Arc<str>, count: u64) {
        if let Current::Unwritable(unwritable) = &mut self.current {
            self.folder.note_unrecorded(count);
            *unwritable.missed.entry(reason).or_default() += count;
        }
    }

    /// The file stays as far as it is whole.
    fn give_up(&mut self) {
        let Current::Writing(writing) = &self.current else { return };
        let last = writing.part.clone();
        self.before += writing.length.get();
        let is_of_use = writing.tells && last.finish().is_ok();
        if !is_of_use {
            last.discard();
        }
        self.current = Current::Unwritable(Unwritable::since_now(last));
    }

    /// Ends the file, so that another may follow.
    fn end_file(&mut self, time: Timestamp) {
        if matches!(self.current, Current::Unwritable(_)) {
            return;
        }
        let waiting = Current::Unwritable(Unwritable::between(self.part().clone()));
        if let Current::Writing(writing) = std::mem::replace(&mut self.current, waiting) {
            self.before += writing.length.get();
            let Writing { lt, part, .. } = *writing;
            // What is not whole is read as far as it goes; what has no name yet gets one from the next recorder.
            let _ = Box::new(lt).finish(time);
            let _ = part.finish();
        }
    }

    /// Nothing could be begun; it is tried again later.
    fn wait(&mut self, was_writable: bool) {
        if let Current::Unwritable(unwritable) = &mut self.current {
            unwritable.retry = Instant::now() + RETRY;
        }
        if was_writable {
            self.folder.note_unwritable(true);
        }
    }

    fn part(&self) -> &Part {
        match &self.current {
            Current::Writing(writing) => &writing.part,
            Current::Unwritable(unwritable) => &unwritable.last,
        }
    }

    /// Goes on in a file that begins at `time`. Blocks that it does not know stay in `living`.
    fn go_on(
        &self,
        time: Timestamp,
        unwritable: &Unwritable,
        living: &mut FxHashSet<AllocationId>,
    ) -> io::Result<Writing> {
        let info = TraceInfo { start_time: time, ..self.info.clone() };
        let (part, file) = unwritable.last.successor(time)?;
        let file = TraceFile::new(file, None);
        let length = file.length();
        let writer = Writer::new(file, &info).and_then(|mut writer| {
            self.fill(&mut writer, time, unwritable, living)?;
            Ok(writer)
        });
        let writer = writer.inspect_err(|_| part.discard())?;
        let (begun, carried) = (Instant::now(), length.get());
        let lt = Lt::resume(writer, time, self.next);
        Ok(Writing { lt, part, length, begun, carried, tells: true })
    }

    /// Writes what a file begins with. Frames that it tells of are told anew behind a checkpoint, so that it does not
    /// matter which numbers they had before.
    fn fill(
        &self,
        writer: &mut Writer<TraceFile>,
        time: Timestamp,
        unwritable: &Unwritable,
        living: &mut FxHashSet<AllocationId>,
    ) -> io::Result<()> {
        self.lasting.first(time).try_for_each(|fact| writer.fact(time, &fact))?;
        if let Ok(file) = unwritable.last.read()
            && let Ok(reader) = Reader::open(BufReader::new(file))
        {
            // What keeps it from being read to its end is in that file for everybody to see.
            carry_over(&mut AnyReader::lt(reader), writer, living)?;
        }
        writer.switch(ThreadId(0), DomainId(0));
        self.lasting.then().try_for_each(|fact| writer.fact(time, &fact))?;
        let last = unwritable.last.path().file_name().unwrap_or_default().to_string_lossy();
        writer.fact(time, &Fact::Notice(format!("{CONTINUES}:{last}").into()))?;
        for (reason, &count) in &unwritable.missed {
            let reason = reason.clone();
            writer.fact(time, &Fact::Lost(Lost { reason, count }))?;
        }
        writer.flush(time)?;
        writer.checkpoint()
    }
}

impl Writing {
    fn begin(part: Part, file: File, info: &TraceInfo) -> io::Result<Writing> {
        let file = TraceFile::new(file, None);
        let length = file.length();
        let lt = Lt::begin(file, info, u64::MAX)?;
        Ok(Writing { lt, part, length, begun: Instant::now(), carried: 0, tells: false })
    }

    /// Whether another file is to follow. What it has from the one before does not count.
    fn is_long_enough(&self) -> bool {
        let Rotation { every, bytes } = self.part.folder().rotation();
        every.is_some_and(|every| self.begun.elapsed() >= every)
            || bytes.is_some_and(|most| self.length.get() - self.carried >= most)
    }
}

impl Unwritable {
    /// Not before some time has passed.
    fn since_now(last: Part) -> Unwritable {
        last.folder().note_unwritable(true);
        Unwritable { retry: Instant::now() + RETRY, ..Unwritable::between(last) }
    }

    /// Until the next file is begun, which is to be at once.
    fn between(last: Part) -> Unwritable {
        Unwritable { last, retry: Instant::now(), missed: BTreeMap::new() }
    }

    fn is_retry_due(&self) -> bool {
        self.retry <= Instant::now() && has_room(self.last.folder())
    }
}

fn has_room(folder: &Folder) -> bool {
    statvfs(folder.path()).is_ok_and(|it| it.f_bavail.saturating_mul(it.f_frsize) >= ROOM)
}

impl Sink for Succession {
    fn switch(&mut self, thread: ThreadId) {
        self.thread = thread;
        if let Current::Writing(writing) = &mut self.current {
            writing.lt.switch(thread);
        }
    }

    fn allocation(
        &mut self,
        time: Timestamp,
        birth: &Birth<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) -> io::Result<AllocationId> {
        let written = self.write(|writing| {
            writing.tells = true;
            writing.lt.allocation(time, birth, locate)
        });
        let id = written.unwrap_or(self.next);
        self.next = AllocationId(id.0 + 1);
        Ok(id)
    }

    fn promotion(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        self.write(|writing| writing.lt.promotion(time, id));
        Ok(())
    }

    fn collection(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        self.write(|writing| writing.lt.collection(time, id));
        Ok(())
    }

    fn fact(&mut self, time: Timestamp, fact: &Fact) -> io::Result<()> {
        self.lasting.take(time, fact);
        let is_unsampled = |code: &str| Notice::PLAIN.iter().any(|notice| notice.code() == code);
        match (&mut self.current, fact) {
            (Current::Unwritable(_), Fact::Lost(lost)) => {
                self.miss(lost.reason.clone(), lost.count);
            }
            (Current::Unwritable(_), _) => {}
            (Current::Writing(_), _) => {
                self.write(|writing| {
                    writing.tells |= match fact {
                        Fact::Lost(_) => true,
                        Fact::Notice(code) => is_unsampled(code),
                        _ => false,
                    };
                    writing.lt.fact(time, fact)
                });
            }
        }
        Ok(())
    }

    fn flush(&mut self, time: Timestamp) -> io::Result<()> {
        if let Current::Writing(_) = &self.current {
            self.write(|writing| writing.lt.flush(time));
        }
        Ok(())
    }

    /// The models of what is written are 2 MiB, in each session of a thousand.
    fn rest(&mut self) -> io::Result<()> {
        if let Current::Writing(_) = &self.current {
            self.write(|writing| writing.lt.checkpoint());
        }
        Ok(())
    }

    fn is_renewal_due(&self) -> bool {
        let is_due = match &self.current {
            Current::Writing(writing) => writing.is_long_enough(),
            Current::Unwritable(unwritable) => unwritable.is_retry_due(),
        };
        is_due && RENEWING.load(Ordering::Relaxed) < AT_ONCE
    }

    fn renew(&mut self, time: Timestamp, living: &mut FxHashSet<AllocationId>) {
        let Some(_turn) = Turn::take() else { return living.clear() };
        let was_writable = matches!(self.current, Current::Writing(_));
        self.end_file(time);
        // Whatever has been told was before the next file's start.
        let time = Timestamp(time.0 + 1);
        let Current::Unwritable(unwritable) = &self.current else { return };
        let mut unknown = living.clone();
        match self.go_on(time, unwritable, &mut unknown) {
            Ok(mut writing) => {
                writing.lt.switch(self.thread);
                self.length.set(self.before + writing.length.get());
                self.current = Current::Writing(Box::new(writing));
                *living = unknown;
                if !was_writable {
                    self.folder.note_unwritable(false);
                }
            }
            Err(_) => {
                living.clear();
                self.wait(was_writable);
            }
        }
    }

    fn finish(self: Box<Self>, time: Timestamp) -> io::Result<()> {
        let Succession { current, keeps_empty, folder, .. } = *self;
        match current {
            Current::Writing(writing) if writing.tells || keeps_empty => {
                let Writing { lt, part, .. } = *writing;
                let is_whole = Box::new(lt).finish(time);
                part.finish().and(is_whole)
            }
            Current::Writing(writing) => {
                writing.part.discard();
                Ok(())
            }
            Current::Unwritable(_) => {
                folder.note_unwritable(false);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
