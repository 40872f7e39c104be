//! What became of what, when a program was rebuilt.
//!
//! Places are matched by [names](super::rebuilt_name), not addresses. A place's function and file
//! name it; places that share a name (calls in several lines of one function, closures of one
//! function) are matched in the order of their lines: as many as there are on the side that has
//! fewer, and such that lines differ as little as possible from one common shift, since whoever
//! adds a line shifts all that follow. What is left over is matched by function alone, for files
//! that were renamed.
//!
//! This is the alignment of sequences without gaps on the shorter side (Needleman and Wunsch 1970),
//! O(places^2) for places that share a name.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::rebuilt_name::{rebuilt_file, rebuilt_name};

/// Up to so many pairs of places that share a name, all shifts are tried.
const ALL_SHIFTS: usize = 400;
/// From so many on, only equal lines are matched.
const TOO_MANY: usize = 1 << 22;

/// A place in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site<'a> {
    /// Name, as the trace has it.
    pub function: &'a str,
    /// Source file, or nothing.
    pub file: &'a str,
    /// Line, or 0.
    pub line: u32,
}

/// Which place of one side is which of the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// Indices before and after. Each index is in one pair at most, those before ascend.
    pub pairs: Vec<(usize, usize)>,
    /// Indices of places that are only before.
    pub gone: Vec<usize>,
    /// Indices of places that are only after.
    pub new: Vec<usize>,
}

impl Matching {
    /// Matches the places of two sides. Functions alone are places without file and line.
    pub fn of(before: &[Site<'_>], after: &[Site<'_>]) -> Self {
        let mut matcher = Matcher { sides: [before, after], partner: vec![None; before.len()] };
        let all = [(0..before.len()).collect(), (0..after.len()).collect()];
        let left =
            matcher.match_by(all, |site| (rebuilt_name(site.function), rebuilt_file(site.file)));
        let [gone, new] = matcher.match_by(left, |site| (rebuilt_name(site.function), ""));
        let pair = |(before, after): (usize, &Option<usize>)| after.map(|after| (before, after));
        let pairs = matcher.partner.iter().enumerate().filter_map(pair).collect();
        Self { pairs, gone, new }
    }
}

struct Matcher<'a> {
    sides: [&'a [Site<'a>]; 2],
    /// By index before.
    partner: Vec<Option<usize>>,
}

type Name<'a> = (Cow<'a, str>, &'a str);

