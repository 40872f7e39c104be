//! Runs of whole pages: found, split, merged with their free neighbours, and given back. \[UNSAFE\]
//!
//! A free run is *dirty* in front: the first so many pages may hold anything and are, or are counted
//! as, resident; the rest is zero and takes no memory. Runs that are dirty and those that are not
//! stand in bins of their own. Free runs never touch: neighbours merge at once.

use lifetrace_agent::sys;

use super::bins::Bins;
use super::budget::Budget;
use super::page::{Kind, PAGE, PageNumber};
use super::range::{Range, STEP, STEP_PAGES};

/// At most so many pieces of memory are given back at a time: each is a system call.
const CALLS: usize = 32;

/// A run that was just allocated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh {
    pub(super) run: PageNumber,
    /// Pages from its start that may hold anything; the rest is zero.
    pub(super) dirty: u32,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Runs {
    dirty: Bins,
    clean: Bins,
    budget: Budget,
}

impl Runs {
    pub(super) const fn new() -> Self {
        Runs { dirty: Bins::new(), clean: Bins::new(), budget: Budget::new() }
    }

    /// Takes the first step of a range that was just settled.
    pub(super) fn begin(&mut self, range: &Range) {
        self.set_free(range, PageNumber(0), STEP_PAGES, 0);
    }

    /// A run of so many pages.
    pub(super) fn allocate(&mut self, range: &Range, pages: u32, kind: Kind) -> Option<Fresh> {
        let run = self.find(range, pages).or_else(|| self.grow(range, pages))?;
        let dirty = self.take_front(range, run, pages);
        set(range, run, pages, kind);
        self.budget.use_changes(0, pages);
        Some(Fresh { run, dirty })
    }

    /// Takes a run back.
    pub(super) fn release(&mut self, range: &Range, run: PageNumber) {
        let pages = range.page(run).pages.get();
        self.budget.use_changes(pages, 0);
        self.free(range, run, pages, pages);
    }

    /// Gives a large piece another length, where it is; whether that worked.
    pub(super) fn resize(&mut self, range: &Range, run: PageNumber, pages: u32) -> bool {
        let old = range.page(run).pages.get();
        if pages > old && !self.append(range, run.plus(old), pages - old) {
            return false;
        }
        set(range, run, pages, Kind::Large);
        self.budget.use_changes(old, pages);
        if pages < old {
            self.free(range, run.plus(pages), old - pages, old - pages);
        }
        true
    }

    /// The program has allocated so many bytes, sampled or not, since this was last said.
    pub(super) fn age(&mut self, bytes: usize) {
        self.budget.age(bytes);
    }

    /// Bytes in use, and bytes that are in use or idle but resident.
    pub(super) fn totals(&self) -> (usize, usize) {
        let (used, idle) = self.budget.pages();
        (used as usize * PAGE, (used + idle) as usize * PAGE)
    }

    /// Gives memory back that the budget does not allow, the longest runs' first.
    #[inline]
    pub(super) fn give_back(&mut self, range: &Range) {
        let excess = self.budget.excess();
        if excess > 0 {
            self.discard(range, excess);
        }
    }

    #[cold]
    fn discard(&mut self, range: &Range, mut excess: u32) {
        for _ in 0..CALLS {
            let Some(run) = self.dirty.longest().filter(|_| excess > 0) else { return };
            let (pages, dirty) = (range.page(run).pages.get(), range.page(run).dirty.get());
            let cut = excess.min(dirty);
            let start = range.address(run.plus(dirty - cut));
            // SAFETY: pages of a free run.
            if !unsafe { sys::discard(start, cut as usize * PAGE) } {
                self.budget.keep_all();
                return;
            }
            self.unlink(range, run);
            self.set_free(range, run, pages, dirty - cut);
            excess -= cut;
        }
    }

    /// The shortest of those that are long enough, as far as the bins tell; a dirty one if there is
    /// a choice.
    fn find(&self, range: &Range, pages: u32) -> Option<PageNumber> {
        let length = |run: &PageNumber| range.page(*run).pages.get();
        let dirty = self.dirty.find(range, pages);
        let clean = self.clean.find(range, pages);
        dirty.into_iter().chain(clean).min_by_key(length)
    }

