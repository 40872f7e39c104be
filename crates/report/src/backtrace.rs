//! Backtraces that fit on a page: recursion is folded, then the middle of what is still too long is
//! left out. Each fold and each gap says how much is missing.

use lifetrace_analysis::{NamedFrame, Place};
use lifetrace_trace::event::Location;

/// A line of a shortened backtrace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line<'a> {
    Frame(NamedFrame<'a>),
    /// The last so many frames come so many times more.
    Again {
        frames: usize,
        times: usize,
    },
    /// So many frames are not shown.
    Gap {
        frames: usize,
    },
}

/// Longest cycle of functions that is recognized as recursion.
const LONGEST_CYCLE: usize = 12;
/// Fewer turns than this are shown in full.
const MIN_TURNS: usize = 3;
/// Lines that are shown if a backtrace is too long: the innermost and the outermost ones.
const INNERMOST: usize = 16;
const OUTERMOST: usize = 6;

/// The lines for these frames, innermost first.
pub fn shorten<'a>(frames: &[NamedFrame<'a>]) -> Vec<Line<'a>> {
    shorten_to(frames, INNERMOST, OUTERMOST)
}

/// The lines to be shown of a backtrace, of which so many are kept at its ends if it is too long.
pub fn shorten_to<'a>(
    frames: &[NamedFrame<'a>],
    innermost: usize,
    outermost: usize,
) -> Vec<Line<'a>> {
    leave_out_middle(fold_recursion(frames), innermost, outermost)
}

fn fold_recursion<'a>(frames: &[NamedFrame<'a>]) -> Vec<Line<'a>> {
    let (mut lines, mut rest) = (Vec::new(), frames);
    while !rest.is_empty() {
        let (cycle, turns) = first_cycle(rest).unwrap_or((1, 1));
        lines.extend(rest[..cycle].iter().map(|&frame| Line::Frame(frame)));
        if turns > 1 {
            lines.push(Line::Again { frames: cycle, times: turns - 1 });
        }
        rest = &rest[cycle * turns..];
    }
    lines
}

/// The length of the shortest cycle that `frames` begin with, and how many turns it takes.
fn first_cycle(frames: &[NamedFrame<'_>]) -> Option<(usize, usize)> {
    (1..=LONGEST_CYCLE.min(frames.len())).find_map(|cycle| {
        let turns = 1 + frames
            .chunks_exact(cycle)
            .skip(1)
            .take_while(|turn| same(turn, &frames[..cycle]))
            .count();
        (turns >= MIN_TURNS).then_some((cycle, turns))
    })
}

fn same(a: &[NamedFrame<'_>], b: &[NamedFrame<'_>]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.inlined == b.inlined && same_place(&a.place, &b.place))
}

/// Whether two places look the same on a page, where columns are not shown.
fn same_place(a: &Place<'_>, b: &Place<'_>) -> bool {
    match (a, b) {
        (Place::Known(a), Place::Known(b)) => key(a) == key(b),
        _ => a == b,
    }
}

fn key(location: &Location) -> (&str, &str, u32) {
    (&location.defname, &location.filename, location.line)
}

fn leave_out_middle(mut lines: Vec<Line<'_>>, innermost: usize, outermost: usize) -> Vec<Line<'_>> {
    // A gap takes a line itself, so leaving out one line gains nothing.
    if lines.len() <= innermost + outermost + 1 {
        return lines;
    }
    let middle = innermost..lines.len() - outermost;
    let frames = lines[middle.clone()].iter().map(represented).sum();
    lines.splice(middle, [Line::Gap { frames }]);
    lines
}

fn represented(line: &Line<'_>) -> usize {
    match line {
        Line::Frame(_) => 1,
        Line::Again { frames, times } => frames * times,
        Line::Gap { frames } => *frames,
    }
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::ids::LocationCode;

    use super::*;

    fn frames(codes: impl IntoIterator<Item = u64>) -> Vec<NamedFrame<'static>> {
        let frame = |code| NamedFrame {
            place: Place::Unknown(LocationCode(code)),
            inlined: false,
            is_machinery: false,
        };
        codes.into_iter().map(frame).collect()
    }

    fn check(codes: impl IntoIterator<Item = u64>, expected: &str) {
        let text = |line: &Line<'_>| match line {
            Line::Frame(NamedFrame { place: Place::Unknown(code), .. }) => code.0.to_string(),
            Line::Frame(frame) => panic!("{frame:?}"),
            Line::Again { frames, times } => format!("({frames}x{times})"),
            Line::Gap { frames } => format!("..{frames}.."),
        };
        let lines: Vec<_> = shorten(&frames(codes)).iter().map(text).collect();
        assert_eq!(lines.join(" "), expected);
    }

    #[test]
    fn short_ones_stay() {
        check([], "");
        check([1, 2, 2, 3], "1 2 2 3");
        check(1..=23, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23");
    }

    #[test]
    fn recursion_is_folded() {
        check([9, 1, 1, 1, 1, 8], "9 1 (1x3) 8");
        check([9, 1, 2, 1, 2, 1, 2, 1, 8], "9 1 2 (2x2) 1 8");
        check([1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2], "1 (1x2) 2 1 (1x2) 2 1 (1x2) 2");
    }

    #[test]
    fn what_is_folded_counts_in_the_gap() {
        let codes = (1..=16).chain([50; 100]).chain(17..=30);
        check(codes, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 ..108.. 25 26 27 28 29 30");
    }
}
