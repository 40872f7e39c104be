//! What threads are at: frames outside of all others in their malloc's backtraces.
//!
//! A program may report spans of its own, which are outside of the whole stack. Or a runtime reports the stack that its
//! interpreter has: then the native frames of the interpreter, and those outside of them, are that stack once more, and
//! only what the interpreter has called stays:
//!
//! ```text
//! native   _start  main │ vm_exec  call_method │ parser.so  parser.so │ ary_push  realloc     outermost first
//! runtime               │ <main>  parse        │
//! joined                  <main>  parse          parser.so  parser.so
//! ```
//!
//! Where the runtime says which native frame runs which of its frames, these stand in its place, and all that the
//! interpreter's own frames call stays where it is:
//!
//! ```text
//! native   _start  main │ eval │ sort │ numpy.so │ eval │ realloc          outermost first
//! runtime               │ <module> f  │          │ key  │
//! joined                  <module> f    numpy.so   key
//! ```

use std::ops::Range;

use lifetrace_trace::ids::LocationCode;
use lifetrace_transport::message::{Frames, MANAGED_FRAME, NATIVE_PLACE, SPAN_FRAME, ThreadId};
use rustc_hash::FxHashMap;

use crate::places::Places;
use crate::stacks::Stack;

/// A process with more threads that say such a thing, and not that they have ended, has gone mad.
const MOST_THREADS: usize = 1 << 16;

/// By thread.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    by_thread: FxHashMap<ThreadId, Context>,
    /// Whether what the interpreter has called within itself stays as well, from its last frames on that have called
    /// somebody else.
    pub(crate) keeps_interpreter: bool,
    /// A backtrace with its context.
    joined: Vec<LocationCode>,
}

#[derive(Debug)]
struct Context {
    /// Outermost first.
    codes: Vec<LocationCode>,
    /// No backtrace has had it yet.
    is_new: bool,
    /// It is an interpreter's stack.
    is_stack: bool,
    /// Where its parts stand, if that is known, the outermost first.
    parts: Vec<Part>,
}

/// Some of an interpreter's frames, in the place of a native frame.
#[derive(Clone, Debug)]
struct Part {
    /// Among all of its frames, outermost first.
    frames: Range<usize>,
    /// The native frame, counted from the outermost one.
    place: usize,
}

impl Contexts {
    /// The thread is at something else. `frames` are innermost first; if there are none, it is at nothing.
    pub(crate) fn set(&mut self, thread: ThreadId, frames: Frames<'_>, places: &mut Places) {
        if self.by_thread.len() >= MOST_THREADS {
            self.by_thread.clear();
        }
        let (mut codes, mut parts) = (Vec::new(), Vec::new());
        for word in frames.iter().rev() {
            match native_place(word) {
                Some(place) => parts.push(Part { frames: codes.len()..codes.len(), place }),
                None => {
                    codes.push(places.code(word));
                    parts.iter_mut().next_back().into_iter().for_each(|part| part.frames.end += 1);
                }
            }
        }
        let is_stack = frames.iter().next().is_some_and(|word| word & SPAN_FRAME == 0);
        self.by_thread.insert(thread, Context { codes, is_new: true, is_stack, parts });
    }

    /// The thread is gone, or another has its number.
    pub(crate) fn remove(&mut self, thread: ThreadId) {
        self.by_thread.remove(&thread);
    }

    /// All frames, to be given other codes.
    pub(crate) fn codes_mut(&mut self) -> impl Iterator<Item = &mut LocationCode> {
        self.by_thread.values_mut().flat_map(|context| context.codes.iter_mut())
    }

