//! The table against a naive twin: what each single page is.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Whose a page is, `None` where it is reserved.
type Naive = BTreeMap<u64, Option<u32>>;

#[derive(Clone, Copy, Debug)]
enum Call {
    Map,
    Reserve,
    Open,
    Unmap,
    /// The system refuses.
    UnmapInVain,
    /// To this place, with this length.
    Remap(u64, u64),
    RemapInVain,
}

/// Applies changes as a trace's reader does: bytes and origin of what lives.
#[derive(Default)]
struct Reader {
    live: BTreeMap<PieceId, (u64, u32)>,
    born: u64,
}

impl Reader {
    fn take(&mut self, table: &mut Table<u32>) {
        for change in table.take_changes() {
            match change {
                Change::Born { id, bytes, origin, .. } => {
                    assert!(bytes > 0);
                    assert!(self.live.insert(id, (bytes, origin)).is_none(), "born twice");
                    self.born += bytes;
                }
                Change::Died(id) => assert!(self.live.remove(&id).is_some(), "dead twice"),
            }
        }
    }

    fn bytes_by_origin(&self) -> BTreeMap<u32, u64> {
        let mut sums = BTreeMap::new();
        for (bytes, origin) in self.live.values() {
            *sums.entry(*origin).or_default() += bytes;
        }
        sums
    }
}

fn naive(pages: &mut Naive, call: Call, range: Pages, origin: u32) {
    let remove = |pages: &mut Naive, range: Pages| pages.retain(|at, _| !range.contains(at));
    match call {
        Call::Map => pages.extend(range.map(|at| (at, Some(origin)))),
        Call::Reserve => pages.extend(range.map(|at| (at, None))),
        Call::Open => {
            for at in range {
                pages.entry(at).and_modify(|it| *it = it.or(Some(origin)));
            }
        }
        Call::Unmap => remove(pages, range),
        Call::UnmapInVain | Call::RemapInVain => {}
        Call::Remap(start, length) => {
            let old: Vec<_> = range.clone().map(|at| pages.get(&at).copied()).collect();
            remove(pages, range);
            remove(pages, start..start + length);
            let last = old.last().copied().flatten().map(|it| it.map(|_| origin));
            let all = old.into_iter().chain(std::iter::repeat(last)).take(length as usize);
            pages.extend((start..).zip(all).filter_map(|(at, it)| Some((at, it?))));
        }
    }
}

fn apply(table: &mut Table<u32>, call: Call, range: Pages, origin: u32) {
    match call {
        Call::Map => table.map(range, origin),
        Call::Reserve => table.reserve(range),
        Call::Open => table.open(range, &origin),
        Call::Unmap => drop(table.unmap(range)),
        Call::UnmapInVain => {
            let taken = table.unmap(range);
            table.restore(taken);
        }
        Call::Remap(start, length) => {
            let taken = table.lift(range);
            table.land(taken, start..start + length, origin);
        }
        Call::RemapInVain => {
            let taken = table.lift(range.clone());
            table.land(taken, range, origin);
        }
    }
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => Just(Call::Map),
        2 => Just(Call::Reserve),
        2 => Just(Call::Open),
        3 => Just(Call::Unmap),
        1 => Just(Call::UnmapInVain),
        2 => (0..40u64, 1..12u64).prop_map(|(start, length)| Call::Remap(start, length)),
        1 => Just(Call::RemapInVain),
    ]
}

proptest! {
    #[test]
    fn the_naive_twin_agrees(calls in prop::collection::vec((call(), 0..40u64, 1..12u64), 0..60)) {
        let (mut table, mut reader, mut pages) = (Table::default(), Reader::default(), Naive::new());
        for (origin, (call, start, length)) in calls.into_iter().enumerate() {
            let range = start..start + length;
            naive(&mut pages, call, range.clone(), origin as u32);
            apply(&mut table, call, range, origin as u32);
            reader.take(&mut table);
            let mut expected = BTreeMap::new();
            for owner in pages.values().flatten() {
                *expected.entry(*owner).or_default() += 1;
            }
            prop_assert_eq!(reader.bytes_by_origin(), expected);
            let reserved = pages.values().filter(|it| it.is_none()).count();
            prop_assert_eq!(table.reserved(), reserved as u64);
            let live = table.pieces.values().filter(|it| it.state.id().is_some());
            prop_assert_eq!(live.count(), reader.live.len());
        }
    }

    /// Nothing that a broken target says is a reason to stop.
    #[test]
    fn any_pages_are_survived(calls in prop::collection::vec((call(), any::<[u64; 2]>()), 0..40)) {
        let mut table = Table::default();
        for (call, [start, length]) in calls {
            let call = match call {
                Call::Remap(..) => Call::RemapInVain,
                other => other,
            };
            apply(&mut table, call, start..start.saturating_add(length), 0);
        }
    }
}

fn changes(table: &mut Table<u32>) -> Vec<String> {
    let tell = |change| match change {
        Change::Born { id, bytes, kind, .. } => format!("{kind:?} {} of {bytes}", id.0),
        Change::Died(id) => format!("died {}", id.0),
    };
    table.take_changes().into_iter().map(tell).collect()
}

#[test]
fn a_piece_that_is_moved_stays_what_it_is() {
    let mut table = Table::default();
    table.map(0..8, 1);
    assert_eq!(changes(&mut table), ["New 0 of 8"]);
    let taken = table.lift(0..8);
    table.land(taken, 20..28, 2);
    assert_eq!(changes(&mut table), [""; 0]);
    let taken = table.lift(20..28);
    table.land(taken, 40..51, 2);
    assert_eq!(changes(&mut table), ["Growth 1 of 3"]);
    let taken = table.lift(40..51);
    table.land(taken, 40..46, 2);
    assert_eq!(changes(&mut table), ["died 0", "Rest 2 of 6", "died 1"]);
}

#[test]
fn a_piece_that_is_cut_leaves_rests() {
    let mut table = Table::default();
    table.map(0..8, 1);
    table.unmap(3..5);
    table.unmap(0..100);
    let expected = ["New 0 of 8", "died 0", "Rest 1 of 3", "Rest 2 of 3", "died 1", "died 2"];
    assert_eq!(changes(&mut table), expected);
}

#[test]
fn what_was_lifted_and_never_lands_is_dead() {
    let mut table = Table::default();
    table.map(0..8, 1);
    let taken = table.lift(0..4);
    table.lose(&taken);
    let expected = ["New 0 of 8", "died 0", "Rest 1 of 4", "Rest 2 of 4", "died 2"];
    assert_eq!(changes(&mut table), expected);
}
