//! Runs of symbols that were there before: deep stacks cost a decision for each run, not for each frame.
//!
//! All symbols so far, ends of backtraces included, are the *history*. Where the last three symbols stood the
//! last time, what follows is foreseen to follow again. Once that was right several times in a row, how
//! long it stays right is told by one number, and so many symbols are copied. A recursion follows itself:
//! its run reads what it has just written.
//!
//! What is copied stands in the same contexts as before: several symbols in a row were right, which is more
//! than a context holds. So each symbol's context is kept beside it, and is copied instead of computed.
//!
//! ```text
//! history    … rest value rest value rest END │ parse rest value rest value rest value string END
//!                                                        └ as before ─┘ └ run of 3 ─┘ └ coded one by one
//! ```

use super::coder::Coder;
use super::contexts::{END, Symbol};
use super::number::Number;

/// Symbols that are kept.
const LENGTH: usize = 1 << 16;

/// So many contexts have a place.
const CONTEXT_BITS: u32 = 16;

/// Symbols that are compared at once.
const AT_ONCE: usize = 8;

/// The number of a context.
type Context = u16;

/// A symbol's number in the history, from 1 on, in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HistoryIndex(u32);

/// The history.
pub(super) struct Runs {
    symbols: Box<[Symbol; LENGTH]>,
    /// The context that each symbol came in, the next one included.
    contexts: Box<[Context; LENGTH]>,
    /// The next symbol's.
    next: HistoryIndex,
    /// What came after each context, or 0.
    places: Box<[u32; 1 << CONTEXT_BITS]>,
    lengths: Number,
}

impl HistoryIndex {
    #[inline]
    pub(super) fn after(self, symbols: usize) -> HistoryIndex {
        HistoryIndex(self.0.wrapping_add(symbols as u32))
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize % LENGTH
    }
}

impl Runs {
    pub(super) fn new() -> Self {
        Self {
            symbols: zeros(),
            contexts: zeros(),
            next: HistoryIndex(1),
            places: zeros(),
            lengths: Number::new(4),
        }
    }

    /// The place of what is foreseen after the symbols with this hash, and the next symbol's from here on.
    #[inline]
    pub(super) fn look(&mut self, context: u32) -> Option<HistoryIndex> {
        let context = context_of(context);
        self.contexts[self.next.index()] = context;
        let place = &mut self.places[usize::from(context)];
        let found = HistoryIndex(std::mem::replace(place, self.next.0));
        (found.0 != 0 && self.distance(found) < LENGTH).then_some(found)
    }

    /// Of one context; not to be used, but to have been read.
    #[inline]
    pub(super) fn fetch(&self, context: u32) -> u32 {
        self.places[usize::from(context_of(context))]
    }

    /// A symbol of the history.
    #[inline]
    pub(super) fn at(&self, place: HistoryIndex) -> Symbol {
        self.symbols[place.index()]
    }

    /// The next symbol.
    #[inline]
    pub(super) fn add(&mut self, symbol: Symbol) {
        self.symbols[self.next.index()] = symbol;
        self.next = self.next.after(1);
    }

    /// Copies symbols from that place on to the end of the history and of `stack`, `count` of them or those before the
    /// next [`END`]; how many is returned. What [`add`](Self::add) and [`look`](Self::look) would do one by one,
    /// if the symbols before that place are those at the end of `stack`, as many as a context holds.
    pub(super) fn copy(
        &mut self,
        mut from: HistoryIndex,
        count: usize,
        stack: &mut Vec<Symbol>,
    ) -> usize {
        let mut copied = 0;
        while copied < count {
            let distance = self.distance(from);
            let piece = self.piece(from, count - copied);
            if piece == 0 {
                break;
            }
            self.copy_piece(from, piece, stack);
            copied += piece;
            // A run that reads what it has written repeats itself: from the same place on there is twice as much of it.
            if piece < distance || distance > LENGTH / 4 {
                from = from.after(piece);
            }
        }
        copied
    }

    /// How many of `most` symbols can be copied from there at once: what is there already, up to the end of either's room
    /// or a backtrace's.
    fn piece(&self, from: HistoryIndex, most: usize) -> usize {
        let room = LENGTH - from.index().max(self.next.index());
        let most = most.min(room).min(self.distance(from));
        before_end(&self.symbols[from.index()..][..most])
    }

    /// Of a symbol or more.
    fn copy_piece(&mut self, from: HistoryIndex, count: usize, stack: &mut Vec<Symbol>) {
        let (source, target) = (from.index(), self.next.index());
        stack.extend_from_slice(&self.symbols[source..source + count]);
        self.symbols.copy_within(source..source + count, target);
        // Of all but the first, which has its own.
        self.contexts.copy_within(source + 1..source + count, target + 1);
        for (&context, place) in self.contexts[target + 1..target + count].iter().zip(1..) {
            self.places[usize::from(context)] = self.next.0.wrapping_add(place);
        }
        let context = self.contexts[from.after(count).index()];
        self.next = self.next.after(count);
        self.contexts[self.next.index()] = context;
        self.places[usize::from(context)] = self.next.0;
    }

