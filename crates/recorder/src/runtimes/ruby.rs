//! Ruby.
//!
//! libruby exports what C extensions need, and an executable that has it inside does so as well.

use lifetrace_trace::frame::FrameKind;
use lifetrace_transport::sources::{SourceName, Unit};
use rustix::process::Signal;

use super::{Language, ManagedHeap, Runtime};
use crate::notice::RuntimeNotice;

/// The reference implementation, 3.1 and its like.
#[derive(Debug)]
pub(crate) struct Ruby;

/// What an agent begins with.
const SETUP: &str = "ruby_setup";
/// What 3.1 to 3.4 have, by which a collection's findings can be known.
const MARKED: &str = "rb_obj_gc_flags";
const FRAMES: &str = "rb_profile_frames";

const SYMBOLS: [&str; 3] = [SETUP, MARKED, FRAMES];

/// From the first ractor on objects are not sampled.
const RACTORS: RuntimeNotice = RuntimeNotice::unsampled("ruby-ractors");
const UNKNOWN: RuntimeNotice = RuntimeNotice::unsampled("ruby-unknown");
const UNWATCHED: RuntimeNotice = RuntimeNotice::unsampled("ruby-unwatched");
const HIDDEN_COLLECTIONS: RuntimeNotice = RuntimeNotice::plain("ruby-collections-hidden");
const HIDDEN: RuntimeNotice = RuntimeNotice::unsampled("ruby-hidden");
const ABSENT: RuntimeNotice = RuntimeNotice::absence("no-ruby");

/// Snapshots that nobody asks for one by one could not be taken.
const SNAPSHOT_WALK: RuntimeNotice = RuntimeNotice::plain("ruby-snapshot-without-walk");
const SNAPSHOT_CHILD: RuntimeNotice = RuntimeNotice::plain("ruby-snapshot-without-child");
const SNAPSHOT_RACTORS: RuntimeNotice = RuntimeNotice::plain("ruby-snapshot-with-ractors");

static NOTICES: [RuntimeNotice; 9] = [
    UNKNOWN,
    RACTORS,
    UNWATCHED,
    HIDDEN_COLLECTIONS,
    SNAPSHOT_WALK,
    SNAPSHOT_CHILD,
    SNAPSHOT_RACTORS,
    HIDDEN,
    ABSENT,
];

impl Language for Ruby {
    fn name(&self) -> SourceName {
        SourceName::new("ruby")
    }

    fn frame_kinds(&self) -> &'static [FrameKind] {
        &[FrameKind::Ruby, FrameKind::RubyNative]
    }

    fn is_interpreter(&self, file_name: &str) -> bool {
        let is_version = |rest: &str| rest.bytes().all(|it| it.is_ascii_digit() || it == b'.');
        file_name.starts_with("libruby") || file_name.strip_prefix("ruby").is_some_and(is_version)
    }

    fn notices(&self) -> &'static [RuntimeNotice] {
        &NOTICES
    }
}

impl Runtime for Ruby {
    fn title(&self) -> &'static str {
        "Ruby"
    }

    fn takes_snapshots(&self) -> bool {
        true
    }

    fn waking_signal(&self) -> Option<Signal> {
        Some(Signal::URG)
    }

    fn unit(&self) -> Unit {
        Unit::OBJECT
    }

    fn auto_has_malloc(&self) -> bool {
        true
    }

    fn symbols(&self) -> &'static [&'static str] {
        &SYMBOLS
    }

    fn heap(&self, exports: &dyn Fn(&str) -> bool) -> ManagedHeap {
        match SYMBOLS.map(exports) {
            [false, ..] => ManagedHeap::None,
            [true, true, true] => ManagedHeap::Sampled,
            [true, ..] => ManagedHeap::Unsampled(&UNKNOWN),
        }
    }

    /// A variable that each machine looks for.
    fn mark(&self) -> &'static [u8] {
        b"RUBY_GC_HEAP_GROWTH_FACTOR"
    }

    fn of_static_program(&self) -> &'static str {
        "is a statically linked Ruby, so that no agent can be loaded into it"
    }

    fn absence(&self) -> &'static RuntimeNotice {
        &ABSENT
    }

    fn hidden(&self) -> &'static RuntimeNotice {
        &HIDDEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(exported: &[&str], expected: ManagedHeap) {
        assert_eq!(Ruby.heap(&|name| exported.contains(&name)), expected, "{exported:?}");
    }

    #[test]
    fn the_interpreter_is_in_its_library_or_in_its_command() {
        let is_interpreter = |name: &&str| Ruby.is_interpreter(name);
        let names =
            ["libruby-3.1.so.3.1.2", "ruby", "ruby3.3", "rubygems.so", "xruby", "parser.so"];
        assert!(names.iter().filter(|name| is_interpreter(name)).eq(&names[..3]));
    }

    #[test]
    fn a_program_is_known_by_what_it_exports() {
        check(&[], ManagedHeap::None);
        check(&SYMBOLS, ManagedHeap::Sampled);
        check(&[SETUP, FRAMES], ManagedHeap::Unsampled(&UNKNOWN));
    }
}
