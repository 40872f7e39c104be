//! DHAT's table of frames, and backtraces as numbers in it.
//!
//! Each line of a backtrace is a frame, and equal lines are one. Backtraces whose lines are all equal are
//! one point of the program: DHAT's viewer refuses a file in which a point is there twice.

use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::names::expand;
use lifetrace_analysis::{Names, Place, Profile};
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use crate::report::function;

/// The frame that the viewer takes for the root of all.
const ROOT: &str = "[root]";

/// A point of the program: a path of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PointId(u32);

/// All frames, and all points.
#[derive(Debug)]
pub struct Frames {
    /// As the file has them.
    pub texts: Vec<String>,
    /// By their numbers: the path without its innermost line, and that line. The first has neither.
    paths: Vec<Option<(PointId, u32)>>,
    /// Of a profile's backtraces.
    points: FxHashMap<NodeId, PointId>,
}

impl Frames {
    /// Those of the backtraces of a profile.
    pub fn new(profile: &Profile, names: &impl Names) -> Self {
        let mut builder = Builder::default();
        let root = PointId(0);
        let nothing = builder.text(function(&Place::NoBacktrace));
        let nothing = builder.child(root, nothing);
        builder.points.insert(NodeId::ROOT, nothing);
        for (node, parent, code) in profile.tree().nodes() {
            let parent = if parent == NodeId::ROOT { root } else { builder.points[&parent] };
            let lines = builder.lines(code, names);
            let point = lines.into_iter().fold(parent, |parent, line| builder.child(parent, line));
            builder.points.insert(node, point);
        }
        let Builder { texts, paths, points, .. } = builder;
        Self { texts, paths, points }
    }

    /// The point of a backtrace.
    pub fn point(&self, node: NodeId) -> PointId {
        self.points.get(&node).copied().unwrap_or(PointId(0))
    }

    /// A point's frames, innermost first.
    pub fn of(&self, point: PointId) -> Vec<u32> {
        let step = |point: PointId| self.paths.get(point.0 as usize).copied().flatten();
        let path = std::iter::successors(step(point), |(parent, _)| step(*parent));
        path.map(|(_, line)| line).collect()
    }
}

struct Builder {
    texts: Vec<String>,
    indices: FxHashMap<String, u32>,
    paths: Vec<Option<(PointId, u32)>>,
    children: FxHashMap<(PointId, u32), PointId>,
    points: FxHashMap<NodeId, PointId>,
    /// The lines of a frame, outermost first.
    known: FxHashMap<LocationCode, Vec<u32>>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            texts: vec![ROOT.to_owned()],
            indices: FxHashMap::default(),
            paths: vec![None],
            children: FxHashMap::default(),
            points: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }
}

impl Builder {
    fn lines(&mut self, code: LocationCode, names: &impl Names) -> Vec<u32> {
        if let Some(known) = self.known.get(&code) {
            return known.clone();
        }
        let texts: Vec<_> = expand(names, code).map(|frame| text(&frame.place)).collect();
        let lines: Vec<_> = texts.into_iter().rev().map(|text| self.text(text)).collect();
        self.known.insert(code, lines.clone());
        lines
    }

    fn text(&mut self, text: String) -> u32 {
        *self.indices.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            number(self.texts.len())
        })
    }

    fn child(&mut self, parent: PointId, line: u32) -> PointId {
        *self.children.entry((parent, line)).or_insert_with(|| {
            self.paths.push(Some((parent, line)));
            PointId(number(self.paths.len()))
        })
    }
}

/// The number of the last of so many.
fn number(count: usize) -> u32 {
    u32::try_from(count - 1).expect("2^32 lines do not fit in memory")
}

/// As DHAT writes it, without an address: `name (file.c:12)`, or `name (in /lib/libc.so.6)`.
fn text(place: &Place<'_>) -> String {
    let name = function(place);
    match place {
        Place::Known(location) if location.line > 0 => {
            format!("{name} ({}:{})", location.filename, location.line)
        }
        Place::Known(location) if !location.filename.is_empty() => {
            format!("{name} (in {})", location.filename)
        }
        _ => name,
    }
}