    /// The thread's backtrace with what it is at, of which the first `common_prefix` frames are as they were
    /// without that; and so many are with it. The innermost `marks` of its frames are none, but remarks on the block.
    pub(crate) fn join<'a>(
        &'a mut self,
        thread: ThreadId,
        stack: &'a Stack,
        marks: usize,
        common_prefix: usize,
        is_interpreters: impl Fn(LocationCode) -> bool,
    ) -> (&'a [LocationCode], usize) {
        let Some(context) = self.by_thread.get_mut(&thread) else {
            return (stack.backtrace(), common_prefix);
        };
        // The mark of a backtrace that is cut stays in front.
        let (mark, frames) = stack.backtrace().split_at(usize::from(stack.is_cut()));
        self.joined.clear();
        if !context.parts.is_empty() {
            let (frames, marks) = frames.split_at(frames.len().saturating_sub(marks));
            context.interleave(frames, self.keeps_interpreter, is_interpreters, &mut self.joined);
            self.joined.extend_from_slice(marks);
            return (&self.joined, 0);
        }
        if context.is_stack {
            let (frames, marks) = frames.split_at(frames.len().saturating_sub(marks));
            self.joined.extend_from_slice(&context.codes);
            let called = called_by_interpreter(frames, &is_interpreters);
            let kept = match self.keeps_interpreter {
                true => with_interpreters(frames, &called, is_interpreters),
                false => called,
            };
            self.joined.extend_from_slice(&frames[kept]);
            self.joined.extend_from_slice(marks);
            return (&self.joined, 0);
        }
        self.joined.extend_from_slice(mark);
        self.joined.extend_from_slice(&context.codes);
        self.joined.extend_from_slice(frames);
        let is_new = std::mem::take(&mut context.is_new);
        let common_prefix = match common_prefix {
            0 => 0,
            _ if is_new => 0,
            common => common + context.codes.len(),
        };
        (&self.joined, common_prefix)
    }
}

/// The native frame that a word says to be the place of those that come before it, innermost first.
fn native_place(word: u64) -> Option<usize> {
    let is_place = word & MANAGED_FRAME != 0 && word & (SPAN_FRAME | NATIVE_PLACE) == NATIVE_PLACE;
    is_place.then_some((word & !(MANAGED_FRAME | NATIVE_PLACE)) as usize)
}

impl Context {
    /// Puts each part in the place of its native frame, and leaves out the interpreter's others unless they are kept.
    fn interleave(
        &self,
        native: &[LocationCode],
        keeps_interpreter: bool,
        is_interpreters: impl Fn(LocationCode) -> bool,
        joined: &mut Vec<LocationCode>,
    ) {
        let stays = |code: &LocationCode| keeps_interpreter || !is_interpreters(*code);
        // Frames outside of the first part were cut off.
        let first = self.parts.first().map_or(0, |part| part.frames.start);
        joined.extend_from_slice(&self.codes[..first]);
        let mut next = if keeps_interpreter { 0 } else { after_start(native, &is_interpreters) };
        for Part { frames, place } in &self.parts {
            let before = native.get(next..*place).unwrap_or_default();
            joined.extend(before.iter().filter(|code| stays(code)));
            joined.extend(native.get(*place).filter(|_| keeps_interpreter));
            joined.extend_from_slice(&self.codes[frames.clone()]);
            next = next.max(place + 1);
        }
        let called = native.get(next..).unwrap_or_default();
        joined.extend(called.iter().filter(|code| stays(code)));
    }
}

/// How many outermost native frames have only started the interpreter: all outside of it in its own program, or what the
/// C library begins a thread with.
fn after_start(native: &[LocationCode], is_interpreters: impl Fn(LocationCode) -> bool) -> usize {
    const STARTS_THREAD: usize = 2;
    let first = native.iter().position(|code| is_interpreters(*code)).unwrap_or_default();
    match native {
        // Its program's own beginning, which calls libc, which calls it.
        [begin, rest @ ..] if is_interpreters(*begin) => {
            1 + rest.iter().position(|code| is_interpreters(*code)).unwrap_or_default()
        }
        _ if first <= STARTS_THREAD => first,
        _ => 0,
    }
}