    /// Makes the range longer, so that a free run of so many pages is at its end, which is returned.
    fn grow(&mut self, range: &Range, pages: u32) -> Option<PageNumber> {
        let end = PageNumber(range.pages());
        let last = PageNumber(range.page(PageNumber(end.0 - 1)).first.get());
        let (start, have) = match range.page(last).kind() {
            Kind::Free => (last, range.page(last).pages.get()),
            _ => (end, 0),
        };
        let bytes = ((pages - have.min(pages)) as usize * PAGE).next_multiple_of(STEP);
        if !range.grow(bytes) {
            return None;
        }
        self.free(range, end, (bytes / PAGE) as u32, 0);
        Some(start)
    }

    /// Takes pages that begin at `start`, the end of a run; whether they are free.
    fn append(&mut self, range: &Range, start: PageNumber, pages: u32) -> bool {
        let end = range.pages();
        let is_free = start.0 < end && range.page(start).kind() == Kind::Free;
        let have = if is_free { range.page(start).pages.get() } else { 0 };
        let at_end = start.0 + have == end;
        if have < pages && !(at_end && self.grow(range, pages).is_some()) {
            return false;
        }
        self.take_front(range, start, pages);
        range.page(start).set_kind(Kind::Inside);
        true
    }

    /// Takes the first pages of a free run; how many of them are dirty.
    fn take_front(&mut self, range: &Range, run: PageNumber, pages: u32) -> u32 {
        let page = range.page(run);
        let (have, dirty) = (page.pages.get(), page.dirty.get());
        self.unlink(range, run);
        if have > pages {
            self.set_free(range, run.plus(pages), have - pages, dirty.saturating_sub(pages));
        }
        dirty.min(pages)
    }

    /// Makes a run free, and one with its free neighbours.
    fn free(&mut self, range: &Range, run: PageNumber, pages: u32, dirty: u32) {
        let (mut run, mut pages, mut dirty) = (run, pages, dirty);
        let after = run.plus(pages);
        if after.0 < range.pages() && range.page(after).kind() == Kind::Free {
            let (more, more_dirty) = self.absorb(range, after);
            dirty = if more_dirty > 0 { pages + more_dirty } else { dirty };
            pages += more;
        }
        let before = run.0.checked_sub(1).map(|last| range.page(PageNumber(last)).first.get());
        if let Some(before) = before.map(PageNumber)
            && range.page(before).kind() == Kind::Free
        {
            range.page(run).set_kind(Kind::Inside);
            let (more, more_dirty) = self.absorb(range, before);
            dirty = if dirty > 0 { more + dirty } else { more_dirty };
            (run, pages) = (before, pages + more);
        }
        self.set_free(range, run, pages, dirty);
    }

    /// Ends a free run that becomes part of another; its pages, and the dirty ones.
    fn absorb(&mut self, range: &Range, run: PageNumber) -> (u32, u32) {
        self.unlink(range, run);
        let page = range.page(run);
        page.set_kind(Kind::Inside);
        (page.pages.get(), page.dirty.get())
    }

    fn set_free(&mut self, range: &Range, run: PageNumber, pages: u32, dirty: u32) {
        set(range, run, pages, Kind::Free);
        range.page(run).dirty.set(dirty);
        self.budget.idle_changes(0, dirty);
        if dirty > 0 { &mut self.dirty } else { &mut self.clean }.insert(range, run);
    }

    fn unlink(&mut self, range: &Range, run: PageNumber) {
        let dirty = range.page(run).dirty.get();
        self.budget.idle_changes(dirty, 0);
        if dirty > 0 { &mut self.dirty } else { &mut self.clean }.remove(range, run);
    }
}

fn set(range: &Range, run: PageNumber, pages: u32, kind: Kind) {
    range.page(run.plus(pages - 1)).first.set(run.0);
    let page = range.page(run);
    page.set_kind(kind);
    page.first.set(run.0);
    page.pages.set(pages);
}
