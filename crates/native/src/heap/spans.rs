//! Small pieces: spans of pages, each cut into pieces of one size class. \[UNSAFE\]
//!
//! A span hands out what was returned to it, then what it has not cut yet, so that it touches no page
//! before it must. An empty span goes back to the runs. Returned pieces are linked through their
//! second word by their number in the span; a link that somebody wrote over ends the list.

use core::ptr::NonNull;

use super::page::{Kind, PAGE, PageNumber};
use super::range::Range;
use super::runs::Runs;
use crate::classes;

/// Larger pieces are runs of their own, in bytes.
pub(super) const SMALL: usize = 8 * 1024;

const CLASSES: usize = classes::index(SMALL) + 1;

/// A span has at least so many pages, and at least so many pieces.
const LEAST_PAGES: usize = 4;
const LEAST_PIECES: usize = 8;

/// See the module.
#[derive(Debug)]
pub(super) struct Spans {
    /// Those that have room, by class.
    open: [Option<PageNumber>; CLASSES],
}

/// A free piece.
#[repr(C)]
struct Returned {
    /// Not ours to write: what the piece last held is known by it.
    owner: u64,
    /// 1 + the number of the next one; 0 is none.
    next: u64,
}

impl Spans {
    pub(super) const fn new() -> Self {
        Spans { open: [None; CLASSES] }
    }

    /// A piece of a class of at most [`SMALL`] bytes.
    pub(super) fn allocate(
        &mut self,
        range: &Range,
        runs: &mut Runs,
        class: usize,
    ) -> Option<NonNull<u8>> {
        let span = self.open[class].or_else(|| self.begin(range, runs, class))?;
        let page = range.page(span);
        let number = match page.returned.get().checked_sub(1) {
            Some(number) => {
                page.returned.set(after(range, span, number));
                number
            }
            None => {
                let number = page.carved.get();
                page.carved.set(number + 1);
                number
            }
        };
        page.used.set(page.used.get() + 1);
        if page.returned.get() == 0 && usize::from(page.carved.get()) == pieces(class) {
            self.close(range, span);
        }
        Some(piece(range, span, number))
    }

    /// Takes a piece of this span back.
    ///
    /// # Safety
    /// The piece is of this span, and nobody uses it any more.
    pub(super) unsafe fn release(
        &mut self,
        range: &Range,
        runs: &mut Runs,
        span: PageNumber,
        start: NonNull<u8>,
    ) {
        let page = range.page(span);
        let class = page.class();
        let was_full = page.returned.get() == 0 && usize::from(page.carved.get()) == pieces(class);
        let offset = start.as_ptr() as usize - range.address(span).as_ptr() as usize;
        // SAFETY: by contract the piece is ours to write.
        unsafe { (*start.cast::<Returned>().as_ptr()).next = page.returned.get().into() };
        page.returned.set((offset / classes::bytes(class)) as u16 + 1);
        page.used.set(page.used.get() - 1);
        if was_full {
            self.open(range, span);
        }
        if page.used.get() == 0 {
            self.close(range, span);
            runs.release(range, span);
        }
    }

    fn begin(&mut self, range: &Range, runs: &mut Runs, class: usize) -> Option<PageNumber> {
        let pages = pages(class) as u32;
        let span = runs.allocate(range, pages, Kind::Span)?.run;
        for page in 0..pages {
            range.page(span.plus(page)).first.set(span.0);
        }
        let page = range.page(span);
        page.set_class(class);
        for count in [&page.used, &page.carved, &page.returned] {
            count.set(0);
        }
        self.open(range, span);
        Some(span)
    }

    fn open(&mut self, range: &Range, span: PageNumber) {
        let page = range.page(span);
        let old = self.open[page.class()].replace(span);
        page.previous.set(None);
        page.next.set(old);
        if let Some(old) = old {
            range.page(old).previous.set(Some(span));
        }
    }

    fn close(&mut self, range: &Range, span: PageNumber) {
        let page = range.page(span);
        let (previous, next) = (page.previous.get(), page.next.get());
        match previous {
            Some(previous) => range.page(previous).next.set(next),
            None => self.open[page.class()] = next,
        }
        if let Some(next) = next {
            range.page(next).previous.set(previous);
        }
    }
}

/// Bytes of the piece that begins at `start`, if one of this span does.
pub(super) fn bytes_at(range: &Range, span: PageNumber, start: usize) -> Option<usize> {
    let page = range.page(span);
    let bytes = classes::bytes(page.class());
    let offset = start - range.address(span).as_ptr() as usize;
    (offset.is_multiple_of(bytes) && offset / bytes < page.carved.get().into()).then_some(bytes)
}

/// What the list of returned pieces goes on with after this one.
fn after(range: &Range, span: PageNumber, number: u16) -> u16 {
    let returned = piece(range, span, number).cast::<Returned>();
    // SAFETY: a returned piece is ours to read.
    let next = unsafe { (*returned.as_ptr()).next };
    let is_sound = next <= range.page(span).carved.get().into();
    if is_sound { next as u16 } else { 0 }
}

fn piece(range: &Range, span: PageNumber, number: u16) -> NonNull<u8> {
    let offset = usize::from(number) * classes::bytes(range.page(span).class());
    // SAFETY: inside the span.
    unsafe { range.address(span).add(offset) }
}

/// Pages of a span of this class.
const fn pages(class: usize) -> usize {
    let pages = (LEAST_PIECES * classes::bytes(class)).div_ceil(PAGE);
    if pages < LEAST_PAGES { LEAST_PAGES } else { pages }
}

/// Pieces of a span of this class.
fn pieces(class: usize) -> usize {
    const COUNTS: [u16; CLASSES] = {
        let mut counts = [0; CLASSES];
        let mut class = 0;
        while class < CLASSES {
            counts[class] = (pages(class) * PAGE / classes::bytes(class)) as u16;
            class += 1;
        }
        counts
    };
    COUNTS[class].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_filled_and_their_pieces_can_be_counted() {
        for class in 0..CLASSES {
            let (all, bytes) = (pages(class) * PAGE, classes::bytes(class));
            assert!(pieces(class) >= LEAST_PIECES && pieces(class) < usize::from(u16::MAX));
            assert!(16 * (all - pieces(class) * bytes) <= all, "{bytes}");
        }
    }
}
