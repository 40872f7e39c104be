//! Backtraces by name: what formats have that know functions and no addresses.
//!
//! The tree of lines that reports have, with lines merged further: what makes them equal is for the
//! format to say. A flame graph merges all lines of a function. The order of stacks is that of their
//! names from the outermost line on, so it does not depend on which of them allocated first.

use lifetrace_analysis::account::Balance;
use lifetrace_analysis::call_tree::{NodeId, Tree};
use lifetrace_analysis::filter::View;
use lifetrace_analysis::shape::Shaped;
use lifetrace_analysis::{Names, Place, Profile};
use lifetrace_report::function;
use lifetrace_trace::event::Location;
use rustc_hash::FxHashMap;

use super::length;

/// What makes two lines of backtraces equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// The function's name.
    Function,
    /// Name, file and line.
    Line,
}

/// One of [`Stacks::lines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineId(u32);

/// A line of a backtrace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line<'a> {
    /// Never empty; [printable](lifetrace_human::printable).
    pub function: String,
    /// Empty where that is not known, or not told apart.
    pub file: &'a str,
    /// 1-based; 0 where that is not known, or not told apart.
    pub line: u32,
}

/// A stack, and what it amounts to.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    pub balance: Balance,
    node: NodeId,
}

/// All stacks of a trace.
#[derive(Clone, Debug)]
pub struct Stacks<'a> {
    pub lines: Vec<Line<'a>>,
    pub stacks: Vec<Stack>,
    tree: Tree<LineId>,
}

impl<'a> Stacks<'a> {
    /// The backtraces of `profile` as `view` has them; `names` are those of the trace.
    pub fn new(profile: &Profile, names: &'a impl Names, view: &View, sameness: Sameness) -> Self {
        let shaped = Shaped::new(profile.tree(), names, view);
        let found = shaped.merge(profile.balances());
        let has_empty = found.iter().any(|&(node, _)| node == NodeId::ROOT);
        let (tree, lines, merged) = merge(&shaped, has_empty, sameness);
        let mut balances = vec![Balance::default(); 1 + tree.len()];
        for (node, balance) in found {
            balances[merged[node.index()].index()] += &balance;
        }
        let balance = |node: NodeId| balances[node.index()];
        let order = order(&tree, &lines).into_iter();
        let used = order.filter(|&node| !balance(node).allocated.is_empty());
        let stacks = used.map(|node| Stack { balance: balance(node), node }).collect();
        Self { lines, stacks, tree }
    }

    /// A stack's lines, outermost first; never none.
    pub fn path(&self, stack: &Stack) -> Vec<LineId> {
        let mut path: Vec<_> = self.tree.frames(stack.node).collect();
        path.reverse();
        path
    }
}

impl Stacks<'_> {
    /// The bytes of each stack, in their order, where those of a line are given.
    pub fn lengths(&self, line: impl Fn(LineId) -> u64) -> impl Iterator<Item = u64> {
        let lengths = length::of_stacks(&self.tree, line);
        self.stacks.iter().map(move |stack| lengths[stack.node.index()])
    }
}

impl LineId {
    /// The line at this place.
    ///
    /// # Panics
    /// If there are 2^32 lines, which do not fit in memory.
    pub fn of(index: usize) -> Self {
        Self(u32::try_from(index).expect("2^32 lines do not fit in memory"))
    }

