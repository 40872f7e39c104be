//! DHAT's table of frames, and backtraces as numbers in it.
//!
//! Each line of a backtrace is a frame, and equal lines are one. Backtraces whose lines are all equal are
//! one point of the program: DHAT's viewer refuses a file in which a point is there twice.

use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::{Place, Shaped};
use lifetrace_report::function;
use rustc_hash::FxHashMap;

/// The frame that the viewer takes for the root of all.
const ROOT: &str = "[root]";

/// A point of the program: a path of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PointId(u32);

/// All frames, and all points.
#[derive(Debug)]
pub struct Frames<'a> {
    /// As the file has them.
    pub texts: Vec<String>,
    /// By their numbers: the path without its innermost line, and that line. The first has neither.
    paths: Vec<Option<(PointId, u32)>>,
    shaped: Shaped<'a>,
    /// Of its nodes, by their numbers.
    points: Vec<PointId>,
}

impl<'a> Frames<'a> {
    /// Those of backtraces as they are to be shown.
    pub fn new(shaped: Shaped<'a>) -> Self {
        let mut builder = Builder::default();
        let nothing = builder.text(function(&Place::NoBacktrace));
        let lines: Vec<_> = shaped.lines().map(|line| builder.text(text(&line.place))).collect();
        let mut points = vec![builder.child(PointId(0), nothing)];
        for (_, parent, line) in shaped.tree().nodes() {
            let is_outermost = parent == NodeId::ROOT;
            let parent = if is_outermost { PointId(0) } else { points[parent.index()] };
            points.push(builder.child(parent, lines[line.index()]));
        }
        let Builder { texts, paths, .. } = builder;
        Self { texts, paths, shaped, points }
    }

    /// The point of a backtrace; nothing if it is left out.
    pub fn point(&self, node: NodeId) -> Option<PointId> {
        self.shaped.of(node).map(|node| self.points[node.index()])
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
}

impl Default for Builder {
    fn default() -> Self {
        let (indices, children) = (FxHashMap::default(), FxHashMap::default());
        Self { texts: vec![ROOT.to_owned()], indices, paths: vec![None], children }
    }
}

impl Builder {
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
