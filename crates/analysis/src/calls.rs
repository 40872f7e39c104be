//! The calls of a function, and those in it, by their places in the source: line and columns.
//!
//! A function that calls itself is in a backtrace several times. The outermost of these places counts: where it was
//! called from outside of itself, and where it went on from there. So each backtrace counts once, and the calls of a
//! function, like those in it, add up to all that came through it.

use rustc_hash::FxHashMap;

use crate::call_tree::NodeId;
use crate::estimate::Estimate;
use crate::filter::Focus;
use crate::names::Place;
use crate::shape::{Key, LineId};
use crate::sites::Sites;

/// What came through the last function of a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calls<'a> {
    /// All of it.
    pub total: Estimate,
    /// By the places where the function is called, those with most first. A function that nobody calls, as far as
    /// backtraces tell, is called at [`Place::NoBacktrace`].
    pub of: Vec<Call<'a>>,
    /// By the places in the function where it calls others or allocates, likewise.
    pub inside: Vec<Call<'a>>,
}

/// A place where a function calls another one, or allocates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call<'a> {
    /// Where.
    pub place: Place<'a>,
    /// What came from there.
    pub total: Estimate,
    /// What of it was allocated right there: it is the callsite.
    pub own: Estimate,
}

impl<'a> Calls<'a> {
    /// What each of the backtraces has, by places that are told from each other as the lines of `sites` are.
    pub fn new(
        sites: &Sites<'a>,
        values: impl IntoIterator<Item = (NodeId, Estimate)>,
        path: &Focus,
    ) -> Self {
        let shaped = sites.shaped();
        let ends = shaped.ends_of(path);
        let (mut total, mut of, mut inside) =
            (Estimate::default(), Sums::default(), Sums::default());
        for (node, value) in values {
            let Some(end) = ends[node.index()] else { continue };
            let Some((caller, line)) = shaped.tree().parent(end) else { continue };
            let own = if sites.begin(node) == end { value } else { Estimate::default() };
            total += value;
            inside.add(Some(line), value, own);
            of.add(shaped.tree().parent(caller).map(|(_, line)| line), value, Estimate::default());
        }
        let place =
            |line: Option<LineId>| line.map_or(Place::NoBacktrace, |line| shaped.line(line).place);
        Self { total, of: of.sorted(place), inside: inside.sorted(place) }
    }
}

/// What came from each line, and what was allocated there.
#[derive(Default)]
struct Sums(FxHashMap<Option<LineId>, (Estimate, Estimate)>);

impl Sums {
    fn add(&mut self, line: Option<LineId>, value: Estimate, own: Estimate) {
        let sums = self.0.entry(line).or_default();
        sums.0 += value;
        sums.1 += own;
    }

    fn sorted<'a>(self, place: impl Fn(Option<LineId>) -> Place<'a>) -> Vec<Call<'a>> {
        let calls = self.0.into_iter().filter(|(_, (total, _))| total.value > 0.0);
        let call = |(line, (total, own))| Call { place: place(line), total, own };
        let mut calls: Vec<_> = calls.map(call).collect();
        calls.sort_by(|a, b| {
            let key = |call: &Call<'a>| (Key::of(&call.place), call.place.columns());
            b.total.value.total_cmp(&a.total.value).then_with(|| key(a).cmp(&key(b)))
        });
        calls
    }
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::event::Location;
    use lifetrace_trace::ids::LocationCode;

    use super::*;
    use crate::call_tree::CallTree;
    use crate::estimate::Weight;
    use crate::filter::View;
    use crate::names::testing::Book;
    use crate::shape::Shaped;

    /// Function, line and first column of each code, from 1 on.
    const LINES: [(&str, u32, u32); 6] =
        [("main", 1, 4), ("main", 1, 9), ("f", 2, 1), ("f", 3, 1), ("g", 4, 1), ("other", 5, 1)];

    fn book() -> Book {
        let location = |(name, line, column): (&str, u32, u32)| Location {
            filename: "a.ml".into(),
            line,
            start_char: column,
            end_char: column + 3,
            defname: name.into(),
        };
        let lines = LINES.into_iter().zip(1..);
        Book(lines.map(|(line, code)| (LocationCode(code), vec![location(line)])).collect())
    }

    /// Line, first column, blocks, blocks allocated there.
    type Row = (u32, u32, f64, f64);

    fn rows(calls: &[Call<'_>]) -> Vec<Row> {
        let row = |call: &Call<'_>| {
            let (line, column) = match call.place {
                Place::Known(location) => (location.line, location.start_char),
                _ => (0, 0),
            };
            (line, column, call.total.value, call.own.value)
        };
        calls.iter().map(row).collect()
    }

    fn calls(stacks: &[(&[u64], u64)], path: &str, check: impl Fn(f64, Vec<Row>, Vec<Row>)) {
        let (book, mut tree) = (book(), CallTree::default());
        let node = |(stack, _): &(&[u64], u64)| {
            let codes: Vec<_> = stack.iter().copied().map(LocationCode).collect();
            tree.follow(0, &codes)
        };
        let nodes: Vec<_> = stacks.iter().map(node).collect();
        let view = View { by_column: true, ..View::default() };
        let sites = Sites::new(Shaped::new(&tree, &book, &view));
        let value = |blocks: u64| {
            let mut sum = Estimate::default();
            (0..blocks).for_each(|_| sum += Weight::ONE.tally(1).amount().objects);
            sum
        };
        let values = nodes
            .iter()
            .zip(stacks)
            .map(|(&node, &(_, blocks))| (sites.shaped().of(node).unwrap(), value(blocks)));
        let calls = Calls::new(&sites, values, &Focus::parse(path).unwrap());
        check(calls.total.value, rows(&calls.of), rows(&calls.inside));
    }

    #[test]
    fn places_differ_by_columns() {
        let stacks: [(&[u64], u64); 4] =
            [(&[1, 3, 5], 10), (&[2, 3], 3), (&[2, 4, 5], 1), (&[6, 5], 7)];
        calls(&stacks, "f", |total, of, inside| {
            assert_eq!(total, 14.0);
            assert_eq!(of, [(1, 4, 10.0, 0.0), (1, 9, 4.0, 0.0)]);
            assert_eq!(inside, [(2, 1, 13.0, 3.0), (3, 1, 1.0, 0.0)]);
        });
        calls(&stacks, "f;g", |total, of, inside| {
            assert_eq!(total, 11.0);
            assert_eq!(of, [(2, 1, 10.0, 0.0), (3, 1, 1.0, 0.0)]);
            assert_eq!(inside, [(4, 1, 11.0, 11.0)]);
        });
    }

    #[test]
    fn a_function_that_calls_itself_counts_once_where_it_is_entered() {
        let stacks: [(&[u64], u64); 2] = [(&[1, 3, 3, 4], 5), (&[3, 4], 2)];
        calls(&stacks, "f", |total, of, inside| {
            assert_eq!(total, 7.0);
            assert_eq!(of, [(1, 4, 5.0, 0.0), (0, 0, 2.0, 0.0)]);
            assert_eq!(inside, [(2, 1, 7.0, 0.0)]);
        });
    }

    #[test]
    fn what_does_not_come_through_is_left_out() {
        calls(&[(&[1, 5], 5)], "f", |total, of, inside| {
            assert_eq!((total, of, inside), (0.0, vec![], vec![]));
        });
    }
}