    /// Its place in [`Stacks::lines`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All nodes, parents first, siblings in the order of their lines.
fn order(tree: &Tree<LineId>, lines: &[Line<'_>]) -> Vec<NodeId> {
    let ranks = ranks(lines);
    let mut children = vec![Vec::new(); 1 + tree.len()];
    for (node, parent, line) in tree.nodes() {
        children[parent.index()].push((ranks[line.index()], node));
    }
    let (mut order, mut waiting) = (Vec::new(), vec![NodeId::ROOT]);
    while let Some(node) = waiting.pop() {
        order.push(node);
        let children = &mut children[node.index()];
        children.sort_unstable();
        waiting.extend(children.iter().rev().map(|&(_, child)| child));
    }
    order
}

/// The place of each line if they were sorted.
fn ranks(lines: &[Line<'_>]) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..lines.len()).collect();
    sorted.sort_unstable_by_key(|&index| &lines[index]);
    let mut ranks = vec![0; lines.len()];
    sorted.into_iter().enumerate().for_each(|(rank, index)| ranks[index] = rank);
    ranks
}

#[derive(Default)]
struct Lines<'a> {
    lines: Vec<Line<'a>>,
    ids: FxHashMap<Line<'a>, LineId>,
}

impl<'a> Lines<'a> {
    fn id(&mut self, line: Line<'a>) -> LineId {
        *self.ids.entry(line).or_insert_with_key(|line| {
            self.lines.push(line.clone());
            LineId::of(self.lines.len() - 1)
        })
    }
}

/// The tree of `shaped` with `sameness`, its lines, and which of its nodes each of `shaped` is.
fn merge<'a>(
    shaped: &Shaped<'a>,
    has_empty: bool,
    sameness: Sameness,
) -> (Tree<LineId>, Vec<Line<'a>>, Vec<NodeId>) {
    let (mut lines, mut tree, mut merged) = (Lines::default(), Tree::default(), vec![NodeId::ROOT]);
    let frames = shaped.lines();
    let ids: Vec<_> = frames.map(|frame| lines.id(line(&frame.place, sameness))).collect();
    for (_, parent, line) in shaped.tree().nodes() {
        merged.push(tree.child(merged[parent.index()], ids[line.index()]));
    }
    // A backtrace without frames has a line that says so.
    if has_empty {
        let nothing = lines.id(line(&Place::NoBacktrace, sameness));
        merged[NodeId::ROOT.index()] = tree.child(NodeId::ROOT, nothing);
    }
    (tree, lines.lines, merged)
}

fn line<'a>(place: &Place<'a>, sameness: Sameness) -> Line<'a> {
    let function = function(place);
    match (place, sameness) {
        (Place::Known(Location { filename, line, .. }), Sameness::Line) => {
            Line { function, file: filename, line: *line }
        }
        _ => Line { function, file: "", line: 0 },
    }
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::event::{Allocation, Event, Source, TraceInfo};
    use lifetrace_trace::ids::{AllocationId, DomainId, LocationCode, Timestamp, Words};

    use super::*;
    use crate::Metric;

    /// Of each code, the functions and their lines, outermost first.
    struct Program(FxHashMap<LocationCode, Vec<Location>>);

    impl Names for Program {
        fn locations(&self, code: LocationCode) -> &[Location] {
            self.0.get(&code).map_or(&[], Vec::as_slice)
        }
    }

    impl Program {
        fn new(codes: &[(u64, &[(&str, u32)])]) -> Self {
            let location = |&(function, line): &(&str, u32)| Location {
                filename: "a.c".into(),
                line,
                start_char: 0,
                end_char: 0,
                defname: function.into(),
            };
            let locations = |lines: &[(&str, u32)]| lines.iter().map(location).collect();
            let codes = codes.iter().map(|&(code, lines)| (LocationCode(code), locations(lines)));
            Self(codes.collect())
        }
    }

    /// One word is allocated at each of these backtraces.
    fn profile(backtraces: &[&[u64]]) -> Profile {
        let info = TraceInfo {
            sample_rate: 1.0,
            word_bits: 64,
            executable_name: String::new(),
            host_name: String::new(),
            runtime_params: String::new(),
            pid: 1,
            start_time: Timestamp(0),
            initial_domain: DomainId(0),
            context: None,
        };
        let mut profile = Profile::new(&info).unwrap();
        for (id, codes) in backtraces.iter().enumerate() {
            let codes: Vec<_> = codes.iter().copied().map(LocationCode).collect();
            let allocation = Allocation {
                id: AllocationId(id as u64),
                length: Words(1),
                samples: 1,
                source: Source::External,
                domain: DomainId(0),
                backtrace: &codes,
                common_prefix: 0,
            };
            profile.record(Timestamp(id as u64), &Event::Allocation(allocation));
        }
        profile.finish(Timestamp(100));
        profile
    }

    fn check(backtraces: &[&[u64]], names: &Program, sameness: Sameness, expected: &[(&str, f64)]) {
        let profile = profile(backtraces);
        let stacks = Stacks::new(&profile, names, &View::default(), sameness);
        let text = |stack: &Stack| {
            let path = stacks.path(stack);
            let lines = path.iter().map(|id| &stacks.lines[id.index()]);
            let texts = lines.map(|line| match line.line {
                0 => line.function.clone(),
                number => format!("{}:{number}", line.function),
            });
            (texts.collect::<Vec<_>>().join(" "), Metric::Allocated.of(&stack.balance))
        };
        let found: Vec<_> = stacks.stacks.iter().map(text).collect();
        let expected: Vec<_> = expected.iter().map(|&(text, bytes)| (text.into(), bytes)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_of_a_function_are_one_or_several() {
        let names = Program::new(&[(1, &[("main", 7)]), (2, &[("f", 1)]), (3, &[("f", 2)])]);
        let backtraces: &[&[u64]] = &[&[1, 3], &[1, 2], &[1, 3]];
        check(backtraces, &names, Sameness::Function, &[("main f", 24.0)]);
        check(backtraces, &names, Sameness::Line, &[("main:7 f:1", 8.0), ("main:7 f:2", 16.0)]);
    }

    #[test]
    fn an_inlined_function_is_as_one_that_was_called() {
        let names = Program::new(&[
            (1, &[("main", 0), ("f", 0), ("g", 0)]),
            (2, &[("main", 0)]),
            (3, &[("f", 0), ("g", 0)]),
            (4, &[("g", 0)]),
        ]);
        let backtraces: &[&[u64]] = &[&[1], &[2, 3], &[2, 4]];
        check(backtraces, &names, Sameness::Function, &[("main f g", 16.0), ("main g", 8.0)]);
    }

    #[test]
    fn stacks_are_in_the_order_of_names_each_after_what_it_is_in() {
        let names = Program::new(&[(1, &[("z", 0)]), (2, &[("a", 0)]), (3, &[("m", 0)])]);
        let backtraces: &[&[u64]] = &[&[1, 3], &[1], &[2], &[1, 2], &[3]];
        let order = &[("a", 8.0), ("m", 8.0), ("z", 8.0), ("z a", 8.0), ("z m", 8.0)];
        check(backtraces, &names, Sameness::Function, order);
    }

    #[test]
    fn what_is_not_known_has_a_line_too() {
        let expected = &[("(no backtrace)", 8.0), ("(unknown frame 0x9)", 8.0)];
        check(&[&[9], &[]], &Program::new(&[]), Sameness::Line, expected);
    }
}