impl<'a> Matcher<'a> {
    /// Matches places that have the same name; returns those without a partner, in order.
    fn match_by(
        &mut self,
        sides: [Vec<usize>; 2],
        name: impl Fn(&Site<'a>) -> Name<'a>,
    ) -> [Vec<usize>; 2] {
        let mut groups: FxHashMap<Name<'a>, [Vec<usize>; 2]> = FxHashMap::default();
        for (side, indices) in sides.into_iter().enumerate() {
            for index in indices {
                groups.entry(name(&self.sides[side][index])).or_default()[side].push(index);
            }
        }
        let mut left = [Vec::new(), Vec::new()];
        for group in groups.into_values() {
            for (side, alone) in self.match_group(group).into_iter().enumerate() {
                left[side].extend(alone);
            }
        }
        left.iter_mut().for_each(|indices| indices.sort_unstable());
        left
    }

    fn match_group(&mut self, mut group: [Vec<usize>; 2]) -> [Vec<usize>; 2] {
        for (side, indices) in group.iter_mut().enumerate() {
            indices.sort_by_key(|&index| (self.sides[side][index].line, index));
        }
        let places = [0, 1].map(|side| {
            let sites = group[side].iter().map(|&index| self.sides[side][index]);
            sites.collect::<Vec<_>>()
        });
        let [before, after] = &group;
        for (one, other) in align(&places[0], &places[1]) {
            self.partner[before[one]] = Some(after[other]);
        }
        let taken: FxHashSet<usize> =
            before.iter().filter_map(|&index| self.partner[index]).collect();
        let partner = &self.partner;
        [
            before.iter().copied().filter(|&index| partner[index].is_none()).collect(),
            after.iter().copied().filter(|index| !taken.contains(index)).collect(),
        ]
    }
}

/// Pairs of indices, ascending on both sides. Both sides are ordered by line.
fn align(before: &[Site<'_>], after: &[Site<'_>]) -> Vec<(usize, usize)> {
    if before.len() > after.len() {
        return align(after, before).into_iter().map(|(one, other)| (other, one)).collect();
    }
    if before.len() == after.len() || before.is_empty() {
        return (0..before.len()).map(|index| (index, index)).collect();
    }
    if before.len() * after.len() > TOO_MANY {
        return equal_lines(before, after);
    }
    let alignments = shifts(before, after).into_iter().map(|shift| {
        let (cost, pairs) = align_shifted(before, after, shift);
        (cost, shift.abs(), pairs)
    });
    let best = alignments.min_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    best.map_or_else(Vec::new, |(.., pairs)| pairs)
}

/// By how many lines a side may have been shifted, the smallest first.
fn shifts(before: &[Site<'_>], after: &[Site<'_>]) -> Vec<i64> {
    let shift = |one: &Site<'_>, other: &Site<'_>| i64::from(other.line) - i64::from(one.line);
    let mut shifts = vec![0];
    if before.len() * after.len() <= ALL_SHIFTS {
        shifts
            .extend(before.iter().flat_map(|one| after.iter().map(move |other| shift(one, other))));
    } else {
        let ends = [(before.first(), after.first()), (before.last(), after.last())];
        shifts.extend(ends.into_iter().filter_map(|(one, other)| Some(shift(one?, other?))));
    }
    shifts.sort_unstable_by_key(|shift| (shift.abs(), *shift));
    shifts.dedup();
    shifts
}

/// The cheapest alignment of all of `before`, which is the shorter side, and its cost.
fn align_shifted(
    before: &[Site<'_>],
    after: &[Site<'_>],
    shift: i64,
) -> (u64, Vec<(usize, usize)>) {
    // costs[i][j]: of the first i with some of the first j.
    let width = after.len() + 1;
    let mut costs = vec![u64::MAX; (before.len() + 1) * width];
    costs[..width].fill(0);
    for i in 1..=before.len() {
        for j in i..=after.len() {
            let with = costs[(i - 1) * width + j - 1].saturating_add(cost(
                &before[i - 1],
                &after[j - 1],
                shift,
            ));
            costs[i * width + j] = with.min(costs[i * width + j - 1]);
        }
    }
    let (mut i, mut j) = (before.len(), after.len());
    let mut pairs = Vec::with_capacity(before.len());
    while i > 0 {
        if j > i && costs[i * width + j - 1] == costs[i * width + j] {
            j -= 1;
        } else {
            (i, j) = (i - 1, j - 1);
            pairs.push((i, j));
        }
    }
    pairs.reverse();
    (costs[costs.len() - 1], pairs)
}

/// Lines that two places are apart; half a line more if a compiler numbers them otherwise.
fn cost(before: &Site<'_>, after: &Site<'_>, shift: i64) -> u64 {
    let apart = (i64::from(after.line) - i64::from(before.line) - shift).unsigned_abs();
    2 * apart + u64::from(before.function != after.function)
}

fn equal_lines(before: &[Site<'_>], after: &[Site<'_>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut at = 0;
    for (index, site) in before.iter().enumerate() {
        at += after[at..].iter().take_while(|other| other.line < site.line).count();
        if after.get(at).is_some_and(|other| other.line == site.line) {
            pairs.push((index, at));
            at += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn site<'a>(function: &'a str, file: &'a str, line: u32) -> Site<'a> {
        Site { function, file, line }
    }

    fn check(before: &[Site<'_>], after: &[Site<'_>], expected: &[(usize, usize)]) {
        assert_eq!(Matching::of(before, after).pairs, expected);
    }

    #[test]
    fn a_shifted_function_keeps_its_places() {
        let before = [site("f", "a.c", 10), site("f", "a.c", 20), site("g", "a.c", 90)];
        let after = [site("g", "a.c", 80), site("f", "a.c", 20), site("f", "a.c", 30)];
        check(&before, &after, &[(0, 1), (1, 2), (2, 0)]);
    }

    #[test]
    fn a_new_place_among_old_ones_is_found() {
        let before = [10, 25, 31].map(|line| site("f", "a.c", line));
        let after = [14, 18, 29, 35].map(|line| site("f", "a.c", line));
        let found = Matching::of(&before, &after);
        assert_eq!(
            (found.pairs, found.gone, found.new),
            (vec![(0, 0), (1, 2), (2, 3)], vec![], vec![1])
        );
        let back = Matching::of(&after, &before);
        assert_eq!(
            (back.pairs, back.gone, back.new),
            (vec![(0, 0), (2, 1), (3, 2)], vec![1], vec![])
        );
    }

    #[test]
    fn numbers_of_closures_may_change() {
        let before = [site("f::{closure#0}", "a.rs", 5), site("f::{closure#1}", "a.rs", 9)];
        let after = [
            site("f::{closure#2}", "a.rs", 12),
            site("f::{closure#1}", "a.rs", 8),
            site("f::{closure#0}", "a.rs", 1),
        ];
        check(&before, &after, &[(0, 1), (1, 0)]);
    }

    #[test]
    fn a_hash_or_a_directory_is_no_difference() {
        let before = [site("a::b::h0123456789abcdef", "/home/x/a.rs", 5), site("c.cold", "c.c", 1)];
        let after = [site("c", "/src/c.c", 2), site("a::b::hfedcba9876543210", "src/a.rs", 5)];
        check(&before, &after, &[(0, 1), (1, 0)]);
    }

    #[test]
    fn a_renamed_file_is_no_difference_but_the_old_one_goes_first() {
        check(&[site("f", "a.c", 5)], &[site("f", "b.c", 7)], &[(0, 0)]);
        let after = [site("f", "b.c", 5), site("f", "a.c", 50)];
        check(&[site("f", "a.c", 5)], &after, &[(0, 1)]);
    }

    #[test]
    fn others_are_gone_or_new() {
        let found = Matching::of(&[site("f", "", 0)], &[site("g", "", 0)]);
        assert_eq!((found.pairs, found.gone, found.new), (vec![], vec![0], vec![0]));
        assert_eq!(Matching::of(&[], &[]), Matching::default());
    }

    #[test]
    fn thousands_of_nameless_places_take_no_time() {
        let before: Vec<_> = (0..6000).map(|line| site("?", "", 2 * line)).collect();
        let after: Vec<_> = (0..5000).map(|line| site("?", "", 3 * line)).collect();
        let found = Matching::of(&before, &after);
        assert_eq!(found.pairs.len(), 2000);
        assert!(found.pairs.iter().all(|&(one, other)| before[one] == after[other]));
    }

    /// The least cost over all shifts and all ascending choices of as many of `after`.
    fn naive_cost(before: &[Site<'_>], after: &[Site<'_>]) -> u64 {
        fn least(before: &[Site<'_>], after: &[Site<'_>], shift: i64) -> Option<u64> {
            let Some((first, others)) = before.split_first() else { return Some(0) };
            let choices = (0..after.len()).filter_map(|at| {
                let rest = least(others, &after[at + 1..], shift)?;
                Some(rest + cost(first, &after[at], shift))
            });
            choices.min()
        }
        (-60..=60).filter_map(|shift| least(before, after, shift)).min().unwrap()
    }

    fn sites<'a>(lines: &[u32]) -> Vec<Site<'a>> {
        let mut lines = lines.to_vec();
        lines.sort_unstable();
        lines.dedup();
        lines.into_iter().map(|line| site("f", "a.c", line)).collect()
    }

    proptest! {
        #[test]
        fn no_choice_is_cheaper(
            before in prop::collection::vec(0u32..50, 1..5),
            after in prop::collection::vec(0u32..50, 5..9),
        ) {
            let (before, after) = (sites(&before), sites(&after));
            prop_assume!(before.len() < after.len());
            let shifts = shifts(&before, &after);
            let found = shifts.iter().map(|&shift| align_shifted(&before, &after, shift).0).min();
            prop_assert_eq!(found, Some(naive_cost(&before, &after)));
        }

        #[test]
        fn each_place_has_one_fate(
            before in prop::collection::vec(("[fg]", "[ab]", 0u32..30), 0..12),
            after in prop::collection::vec(("[fg]", "[ab]", 0u32..30), 0..12),
        ) {
            let places = |side: &[(String, String, u32)]| (0..side.len()).collect::<Vec<_>>();
            let sites_before: Vec<_> = before.iter().map(|s| site(&s.0, &s.1, s.2)).collect();
            let sites_after: Vec<_> = after.iter().map(|s| site(&s.0, &s.1, s.2)).collect();
            let found = Matching::of(&sites_before, &sites_after);
            let mut left: Vec<_> = found.pairs.iter().map(|pair| pair.0).chain(found.gone).collect();
            let mut right: Vec<_> = found.pairs.iter().map(|pair| pair.1).chain(found.new).collect();
            left.sort_unstable();
            right.sort_unstable();
            prop_assert_eq!(left, places(&before));
            prop_assert_eq!(right, places(&after));
            for (one, other) in found.pairs {
                prop_assert_eq!(&before[one].0, &after[other].0);
            }
        }

        #[test]
        fn a_side_is_itself_however_it_is_ordered_and_shifted(
            lines in prop::collection::btree_set(0u32..1000, 1..20),
            shift in 0u32..50,
            turn in 0usize..20,
        ) {
            let before: Vec<_> = lines.iter().map(|&line| site("f", "a.c", line)).collect();
            let mut after: Vec<_> = lines.iter().map(|&line| site("f", "a.c", line + shift)).collect();
            let turn = turn % after.len();
            after.rotate_left(turn);
            let expected: Vec<_> =
                (0..lines.len()).map(|i| (i, (i + lines.len() - turn) % lines.len())).collect();
            prop_assert_eq!(Matching::of(&before, &after).pairs, expected);
        }
    }
}