/// Where the frames are of what the interpreter has called last, without those that it was called back by to allocate.
fn called_by_interpreter(
    frames: &[LocationCode],
    is_interpreters: impl Fn(LocationCode) -> bool,
) -> Range<usize> {
    let end = frames.iter().rposition(|&code| !is_interpreters(code)).map_or(0, |last| last + 1);
    // An executable that has the interpreter inside begins with a frame of its own, which calls libc.
    let begins = usize::from(matches!(frames, [first, second, ..]
        if is_interpreters(*first) && !is_interpreters(*second)));
    let interpreters = frames[..end].iter().rposition(|&code| is_interpreters(code));
    let start = interpreters.filter(|&last| last >= begins);
    // Without any outside of them they are what has started the interpreter.
    start.map_or(end, |interpreters| interpreters + 1)..end
}

/// Where the interpreter's own frames are as well, from those on that have called that.
fn with_interpreters(
    frames: &[LocationCode],
    called: &Range<usize>,
    is_interpreters: impl Fn(LocationCode) -> bool,
) -> Range<usize> {
    let outside = frames[..called.start].iter().rposition(|&code| !is_interpreters(code));
    outside.map_or(0, |last| last + 1)..frames.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Capital letters are the interpreter's.
    fn check(frames: &str, expected: &str, with: &str) {
        let codes = |text: &str| text.bytes().map(|it| LocationCode(it.into())).collect::<Vec<_>>();
        let is_interpreters = |code: LocationCode| (code.0 as u8).is_ascii_uppercase();
        let frames = codes(frames);
        let called = called_by_interpreter(&frames, is_interpreters);
        let all = with_interpreters(&frames, &called, is_interpreters);
        assert_eq!(frames[called], codes(expected));
        assert_eq!(frames[all], codes(with));
    }

    /// Capital letters are the interpreter's; a part is frames and the place of a native one.
    fn interleaved(native: &str, parts: &[(&str, usize)], keeps_interpreter: bool) -> String {
        let codes = |text: &str| text.bytes().map(|it| LocationCode(it.into())).collect::<Vec<_>>();
        let is_interpreters = |code: LocationCode| (code.0 as u8).is_ascii_uppercase();
        let mut context =
            Context { codes: Vec::new(), is_new: true, is_stack: true, parts: Vec::new() };
        for (frames, place) in parts {
            let start = context.codes.len();
            context.codes.extend(codes(frames));
            context.parts.push(Part { frames: start..context.codes.len(), place: *place });
        }
        let mut joined = Vec::new();
        context.interleave(&codes(native), keeps_interpreter, is_interpreters, &mut joined);
        joined.iter().map(|code| code.0 as u8 as char).collect()
    }

    #[test]
    fn an_interpreters_frames_stand_where_its_native_ones_do() {
        // The interpreter's own program; E is its loop.
        let native = "SlcMRECCnqECa";
        let parts = [("12", 5), ("3", 10)];
        assert_eq!(interleaved(native, &parts, false), "12nq3a");
        assert_eq!(interleaved(native, &parts, true), "SlcMRE12CCnqE3Ca");
        // A thread of its, and one of a program that has it inside.
        assert_eq!(interleaved("csTECa", &[("1", 3)], false), "1a");
        assert_eq!(interleaved("slcmdPECa", &[("1", 6)], false), "slcmd1a");
        // No frame of Python's is left in an activation that has just begun, or ends.
        assert_eq!(interleaved("csTECEa", &[("1", 3), ("", 5)], false), "1a");
        // What is not there is no place, and nobody is led astray.
        assert_eq!(interleaved("csTECa", &[("1", 90), ("2", 3)], false), "12");
    }

    #[test]
    fn of_native_frames_those_stay_that_the_interpreter_has_called() {
        check("", "", "");
        check("smVC", "", "VC");
        check("smVCpqA", "pq", "VCpqA");
        check("smVCpq", "pq", "VCpq");
        check("smVCpqVCx", "x", "VCx");
        check("smVCpqVA", "pq", "VCpqVA");
        check("VCA", "", "VCA");
        check("sm", "", "");
        check("Sm", "", "");
        check("SmVC", "", "VC");
        check("SmVCpq", "pq", "VCpq");
    }
}
