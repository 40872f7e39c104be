//! Backtraces as the profiler's stacks: each is one frame more than another.

use std::iter;

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, Frame, FrameFlags, FrameHandle, FrameInfo, Profile, StackHandle,
    ThreadHandle,
};
use lifetrace_analysis::Shaped;
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::names;
use lifetrace_report::function;
use lifetrace_study::Study;
use lifetrace_trace::frame::FrameKind;
use rustc_hash::FxHashMap;

use crate::lines::Codes;

/// The stack of each backtrace that is shown; one without frames has none.
pub type Stacks = FxHashMap<NodeId, Option<StackHandle>>;

/// Adds all backtraces to a thread.
pub fn stacks(study: &Study, profile: &mut Profile, thread: ThreadHandle) -> Stacks {
    let tree = study.reading.profile.tree();
    let shaped = Shaped::new(tree, &study.reading.trace, &study.choice.view);
    let frames = frames(study, &shaped, profile, thread);
    let mut looks: Vec<Option<StackHandle>> = vec![None];
    for (_, parent, line) in shaped.tree().nodes() {
        let stack = profile.intern_stack(thread, looks[parent.index()], frames[line.index()]);
        looks.push(Some(stack));
    }
    let nodes = iter::once(NodeId::ROOT).chain(tree.nodes().map(|(node, ..)| node));
    nodes.filter_map(|node| Some((node, looks[shaped.of(node)?.index()]))).collect()
}

/// The frame of each line.
fn frames<'a>(
    study: &'a Study,
    shaped: &Shaped<'a>,
    profile: &mut Profile,
    thread: ThreadHandle,
) -> Vec<FrameHandle> {
    let (categories, codes) = (Categories::new(profile), Codes::new(&study.reading));
    let kind = |line: &names::NamedFrame<'a>| {
        let frame = codes.of(line).and_then(|code| study.reading.trace.frame(code));
        frame.map_or(FrameKind::Unknown, |frame| frame.kind)
    };
    let frame = |line: names::NamedFrame<'a>| {
        let info = FrameInfo {
            frame: Frame::Label(profile.intern_string(&function(&line.place))),
            category_pair: categories.of(kind(&line), line.is_machinery).into(),
            flags: FrameFlags::empty(),
        };
        profile.intern_frame(thread, info)
    };
    shaped.lines().map(frame).collect()
}

/// What the profiler gives colours to.
struct Categories {
    allocator: CategoryHandle,
    native: CategoryHandle,
    ocaml: CategoryHandle,
    ruby: CategoryHandle,
    python: CategoryHandle,
}

impl Categories {
    fn new(profile: &mut Profile) -> Self {
        Self {
            allocator: profile.add_category("Allocation", CategoryColor::LightGreen),
            native: profile.add_category("Native", CategoryColor::Blue),
            ocaml: profile.add_category("OCaml", CategoryColor::Orange),
            ruby: profile.add_category("Ruby", CategoryColor::Red),
            python: profile.add_category("Python", CategoryColor::Yellow),
        }
    }

    fn of(&self, kind: FrameKind, is_machinery: bool) -> CategoryHandle {
        match kind {
            _ if is_machinery => self.allocator,
            FrameKind::Native => self.native,
            FrameKind::OCaml => self.ocaml,
            FrameKind::Ruby | FrameKind::RubyNative => self.ruby,
            FrameKind::Python => self.python,
            _ => CategoryHandle::OTHER,
        }
    }
}
