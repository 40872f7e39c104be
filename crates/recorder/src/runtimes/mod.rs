//! What the recorder knows of managed runtimes: a file about each of them, and the [`RUNTIMES`]; and of Python, of which it
//! knows the frames alone.
//!
//! ```text
//! a program's file ─ programs ─ which names it exports ─▶ Runtime::heap ─▶ choice ─▶ the session's sources
//! a session's messages ─ frames, notices, figures ─▶ Language::frame_kinds, notices ─▶ its trace
//! ```
//!
//! Nothing else in this crate is about one of them in particular, but for [Memtrace](crate::memtrace), which is a format
//! and a recorder besides, and for the symbols of native code.

use std::fmt::Debug;
use std::fs::File;

use lifetrace_trace::frame::FrameKind;
use lifetrace_transport::sources::{SourceName, Unit};
use rustix::process::Signal;

use crate::notice::{Notice, RuntimeNotice};
use crate::program_file::mentions;

mod choice;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod ocaml;
mod programs;
mod python;
mod ruby;

pub use choice::{Beside, SourceChoice};
pub(crate) use programs::Programs;

/// All of them. Of a program that has several, the first whose heap can be sampled is.
pub(crate) const RUNTIMES: &[&dyn Runtime] = &[
    &ocaml::OCaml,
    &ruby::Ruby,
    #[cfg(test)]
    &fake::Fake,
];

/// The heap of a runtime in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ManagedHeap {
    /// There is none that the program tells of.
    None,
    /// It can be sampled.
    Sampled,
    /// It cannot, and this is why.
    Unsampled(&'static RuntimeNotice),
}

impl ManagedHeap {
    /// Whether it can be sampled.
    pub(crate) fn is_sampled(self) -> bool {
        matches!(self, ManagedHeap::Sampled)
    }
}

/// What has frames of its own, as the recorder has to know it. Its agent calls it by the same name, and has the same notices.
pub(crate) trait Language: Debug + Sync {
    /// What it is called, and its source and its sampler are if it has a heap that is sampled.
    fn name(&self) -> SourceName;

    /// The kinds of frames that its agent tells of, in the order of their numbers.
    fn frame_kinds(&self) -> &'static [FrameKind];

    /// Whether an object file of that name has its interpreter in it, whose own frames are not to be seen.
    fn is_interpreter(&self, _file_name: &str) -> bool {
        false
    }

    /// What a function is called that its agent calls `function`, in a file.
    fn full_name(&self, function: &str, _file: &str) -> String {
        function.to_owned()
    }

    /// All that may have to be told of it: those that its agent tells, too.
    fn notices(&self) -> &'static [RuntimeNotice];
}

/// A managed runtime, whose heap may be sampled.
pub(crate) trait Runtime: Language {
    /// What people call it.
    fn title(&self) -> &'static str;

    /// Whether its agent takes snapshots of its heap.
    fn takes_snapshots(&self) -> bool {
        false
    }

    /// The signal at which a program that waits looks whether a snapshot is wanted; whoever does not know it ignores it.
    fn waking_signal(&self) -> Option<Signal> {
        None
    }

    /// What its agent's sampler hits. Sizes of blocks are in words, without headers, of a heap of which words are hit,
    /// else in bytes.
    fn unit(&self) -> Unit;

    /// Whether malloc is sampled beside, where the user leaves the choice to us.
    fn auto_has_malloc(&self) -> bool;

    /// The functions and variables by which it is known; at most 32.
    fn symbols(&self) -> &'static [&'static str];

    /// The heap of a program that exports these of them, together with its libraries.
    fn heap(&self, exports: &dyn Fn(&str) -> bool) -> ManagedHeap;

    /// A string that is in each program that has it, exported or not.
    fn mark(&self) -> &'static [u8];

    /// Why a statically linked program that has it cannot be traced, and what to do instead.
    fn of_static_program(&self) -> &'static str;

    /// Told if its heap was asked for, and there is none.
    fn absence(&self) -> &'static RuntimeNotice;

    /// Told if a program has it, and exports nothing of it.
    fn hidden(&self) -> &'static RuntimeNotice;
}

/// All that have frames of their own.
fn languages() -> impl Iterator<Item = &'static dyn Language> {
    let runtimes = RUNTIMES.iter().map(|runtime| *runtime as &dyn Language);
    runtimes.chain([&python::Python as &dyn Language])
}

/// What has frames of its own, by its name.
pub(crate) fn language(name: SourceName) -> Option<&'static dyn Language> {
    languages().find(|language| language.name() == name)
}

/// The runtime of that name.
pub(crate) fn by_name(name: SourceName) -> Option<&'static dyn Runtime> {
    RUNTIMES.iter().copied().find(|runtime| runtime.name() == name)
}

/// The runtime that a statically linked program has.
pub(crate) fn in_static_program(program: &File) -> Option<&'static dyn Runtime> {
    RUNTIMES.iter().copied().find(|runtime| mentions(program, runtime.mark()))
}

/// All notices that are about nothing in particular.
pub fn plain_notices() -> impl Iterator<Item = Notice> {
    let of_runtimes = languages().flat_map(|language| language.notices());
    Notice::PLAIN.into_iter().chain(of_runtimes.map(Notice::OfRuntime))
}

/// The notice that an agent means; none if it is not known.
pub(crate) fn notice(code: &[u8]) -> Option<Notice> {
    plain_notices().find(|notice| notice.code().as_bytes() == code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::{Unread, Untraced};

    #[test]
    fn runtimes_are_told_apart() {
        for runtime in RUNTIMES {
            assert!(runtime.name().is_managed() && runtime.symbols().len() <= 32);
            assert_eq!(by_name(runtime.name()).unwrap().name(), runtime.name());
            let notices = runtime.notices();
            assert!(notices.contains(runtime.absence()) && runtime.absence().is_of_absence);
            assert!(notices.contains(runtime.hidden()));
        }
        assert!(by_name(SourceName::MALLOC).is_none());
    }

    #[test]
    fn each_notice_has_a_code_of_its_own() {
        let became = Untraced::ALL.map(|why| Notice::Became { why, program: "x".into() });
        let unread = Unread::ALL.map(|what| Notice::Unread { what, file: "x".into() });
        let subjects = became.iter().chain(&unread);
        assert!(subjects.clone().all(|notice| notice.code().ends_with(":x")));
        let mut codes: Vec<_> = plain_notices().collect();
        codes.extend(subjects.cloned());
        let count = codes.len();
        let mut codes: Vec<_> = codes.iter().map(|notice| notice.code().into_owned()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
        let known = |code: &str| notice(code.as_bytes()).map(|notice| notice.code().into_owned());
        assert_eq!(known("own-allocator").as_deref(), Some("own-allocator"));
        assert_eq!(known("ocaml-memtrace").as_deref(), Some("ocaml-memtrace"));
        assert_eq!(known("no-such"), None);
    }
}