    /// Codes how many of the symbols from that place on come next: all of `frames` and the end at most.
    #[inline]
    pub(super) fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        from: HistoryIndex,
        frames: &[u32],
    ) -> usize {
        let count = self.count(from, frames);
        self.lengths.code(coder, count as u64) as usize
    }

    /// What is further than the history's end will be what was written by then.
    fn count(&self, from: HistoryIndex, frames: &[u32]) -> usize {
        let distance = self.distance(from);
        let (asked, repeated) = frames.split_at(distance.min(frames.len()));
        let count = self.agreeing(from, asked);
        if count < asked.len() {
            count
        } else if count < distance {
            count + usize::from(self.at(from.after(count)) == END)
        } else {
            count + agreeing(repeated, frames, 0)
        }
    }

    /// How many of `frames` are the symbols from that place on.
    fn agreeing(&self, from: HistoryIndex, frames: &[u32]) -> usize {
        let start = from.index();
        let (here, around) = frames.split_at(frames.len().min(LENGTH - start));
        let count = agreeing(&self.symbols[start..], here, 1);
        if count < here.len() { count } else { count + agreeing(&self.symbols[..], around, 1) }
    }

    /// How far back that is.
    #[inline]
    fn distance(&self, place: HistoryIndex) -> usize {
        self.next.0.wrapping_sub(place.0) as usize
    }
}

#[inline]
fn context_of(hash: u32) -> Context {
    (hash >> (32 - CONTEXT_BITS)) as Context
}

/// How many symbols come before the first [`END`].
fn before_end(symbols: &[Symbol]) -> usize {
    let has_none = |group: &&[Symbol; AT_ONCE]| group.iter().fold(true, |so, it| so & (*it != END));
    let start = symbols.as_chunks().0.iter().take_while(has_none).count() * AT_ONCE;
    start + symbols[start..].iter().take_while(|symbol| **symbol != END).count()
}

/// How many of `seconds` in a row are, with `more` added, the `firsts`.
fn agreeing(firsts: &[u32], seconds: &[u32], more: u32) -> usize {
    let ((first_groups, _), (second_groups, _)) =
        (firsts.as_chunks::<AT_ONCE>(), seconds.as_chunks());
    let groups = first_groups.iter().zip(second_groups);
    let same = groups.take_while(|&(first, second)| *first == second.map(|it| it + more));
    let start = same.count() * AT_ONCE;
    let rest = firsts[start..].iter().zip(&seconds[start..]);
    start + rest.take_while(|&(first, second)| *first == second + more).count()
}

