//! Which memory is mapped by whom: pieces, none of which lies over another.
//!
//! A piece that is cut, because a part of it is unmapped or something else is mapped there, is no more; what is left of
//! it are new pieces, *rests*, of the same origin. One that is moved as a whole stays what it is. What is reserved is a
//! piece without a life: it is not memory yet.

use std::collections::BTreeMap;
use std::ops::Range;

/// A live piece, as long as it lives. No two have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PieceId(pub(crate) u64);

/// How a piece came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// By a call that maps it.
    New,
    /// As what is left of one that was cut.
    Rest,
    /// As what another one was made larger by.
    Growth,
}

/// What has become of live pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change<T> {
    Born { id: PieceId, bytes: u64, origin: T, kind: Kind },
    Died(PieceId),
}

/// Addresses, the last one excluded.
pub(crate) type Pages = Range<u64>;

#[derive(Clone, Debug)]
enum State<T> {
    Reserved,
    Live(PieceId, T),
}

#[derive(Clone, Debug)]
struct Piece<T> {
    end: u64,
    state: State<T>,
}

/// Pieces that were taken out of the table, and where they were.
#[derive(Clone, Debug)]
pub(crate) struct Taken<T> {
    from: Pages,
    pieces: Vec<Part<T>>,
}

/// What was taken out of one piece.
#[derive(Clone, Debug)]
struct Part<T> {
    pages: Pages,
    state: State<T>,
    /// It was not all of the piece, whose death has been told.
    is_cut: bool,
}

/// All pieces.
#[derive(Debug)]
pub(crate) struct Table<T> {
    pieces: BTreeMap<u64, Piece<T>>,
    next: u64,
    reserved: u64,
    changes: Vec<Change<T>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { pieces: BTreeMap::new(), next: 0, reserved: 0, changes: Vec::new() }
    }
}

impl<T: Clone> Table<T> {
    /// Takes out what has become of live pieces since the last time.
    pub(crate) fn take_changes(&mut self) -> Vec<Change<T>> {
        std::mem::take(&mut self.changes)
    }

    /// Bytes that are reserved.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// What of live pieces lies there, in order.
    pub(crate) fn live_in(&self, pages: &Pages) -> impl Iterator<Item = (Pages, &T)> {
        let within = pages.clone();
        self.overlapping(pages).filter_map(move |(start, piece)| match &piece.state {
            State::Reserved => None,
            State::Live(_, origin) => {
                let part = within.start.max(*start)..within.end.min(piece.end);
                Some((part, origin))
            }
        })
    }

