//! A runtime that there is not, as a runtime is added: it is sampled by objects, and has two kinds of frames.

use lifetrace_trace::frame::FrameKind;
use lifetrace_transport::sources::{SourceName, Unit};

use super::{Language, ManagedHeap, Runtime};
use crate::notice::RuntimeNotice;

#[derive(Debug)]
pub(crate) struct Fake;

const ABSENT: RuntimeNotice = RuntimeNotice::absence("no-fake");
const HIDDEN: RuntimeNotice = RuntimeNotice::unsampled("fake-hidden");
const SLEEPY: RuntimeNotice = RuntimeNotice::plain("fake-sleepy");

static NOTICES: [RuntimeNotice; 3] = [ABSENT, HIDDEN, SLEEPY];

impl Language for Fake {
    fn name(&self) -> SourceName {
        SourceName::new("fake")
    }

    fn frame_kinds(&self) -> &'static [FrameKind] {
        &[FrameKind::Ruby, FrameKind::RubyNative]
    }

    fn notices(&self) -> &'static [RuntimeNotice] {
        &NOTICES
    }
}

impl Runtime for Fake {
    fn title(&self) -> &'static str {
        "Fake"
    }

    fn unit(&self) -> Unit {
        Unit::OBJECT
    }

    fn auto_has_malloc(&self) -> bool {
        true
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["fake_runtime_of_lifetraces_tests"]
    }

    fn heap(&self, exports: &dyn Fn(&str) -> bool) -> ManagedHeap {
        if self.symbols().iter().all(|name| exports(name)) {
            ManagedHeap::Sampled
        } else {
            ManagedHeap::None
        }
    }

    fn mark(&self) -> &'static [u8] {
        b"FAKE_RUNTIME_OF_LIFETRACES_TESTS_PARAM"
    }

    fn of_static_program(&self) -> &'static str {
        "has a fake runtime"
    }

    fn absence(&self) -> &'static RuntimeNotice {
        &ABSENT
    }

    fn hidden(&self) -> &'static RuntimeNotice {
        &HIDDEN
    }
}
