//! Backtraces as the profiler's stacks: each is one frame more than another.

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, Frame, FrameFlags, FrameInfo, Profile, StackHandle, ThreadHandle,
};
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::names::{self, expand};
use lifetrace_trace::frame::FrameKind;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use crate::report::function;
use crate::summary::Reading;

/// The stack of each backtrace but the empty one.
pub type Stacks = FxHashMap<NodeId, StackHandle>;

/// Adds all backtraces to a thread.
pub fn stacks(reading: &Reading, profile: &mut Profile, thread: ThreadHandle) -> Stacks {
    let mut frames =
        Frames { reading, categories: Categories::new(profile), known: FxHashMap::default() };
    let mut stacks = Stacks::default();
    for (node, parent, code) in reading.profile.tree().nodes() {
        let mut stack = stacks.get(&parent).copied();
        for info in frames.of(code, profile) {
            let frame = profile.intern_frame(thread, info.clone());
            stack = Some(profile.intern_stack(thread, stack, frame));
        }
        stacks.extend(stack.map(|stack| (node, stack)));
    }
    stacks
}

struct Frames<'a> {
    reading: &'a Reading,
    categories: Categories,
    known: FxHashMap<LocationCode, Vec<FrameInfo>>,
}

impl Frames<'_> {
    /// A frame and what was inlined into it, outermost first.
    fn of(&mut self, code: LocationCode, profile: &mut Profile) -> &[FrameInfo] {
        let Self { reading, categories, known } = self;
        known.entry(code).or_insert_with(|| {
            let kind = reading.trace.frame(code).map_or(FrameKind::Unknown, |frame| frame.kind);
            let info = |frame: names::Frame<'_>| FrameInfo {
                frame: Frame::Label(profile.intern_string(&function(&frame.place))),
                category_pair: categories.of(kind, frame.is_machinery()).into(),
                flags: FrameFlags::empty(),
            };
            let mut infos: Vec<_> = expand(&reading.trace, code).map(info).collect();
            infos.reverse();
            infos
        })
    }
}

/// What the profiler gives colours to.
struct Categories {
    allocator: CategoryHandle,
    native: CategoryHandle,
    ocaml: CategoryHandle,
    ruby: CategoryHandle,
}

impl Categories {
    fn new(profile: &mut Profile) -> Self {
        Self {
            allocator: profile.add_category("Allocation", CategoryColor::LightGreen),
            native: profile.add_category("Native", CategoryColor::Blue),
            ocaml: profile.add_category("OCaml", CategoryColor::Orange),
            ruby: profile.add_category("Ruby", CategoryColor::Red),
        }
    }

    fn of(&self, kind: FrameKind, is_machinery: bool) -> CategoryHandle {
        match kind {
            _ if is_machinery => self.allocator,
            FrameKind::Native => self.native,
            FrameKind::OCaml => self.ocaml,
            FrameKind::Ruby | FrameKind::RubyNative => self.ruby,
            _ => CategoryHandle::OTHER,
        }
    }
}
