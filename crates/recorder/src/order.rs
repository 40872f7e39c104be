//! Many rings' messages into one stream in order of time.
//!
//! ```text
//! read the clock: c      drain every ring of the session      release what is older than c
//! ```
//!
//! An agent takes the time of a message after committing all that the message depends on, so what
//! is released never depends on anything that is not released before it. A thread that was held up
//! between taking the time and committing makes a straggler: it is older than what was released
//! already. Nothing depends on it being earlier, so it gets the time of its predecessor: times
//! never run backwards.
//!
//! A runtime's frames may get their names after they were used. As long as an agent says that there are such, what has
//! come since is kept, for a while; and the names of what is released are learnt first ([`Batch::late_names`]).
//!
//! A ring that could not be drained to its end in one pass holds back what is younger than the last
//! message taken from it.

use lifetrace_transport::codec::{DecodeError, decode};
use lifetrace_transport::message::{Body, FrameName, Message, MonotonicNanos, Step};

use crate::notes::Note;

/// Messages of one session that wait for their turn.
#[derive(Debug)]
pub(crate) struct Reorder {
    bytes: Vec<u8>,
    waiting: Vec<Entry>,
    released_until: MonotonicNanos,
    has_samples: bool,
    /// When there began to be frames without names, and when all had theirs, of the time that has not been released yet:
    /// threads take turns at it, and their rings are read one after the other.
    naming: Vec<(MonotonicNanos, bool)>,
    /// Whether there ever were any.
    has_late_names: bool,
}

/// So many nanoseconds names are waited for: a thread that is asked for them may be in a system call.
const LONGEST_WAIT_FOR_NAMES: u64 = 1_000_000_000;

/// Unless so many bytes of messages wait: then they are released without.
const MOST_HELD: usize = 4 << 20;

/// Messages in order of time, as an agent encoded them, and what was noted beside them.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// In order of time, too.
    pub(crate) notes: Vec<Note>,
    /// Whether names may be of earlier messages' frames.
    has_late_names: bool,
}

/// One of the two.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    Message(Message<'a>),
    Note(&'a Note),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: MonotonicNanos,
    start: usize,
    len: usize,
}

impl Reorder {
    pub(crate) fn new() -> Reorder {
        Reorder {
            bytes: Vec::new(),
            waiting: Vec::new(),
            released_until: MonotonicNanos(0),
            has_samples: false,
            naming: Vec::new(),
            has_late_names: false,
        }
    }

