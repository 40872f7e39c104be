//! What the heap knows of a page: one entry of its map, outside the memory that it hands out.
//!
//! Pages come in *runs*: free, a large piece, or a span of small pieces. Runs tile the range. What
//! is said of a run stands at its first page; its last page, and each page of a span, leads there. The
//! entries between are left as they were, except that none of them says that it begins a run.
//!
//! An entry is all zero at first. The holder of the heap's lock writes; anybody may read what is
//! said of a live piece, which does not change while it lives. Hence atomics, which cost nothing here.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, Ordering::Relaxed};

/// Bytes of a page.
pub(super) const PAGE: usize = 4096;

/// A page, counted from the base of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PageNumber(pub(super) u32);

/// What a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Not the first page of a run.
    Inside = 0,
    Free = 1,
    Large = 2,
    Span = 3,
}

/// An entry of the map.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Page {
    kind: AtomicU8,
    class: AtomicU8,
    pub(super) used: Half,
    pub(super) carved: Half,
    pub(super) returned: Half,
    pub(super) first: Word,
    pub(super) pages: Word,
    pub(super) dirty: Word,
    pub(super) next: Link,
    pub(super) previous: Link,
}

/// A number of up to 32 bits.
#[derive(Debug)]
pub(super) struct Word(AtomicU32);

/// A number of up to 16 bits.
#[derive(Debug)]
pub(super) struct Half(AtomicU16);

/// The first page of another run, or none.
#[derive(Debug)]
pub(super) struct Link(AtomicU32);

impl PageNumber {
    /// The page so many pages further on.
    pub(super) fn plus(self, pages: u32) -> PageNumber {
        PageNumber(self.0 + pages)
    }
}

impl Page {
    pub(super) fn kind(&self) -> Kind {
        match self.kind.load(Relaxed) {
            1 => Kind::Free,
            2 => Kind::Large,
            3 => Kind::Span,
            _ => Kind::Inside,
        }
    }

    pub(super) fn set_kind(&self, kind: Kind) {
        self.kind.store(kind as u8, Relaxed);
    }

    /// Size class of a span's pieces.
    pub(super) fn class(&self) -> usize {
        self.class.load(Relaxed).into()
    }

    pub(super) fn set_class(&self, class: usize) {
        self.class.store(class as u8, Relaxed);
    }
}

impl Word {
    pub(super) fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }

    pub(super) fn set(&self, value: u32) {
        self.0.store(value, Relaxed);
    }
}

impl Half {
    pub(super) fn get(&self) -> u16 {
        self.0.load(Relaxed)
    }

    pub(super) fn set(&self, value: u16) {
        self.0.store(value, Relaxed);
    }
}

impl Link {
    pub(super) fn get(&self) -> Option<PageNumber> {
        self.0.load(Relaxed).checked_sub(1).map(PageNumber)
    }

    pub(super) fn set(&self, page: Option<PageNumber>) {
        self.0.store(page.map_or(0, |page| page.0 + 1), Relaxed);
    }
}