fn zeros<T: Copy + Default, const N: usize>() -> Box<[T; N]> {
    let zeros = vec![T::default(); N].into_boxed_slice();
    zeros.try_into().unwrap_or_else(|_| unreachable!("it has so many"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::coder::{Encoder, Paused};
    use super::super::contexts::{self, last_three};
    use super::*;

    fn history(symbols: &[Symbol]) -> Runs {
        let mut runs = Runs::new();
        symbols.iter().for_each(|&symbol| runs.add(symbol));
        runs
    }

    #[test]
    fn a_run_ends_where_it_is_wrong_or_with_the_backtrace() {
        let runs = history(&[5, 6, 7, END, 9]);
        let count = |frames: &[u32]| runs.count(HistoryIndex(1), frames);
        assert_eq!(count(&[4, 5, 8]), 2);
        assert_eq!(count(&[4, 5]), 2);
        assert_eq!(count(&[4, 5, 6]), 4);
        assert_eq!(count(&[4, 5, 6, 1]), 3);
        assert_eq!(count(&[]), 0);
        assert_eq!(runs.count(HistoryIndex(4), &[]), 1);
    }

    #[test]
    fn a_recursion_follows_itself() {
        let runs = history(&[1, 5, 6]);
        assert_eq!(runs.count(HistoryIndex(2), &[4, 5, 4, 5, 4, 4]), 5);
    }

    /// One symbol after the other, as the copy will be made.
    fn naive_count(runs: &Runs, from: HistoryIndex, frames: &[u32]) -> usize {
        let distance = runs.distance(from);
        let wanted = |at: usize| frames.get(at).map_or(END, |frame| frame + 1);
        let foreseen = |at: usize| match at.checked_sub(distance) {
            None => runs.at(from.after(at)),
            Some(written) => wanted(written),
        };
        (0..=frames.len()).take_while(|&at| foreseen(at) == wanted(at)).count()
    }

    proptest! {
        /// Across the end of the history's room, too: `more` symbols are added before those that count.
        #[test]
        fn runs_are_counted_as_one_by_one(
            more in prop_oneof![Just(0), LENGTH - 60..LENGTH],
            symbols in prop::collection::vec(0..3u32, 1..60),
            back in 1usize..60,
            follows in 0usize..100,
            others in prop::collection::vec(0..2u32, 0..30),
        ) {
            let mut runs = history(&vec![7; more]);
            symbols.iter().for_each(|&symbol| runs.add(symbol));
            let from = HistoryIndex(runs.next.0 - back.min(symbols.len()) as u32);
            let foreseen = symbols.iter().skip(symbols.len().saturating_sub(back)).cycle();
            let mut frames: Vec<u32> = foreseen.take(follows).map_while(|it| it.checked_sub(1)).collect();
            frames.extend(others);
            prop_assert_eq!(runs.count(from, &frames), naive_count(&runs, from, &frames));
        }
    }

    /// One symbol after the other.
    fn push(runs: &mut Runs, stack: &mut Vec<Symbol>, symbol: Symbol) {
        runs.add(symbol);
        if symbol == END {
            stack.clear()
        } else {
            stack.push(symbol)
        }
        runs.look(contexts::third(last_three(stack)));
    }

    fn naive_copy(
        runs: &mut Runs,
        from: HistoryIndex,
        count: usize,
        stack: &mut Vec<Symbol>,
    ) -> usize {
        let foreseen = |runs: &Runs, at| runs.at(from.after(at));
        let symbols = (0..count).take_while(|&at| {
            let symbol = foreseen(runs, at);
            if symbol != END {
                push(runs, stack, symbol);
            }
            symbol != END
        });
        symbols.count()
    }

    /// A history of `more` symbols and then `symbols`, and the backtrace that is not at its end.
    fn pushed(more: usize, symbols: &[Symbol]) -> (Runs, Vec<Symbol>) {
        let (mut runs, mut stack) = (Runs::new(), Vec::new());
        runs.look(contexts::third(last_three(&stack)));
        let more = (0..more).map(|at| if at % 50 == 0 { END } else { at as u32 % 7 + 1 });
        more.chain([END])
            .chain(symbols.iter().copied())
            .for_each(|it| push(&mut runs, &mut stack, it));
        (runs, stack)
    }

    proptest! {
        #[test]
        fn what_is_copied_is_as_if_it_had_come_one_by_one(
            more in prop_oneof![Just(0), LENGTH - 400..LENGTH + 100],
            symbols in prop::collection::vec(prop_oneof![1 => Just(END), 9 => 1..3u32], 0..60),
            last in prop::collection::vec(1..3u32, 3..6),
            count in 0usize..300,
            nth: prop::sample::Index,
        ) {
            let symbols = [symbols, last.clone()].concat();
            let (mut copying, mut copies) = pushed(more, &symbols);
            let (mut adding, mut added) = pushed(more, &symbols);
            let kept = copying.next.0.min(LENGTH as u32 - 1) as usize;
            let is_like_here = |back: &usize| {
                let from = HistoryIndex(copying.next.0 - *back as u32);
                let before: Vec<Symbol> =
                    (1..=3).rev().map(|back| copying.at(HistoryIndex(from.0 - back))).collect();
                last.ends_with(&before)
            };
            let places: Vec<usize> = (1..kept - 3).filter(is_like_here).collect();
            prop_assume!(!places.is_empty());
            let from = HistoryIndex(copying.next.0 - *nth.get(&places) as u32);
            let copied = copying.copy(from, count, &mut copies);
            prop_assert_eq!(copied, naive_copy(&mut adding, from, count, &mut added));
            prop_assert_eq!(&copies, &added);
            prop_assert_eq!(copying.next, adding.next);
            prop_assert!(copying.symbols == adding.symbols);
            prop_assert!(copying.contexts == adding.contexts);
            prop_assert!(copying.places == adding.places);
        }
    }

    #[test]
    fn what_followed_is_found_for_as_long_as_it_is_kept() {
        let mut runs = history(&[5]);
        assert_eq!(runs.look(77 << 16), None);
        runs.add(6);
        assert_eq!(runs.look(77 << 16), Some(HistoryIndex(2)));
        assert_eq!(runs.at(HistoryIndex(2)), 6);
        for _ in 0..LENGTH - 1 {
            runs.add(7);
        }
        assert_eq!(runs.look(77 << 16), Some(HistoryIndex(3)));
        for _ in 0..LENGTH {
            runs.add(8);
        }
        assert_eq!(runs.look(77 << 16), None);
    }

    #[test]
    fn lengths_come_back() {
        let mut encoder = Encoder::new();
        let mut runs = history(&[5, 6, END]);
        assert_eq!(runs.code(&mut encoder, HistoryIndex(1), &[4, 5]), 3);
        assert_eq!(runs.code(&mut encoder, HistoryIndex(1), &[4, 8]), 1);
        let stream = encoder.finish();
        let (mut decoder, mut runs) = (Paused::start(&stream).resume(&stream), Runs::new());
        assert_eq!(runs.code(&mut decoder, HistoryIndex(1), &[]), 3);
        assert_eq!(runs.code(&mut decoder, HistoryIndex(1), &[]), 1);
    }
}