    /// Adds one message, and returns it; those of one ring in the order in which they were in it.
    ///
    /// # Errors
    /// [`DecodeError`] when it is none.
    pub(crate) fn push<'b>(&mut self, bytes: &'b [u8]) -> Result<Message<'b>, DecodeError> {
        let message = decode(bytes)?;
        match message.body {
            Body::Allocation { .. }
            | Body::Pages { step: Step::Mapped | Step::Opened | Step::Landed, .. } => {
                self.has_samples = true;
            }
            Body::NamesPending { are_pending } => {
                self.naming.push((message.time, are_pending));
                self.has_late_names |= are_pending;
            }
            _ => {}
        }
        let (start, len) = (self.bytes.len(), bytes.len());
        self.waiting.push(Entry { time: message.time, start, len });
        self.bytes.extend_from_slice(bytes);
        Ok(message)
    }

    /// Whether there ever was an allocation among the messages, or a mapping.
    pub(crate) fn has_samples(&self) -> bool {
        self.has_samples
    }

    /// Of the messages that wait, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Takes out all messages older than `before`, or all there are.
    pub(crate) fn release(&mut self, before: Option<MonotonicNanos>) -> Batch {
        self.waiting.sort_by_key(|entry| entry.time);
        let before = before.map(|before| self.without_unnamed(before));
        let count = match before {
            Some(before) => self.waiting.partition_point(|entry| entry.time < before),
            None => self.waiting.len(),
        };
        let kept = self.waiting.split_off(count);
        let mut entries = std::mem::replace(&mut self.waiting, kept);
        for entry in &mut entries {
            entry.time = entry.time.max(self.released_until);
            self.released_until = entry.time;
        }
        let (bytes, has_late_names) = (self.take_bytes(), self.has_late_names);
        Batch { bytes, entries, notes: Vec::new(), has_late_names }
    }

    /// The time before which all frames have names, if that is earlier, and they have not been waited for in vain.
    fn without_unnamed(&mut self, before: MonotonicNanos) -> MonotonicNanos {
        self.naming.sort_by_key(|(time, _)| *time);
        let past = self.naming.partition_point(|(time, _)| *time < before);
        let since = self
            .naming
            .drain(..past)
            .fold(None, |since, (time, are_pending)| are_pending.then(|| since.unwrap_or(time)));
        let Some(since) = since else { return before };
        self.naming.insert(0, (since, true));
        let is_in_vain = before.0.saturating_sub(since.0) > LONGEST_WAIT_FOR_NAMES;
        if is_in_vain || self.size() > MOST_HELD { before } else { since }
    }

    /// Gives the bytes away, keeping copies of those that still wait.
    fn take_bytes(&mut self) -> Vec<u8> {
        let mut kept = Vec::new();
        for entry in &mut self.waiting {
            let start = kept.len();
            kept.extend_from_slice(&self.bytes[entry.start..entry.start + entry.len]);
            entry.start = start;
        }
        std::mem::replace(&mut self.bytes, kept)
    }
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.notes.is_empty()
    }

    /// Memory that it takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        let entries = self.entries.capacity() * size_of::<Entry>();
        self.bytes.capacity() + entries + self.notes.capacity() * size_of::<Note>()
    }

    /// Messages and notes, oldest first.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let mut notes = self.notes.iter().peekable();
        let mut messages = self.messages().peekable();
        std::iter::from_fn(move || {
            let is_first = |note: &&Note| messages.peek().is_none_or(|it| note.time <= it.time);
            match notes.next_if(is_first) {
                Some(note) => Some(Item::Note(note)),
                None => messages.next().map(Item::Message),
            }
        })
    }

    /// Whether it tells what a frame is called after it has been used, so that all of [`late_names`](Self::late_names) are
    /// to be learnt first, and the last one counts.
    pub(crate) fn has_late_names(&self) -> bool {
        self.has_late_names
    }

    /// The names of managed frames, where they may be of earlier messages' frames.
    pub(crate) fn late_names(&self) -> impl Iterator<Item = FrameName<'_>> {
        let messages = self.has_late_names.then(|| self.messages());
        messages.into_iter().flatten().filter_map(|message| match message.body {
            Body::FrameName(name) => Some(name),
            _ => None,
        })
    }

    /// The messages, oldest first; their times never decrease.
    fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        self.entries.iter().filter_map(|entry| {
            let message = decode(&self.bytes[entry.start..entry.start + entry.len]).ok()?;
            Some(Message { time: entry.time, ..message })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::encoded;
    use lifetrace_trace::fact::{Counters, Fact};
    use lifetrace_transport::message::{FrameKind, SampleId, ThreadId};
    use proptest::prelude::*;

    fn release_at(time: u64, id: u64) -> Vec<u8> {
        encoded(&Message {
            time: MonotonicNanos(time),
            thread: ThreadId(1),
            body: Body::Release { id: SampleId(id) },
        })
    }

    fn times_and_ids(batch: &Batch) -> Vec<(u64, u64)> {
        batch
            .messages()
            .map(|message| match message.body {
                Body::Release { id } => (message.time.0, id.0),
                other => panic!("not a release: {other:?}"),
            })
            .collect()
    }

    fn check(pushes: &[(u64, u64)], before: Option<u64>, expected: &[(u64, u64)]) {
        let mut reorder = Reorder::new();
        for &(time, id) in pushes {
            reorder.push(&release_at(time, id)).unwrap();
        }
        let batch = reorder.release(before.map(MonotonicNanos));
        assert_eq!(times_and_ids(&batch), expected);
        assert_eq!(reorder.waiting.len(), pushes.len() - expected.len());
    }

    #[test]
    fn older_ones_come_out_in_order() {
        check(&[(5, 0), (3, 1), (9, 2)], Some(9), &[(3, 1), (5, 0)]);
        check(&[(5, 0), (3, 1), (9, 2)], None, &[(3, 1), (5, 0), (9, 2)]);
        check(&[(5, 0), (3, 1)], Some(3), &[]);
        check(&[], None, &[]);
    }

    #[test]
    fn equal_times_keep_the_order_of_arrival() {
        check(&[(4, 2), (4, 1), (4, 3)], None, &[(4, 2), (4, 1), (4, 3)]);
    }

    #[test]
    fn a_straggler_gets_the_time_of_its_predecessor() {
        let mut reorder = Reorder::new();
        reorder.push(&release_at(10, 0)).unwrap();
        reorder.release(Some(MonotonicNanos(11)));
        reorder.push(&release_at(7, 1)).unwrap();
        reorder.push(&release_at(12, 2)).unwrap();
        assert_eq!(times_and_ids(&reorder.release(None)), [(10, 1), (12, 2)]);
    }

    fn pending_at(time: u64, are_pending: bool) -> Vec<u8> {
        let body = Body::NamesPending { are_pending };
        encoded(&Message { time: MonotonicNanos(time), thread: ThreadId(1), body })
    }

    fn name_at(time: u64, frame: u64) -> Vec<u8> {
        let kind = FrameKind(0);
        let (is_first, is_last, line, start_char, end_char) = (true, true, 1, 0, 0);
        let (function, file) = (&b"f"[..], &b"f.rb"[..]);
        let name = FrameName {
            frame,
            kind,
            is_first,
            is_last,
            line,
            start_char,
            end_char,
            function,
            file,
        };
        let body = Body::FrameName(name);
        encoded(&Message { time: MonotonicNanos(time), thread: ThreadId(1), body })
    }

    fn push_all(reorder: &mut Reorder, messages: &[Vec<u8>]) {
        for message in messages {
            reorder.push(message).unwrap();
        }
    }

    fn released(reorder: &mut Reorder, before: u64) -> (usize, Vec<u64>) {
        let batch = reorder.release(Some(MonotonicNanos(before)));
        let releases = batch.messages().filter(|it| matches!(it.body, Body::Release { .. }));
        (releases.count(), batch.late_names().map(|name| name.frame).collect())
    }

    #[test]
    fn what_comes_while_names_are_pending_waits_for_them() {
        let mut reorder = Reorder::new();
        let messages = [release_at(1, 0), pending_at(2, true), release_at(3, 1), release_at(5, 2)];
        push_all(&mut reorder, &messages);
        assert_eq!(released(&mut reorder, 6), (1, vec![]));
        assert_eq!(released(&mut reorder, 7), (0, vec![]));
        let messages = [name_at(7, 40), pending_at(8, false), release_at(9, 3)];
        push_all(&mut reorder, &messages);
        assert_eq!(released(&mut reorder, 10), (3, vec![40]));
    }

    #[test]
    fn names_that_are_there_later_are_no_names_yet() {
        let mut reorder = Reorder::new();
        let messages =
            [pending_at(2, true), release_at(3, 1), name_at(7, 40), pending_at(8, false)];
        push_all(&mut reorder, &messages);
        assert_eq!(released(&mut reorder, 6), (0, vec![]));
        assert_eq!(released(&mut reorder, 9), (1, vec![40]));
    }

    #[test]
    fn who_has_named_earlier_frames_has_not_named_later_ones() {
        let mut reorder = Reorder::new();
        push_all(&mut reorder, &[pending_at(5, true), release_at(6, 2)]);
        // Of another ring.
        let messages =
            [pending_at(2, true), release_at(2, 1), name_at(3, 40), pending_at(4, false)];
        push_all(&mut reorder, &messages);
        assert_eq!(released(&mut reorder, 10), (1, vec![40]));
        push_all(&mut reorder, &[name_at(11, 41), pending_at(12, false)]);
        assert_eq!(released(&mut reorder, 13), (1, vec![41]));
    }

    #[test]
    fn names_are_not_waited_for_without_end() {
        let mut reorder = Reorder::new();
        let messages = [pending_at(2, true), release_at(3, 1)];
        push_all(&mut reorder, &messages);
        assert_eq!(released(&mut reorder, 2 + LONGEST_WAIT_FOR_NAMES), (0, vec![]));
        assert_eq!(released(&mut reorder, 3 + LONGEST_WAIT_FOR_NAMES), (1, vec![]));
        let mut reorder = Reorder::new();
        reorder.push(&pending_at(2, true)).unwrap();
        let count = MOST_HELD / release_at(3, 1).len() + 1;
        let messages: Vec<_> = (0..count).map(|id| release_at(3, id as u64)).collect();
        push_all(&mut reorder, &messages);
        assert_eq!(released(&mut reorder, 4), (count, vec![]));
    }

    #[test]
    fn names_that_come_in_time_are_not_learnt_twice() {
        let mut reorder = Reorder::new();
        reorder.push(&name_at(1, 40)).unwrap();
        let batch = reorder.release(None);
        assert!(!batch.has_late_names() && batch.late_names().next().is_none());
    }

    #[test]
    fn garbage_is_refused_and_leaves_no_trace() {
        let mut reorder = Reorder::new();
        assert_eq!(reorder.push(b"potato"), Err(DecodeError::Length));
        assert_eq!(reorder.push(&[0xff; 16]), Err(DecodeError::Tag(0xff)));
        assert!(reorder.release(None).is_empty());
    }

    /// Times of messages that arrive, and the clock that was read before.
    fn rounds() -> impl Strategy<Value = Vec<(Vec<u64>, u64)>> {
        let times = prop::collection::vec(0u64..1000, 0..20);
        prop::collection::vec((times, 0u64..1000), 0..20)
    }

    #[test]
    fn notes_are_among_the_messages_by_their_times() {
        let mut reorder = Reorder::new();
        for time in [10, 20, 30] {
            reorder.push(&release_at(time, time)).unwrap();
        }
        let mut batch = reorder.release(None);
        let fact = Fact::Counters(Counters::default());
        let note = |time| Note { time: MonotonicNanos(time), fact: fact.clone() };
        batch.notes = [5, 20, 21, 40].map(note).into();
        let times = batch.items().map(|item| match item {
            Item::Message(message) => (message.time.0, 'm'),
            Item::Note(note) => (note.time.0, 'n'),
        });
        let expected = [(5, 'n'), (10, 'm'), (20, 'n'), (20, 'm'), (21, 'n'), (30, 'm'), (40, 'n')];
        assert!(times.eq(expected));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_times_never_decrease(rounds in rounds()) {
            let (mut reorder, mut next, mut out) = (Reorder::new(), 0, Vec::new());
            for (times, before) in rounds {
                for time in times {
                    reorder.push(&release_at(time, next)).unwrap();
                    next += 1;
                }
                out.extend(times_and_ids(&reorder.release(Some(MonotonicNanos(before)))));
            }
            out.extend(times_and_ids(&reorder.release(None)));
            prop_assert!(out.is_sorted_by_key(|&(time, _)| time));
            let mut ids: Vec<u64> = out.into_iter().map(|(_, id)| id).collect();
            ids.sort_unstable();
            prop_assert_eq!(ids, (0..next).collect::<Vec<_>>());
        }
    }
}
