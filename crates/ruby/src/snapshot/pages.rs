//! Where the machine's objects lie. \[UNSAFE\]

use core::ffi::{c_int, c_void};

use lifetrace_agent::buffer::Buffer;
use lifetrace_agent::tls;

use super::space::Space;
use crate::countdown;
use crate::vm::Value;

/// Slots one after the other, some of which may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    start: Value,
    end: Value,
    stride: usize,
}

impl Page {
    /// Where its slots are.
    pub(super) fn slots(self) -> impl Iterator<Item = Value> {
        (self.start..self.end).step_by(self.stride)
    }
}

/// All pages, three words each. None where the machine does not tell, or is sweeping: what nothing holds may refer to
/// what is freed already then.
pub(super) struct Pages {
    words: Buffer,
    count: usize,
    is_cut: bool,
}

impl Pages {
    /// Those of this moment; `None` if there is no memory.
    ///
    /// # Safety
    /// The machine's lock is the caller's, outside of hooks and collections.
    pub(super) unsafe fn of(space: &Space) -> Option<Pages> {
        let mut pages = Pages { words: Buffer::new(), count: 0, is_cut: false };
        // The machine makes symbols when it is asked for the first time, and has its own list from malloc.
        // SAFETY: by contract; the pages outlive the call.
        let mut ask = || unsafe {
            if let Some(each) = space.each_page.filter(|_| !space.is_sweeping()) {
                each(add, (&raw mut pages).cast());
            }
        };
        tls::aside(|| countdown::aside(&mut ask));
        (!pages.is_cut).then_some(pages)
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = Page> {
        let words = self.words.words().as_chunks::<3>().0[..self.count].iter();
        words.map(|&[start, end, stride]| Page {
            start: start as Value,
            end: end as Value,
            stride: stride as usize,
        })
    }

    pub(super) fn give_back(self) {
        self.words.give_back();
    }

    fn add(&mut self, page: Page) {
        let at = 3 * self.count;
        self.is_cut |= page.stride == 0 || !self.words.reserve(at + 3);
        if !self.is_cut {
            let Page { start, end, stride } = page;
            let words = [start as u64, end as u64, stride as u64];
            self.words.words_mut()[at..at + 3].copy_from_slice(&words);
            self.count += 1;
        }
    }
}

/// # Safety
/// As the machine calls it, with the pages.
unsafe extern "C" fn add(
    start: *mut c_void,
    end: *mut c_void,
    stride: usize,
    pages: *mut c_void,
) -> c_int {
    // SAFETY: `Pages::of` passes it, and does nothing with it meanwhile.
    let pages = unsafe { &mut *pages.cast::<Pages>() };
    pages.add(Page { start: start as Value, end: end as Value, stride });
    0
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn a_page_has_its_slots() {
        let mut pages = Pages { words: Buffer::new(), count: 0, is_cut: false };
        for number in 0..1_000 {
            let start = 4096 * number;
            pages.add(Page { start, end: start + 120, stride: 40 });
        }
        assert!(pages.iter().count() == 1_000 && !pages.is_cut);
        let last: Vec<_> = pages.iter().last().unwrap().slots().collect();
        assert_eq!(last, [4_091_904, 4_091_944, 4_091_984]);
        pages.add(Page { start: 0, end: 8, stride: 0 });
        assert!(pages.is_cut);
        pages.give_back();
    }
}
