//! Free runs by length, four bins to a doubling.
//!
//! Lists are doubly linked through the map, so that a run leaves in a few steps when it merges with a
//! neighbour; a word of bits says which lists are not empty.

use super::page::PageNumber;
use super::range::Range;
use crate::classes;

/// Bins: the last begins at 2^31 pages, the longest range.
const COUNT: usize = classes::index(classes::QUANTUM << 31) + 1;

const _: () = assert!(COUNT <= u128::BITS as usize);

/// Runs of the wanted length's own bin that are looked at: some are long enough.
const LOOKED_AT: usize = 16;

/// See the module.
#[derive(Debug)]
pub(super) struct Bins {
    filled: u128,
    first: [Option<PageNumber>; COUNT],
}

impl Bins {
    pub(super) const fn new() -> Self {
        Bins { filled: 0, first: [None; COUNT] }
    }

    pub(super) fn insert(&mut self, range: &Range, run: PageNumber) {
        let page = range.page(run);
        let bin = bin_of(page.pages.get());
        let old = self.first[bin].replace(run);
        page.previous.set(None);
        page.next.set(old);
        if let Some(old) = old {
            range.page(old).previous.set(Some(run));
        }
        self.filled |= 1 << bin;
    }

    pub(super) fn remove(&mut self, range: &Range, run: PageNumber) {
        let page = range.page(run);
        let bin = bin_of(page.pages.get());
        let (previous, next) = (page.previous.get(), page.next.get());
        match previous {
            Some(previous) => range.page(previous).next.set(next),
            None => self.first[bin] = next,
        }
        if let Some(next) = next {
            range.page(next).previous.set(previous);
        }
        if self.first[bin].is_none() {
            self.filled &= !(1 << bin);
        }
    }

    /// A run of at least so many pages, out of the shortest ones that there are.
    pub(super) fn find(&self, range: &Range, pages: u32) -> Option<PageNumber> {
        self.find_in_own_bin(range, pages).or_else(|| {
            let longer = self.filled & (u128::MAX << bin_for(pages));
            self.first[longer.trailing_zeros() as usize % COUNT].filter(|_| longer != 0)
        })
    }

    /// One of the longest runs.
    pub(super) fn longest(&self) -> Option<PageNumber> {
        let bin = self.filled.checked_ilog2()?;
        self.first[bin as usize]
    }

    fn find_in_own_bin(&self, range: &Range, pages: u32) -> Option<PageNumber> {
        let mut run = self.first[bin_of(pages)];
        for _ in 0..LOOKED_AT {
            let page = range.page(run?);
            if page.pages.get() >= pages {
                break;
            }
            run = page.next.get();
        }
        run.filter(|&run| range.page(run).pages.get() >= pages)
    }
}

/// The first bin in which all runs have so many pages.
fn bin_for(pages: u32) -> usize {
    classes::index((pages as usize) * classes::QUANTUM)
}

/// The bin of a run of so many pages.
fn bin_of(pages: u32) -> usize {
    let bin = bin_for(pages);
    let is_exact = classes::bytes(bin) == pages as usize * classes::QUANTUM;
    if is_exact { bin } else { bin - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_in_a_bin_for_a_length_is_at_least_that_long() {
        let lengths = (1..5000).chain((13..=31).map(|power| 1 << power));
        for pages in lengths {
            let shortest = classes::bytes(bin_of(pages)) / classes::QUANTUM;
            assert!(shortest <= pages as usize && bin_for(pages) < COUNT, "{pages}");
            assert!(bin_of(pages) <= bin_for(pages) && bin_for(pages) <= bin_of(pages) + 1);
        }
    }
}