    /// The origins of all live pieces.
    pub(crate) fn origins_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pieces.values_mut().filter_map(|piece| piece.state.origin_mut())
    }

    /// Memory is mapped, in the place of what was there.
    pub(crate) fn map(&mut self, pages: Pages, origin: T) {
        self.unmap(pages.clone());
        self.bear(pages, origin, Kind::New);
    }

    /// Addresses are reserved, in the place of what was there.
    pub(crate) fn reserve(&mut self, pages: Pages) {
        self.unmap(pages.clone());
        self.put(pages, State::Reserved);
    }

    /// What of these pages was reserved is memory from now on.
    pub(crate) fn open(&mut self, pages: Pages, origin: &T) {
        let of_reserved = |(start, piece): (&u64, &Piece<T>)| match piece.state {
            State::Reserved => Some((*start).max(pages.start)..piece.end.min(pages.end)),
            State::Live(..) => None,
        };
        let opened: Vec<Pages> = self.overlapping(&pages).filter_map(of_reserved).collect();
        for pages in opened {
            self.take_out(&pages);
            self.bear(pages, origin.clone(), Kind::New);
        }
    }

    /// Whatever is there is no more.
    pub(crate) fn unmap(&mut self, pages: Pages) -> Taken<T> {
        let pieces = self.take_out(&pages);
        let whole = pieces.iter().filter(|part| !part.is_cut).filter_map(|it| it.state.id());
        self.changes.extend(whole.map(Change::Died));
        Taken { from: pages, pieces }
    }

    /// What was unmapped last has not been, after all.
    pub(crate) fn restore(&mut self, taken: Taken<T>) {
        for Part { pages, state, .. } in taken.pieces {
            self.unmap(pages.clone());
            match state {
                State::Reserved => self.put(pages, State::Reserved),
                State::Live(_, origin) => self.bear(pages, origin, Kind::Rest),
            }
        }
    }

    /// Whatever is there is about to be elsewhere.
    pub(crate) fn lift(&mut self, pages: Pages) -> Taken<T> {
        let mut pieces = self.take_out(&pages);
        for part in &mut pieces {
            if let State::Live(id, origin) = &mut part.state
                && part.is_cut
            {
                *id = self.name(part.pages.end - part.pages.start, origin.clone(), Kind::Rest);
            }
        }
        Taken { from: pages, pieces }
    }

    /// What was lifted comes down nowhere.
    pub(crate) fn lose(&mut self, taken: &Taken<T>) {
        let ids = taken.pieces.iter().filter_map(|part| part.state.id());
        self.changes.extend(ids.map(Change::Died));
    }

    /// What was lifted is there now. What it is larger by is `origin`'s.
    pub(crate) fn land(&mut self, taken: Taken<T>, pages: Pages, origin: T) {
        self.unmap(pages.clone());
        let Taken { from, pieces } = taken;
        let to = |address: u64| pages.start.saturating_add(address.saturating_sub(from.start));
        let last = pieces.last().filter(|part| part.pages.end == from.end);
        let is_live = last.map(|part| part.state.id().is_some());
        for Part { pages: piece, state, .. } in pieces {
            self.land_piece(to(piece.start)..to(piece.end), state, pages.end);
        }
        let added = to(from.end)..pages.end;
        match is_live {
            Some(true) => self.bear(added, origin, Kind::Growth),
            Some(false) => self.put(added, State::Reserved),
            None => {}
        }
    }

    /// One of these pieces, of which only what is before `end` has room.
    fn land_piece(&mut self, piece: Pages, state: State<T>, end: u64) {
        let room = piece.start..piece.end.min(end);
        match state {
            State::Live(id, origin) if room != piece => {
                self.changes.push(Change::Died(id));
                self.bear(room, origin, Kind::Rest);
            }
            state => self.put(room, state),
        }
    }

    /// Those that lie there in part at least, the first one first.
    fn overlapping(&self, pages: &Pages) -> impl Iterator<Item = (&u64, &Piece<T>)> {
        let before = self.pieces.range(..pages.start).next_back();
        let (start, end) = (pages.start, pages.end.max(pages.start));
        let before = before.filter(move |(_, piece)| piece.end > start && start < end);
        before.into_iter().chain(self.pieces.range(start..end))
    }

    /// Takes out what lies there of all pieces. Of those of which that is a part, the rests are pieces of their own.
    fn take_out(&mut self, pages: &Pages) -> Vec<Part<T>> {
        let starts: Vec<u64> = self.overlapping(pages).map(|(start, _)| *start).collect();
        starts.into_iter().filter_map(|start| self.take_piece(start, pages)).collect()
    }

    fn take_piece(&mut self, start: u64, pages: &Pages) -> Option<Part<T>> {
        let Piece { end, state } = self.pieces.remove(&start)?;
        let part = start.max(pages.start)..end.min(pages.end);
        let is_cut = part != (start..end);
        let rests = [start..part.start, part.end..end];
        match &state {
            State::Reserved => {
                self.reserved -= end - start;
                rests.into_iter().for_each(|rest| self.put(rest, State::Reserved));
            }
            State::Live(id, origin) if is_cut => {
                self.changes.push(Change::Died(*id));
                rests.into_iter().for_each(|rest| self.bear(rest, origin.clone(), Kind::Rest));
            }
            State::Live(..) => {}
        }
        Some(Part { pages: part, state, is_cut })
    }

    /// A live piece of so many bytes begins.
    fn name(&mut self, bytes: u64, origin: T, kind: Kind) -> PieceId {
        let id = PieceId(self.next);
        self.next += 1;
        self.changes.push(Change::Born { id, bytes, origin, kind });
        id
    }

    fn bear(&mut self, pages: Pages, origin: T, kind: Kind) {
        if pages.start < pages.end {
            let id = self.name(pages.end - pages.start, origin.clone(), kind);
            self.put(pages, State::Live(id, origin));
        }
    }

    fn put(&mut self, pages: Pages, state: State<T>) {
        if pages.start < pages.end {
            if matches!(state, State::Reserved) {
                self.reserved += pages.end - pages.start;
            }
            self.pieces.insert(pages.start, Piece { end: pages.end, state });
        }
    }
}

impl<T> Taken<T> {
    /// The origins of live pieces in it.
    pub(crate) fn origins_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pieces.iter_mut().filter_map(|part| part.state.origin_mut())
    }
}

impl<T> State<T> {
    /// If it lives.
    fn id(&self) -> Option<PieceId> {
        match self {
            State::Reserved => None,
            State::Live(id, _) => Some(*id),
        }
    }

    fn origin_mut(&mut self) -> Option<&mut T> {
        match self {
            State::Reserved => None,
            State::Live(_, origin) => Some(origin),
        }
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
