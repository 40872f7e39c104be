//! The heap's addresses, and its map of them. \[UNSAFE\]
//!
//! ```text
//!  ├───────────── MAP_ROOM ─────────────┤├──────────────── at most Area::largest ─────────┤
//!  │ map: a Page for each │ not mapped  ││ pages          │ not mapped: grows into here  │
//!                                      base        base + length
//! ```
//!
//! Both grow at their ends, by mappings that the kernel refuses if somebody else is there. Nothing is
//! reserved: what a program may map under its limits is what it uses. The place is somewhere at
//! random in a part of the address space where the kernel puts nothing by itself. The map is far from
//! what the program writes to, so that no overflow of a block reaches it.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use lifetrace_agent::sys;

use super::page::{PAGE, Page, PageNumber};

/// The range grows in steps of this, or by a larger piece's pages.
pub(super) const STEP: usize = 4 * 1024 * 1024;

/// Pages of a step.
pub(super) const STEP_PAGES: u32 = (STEP / PAGE) as u32;

/// Between the beginning of the map and that of the range.
const MAP_ROOM: usize = 1 << 36;

/// Bytes of the map for a step; whole pages.
const MAP_STEP: usize = (STEP / PAGE * size_of::<Page>()).next_multiple_of(PAGE);

const _: () = assert!(STEP / PAGE * size_of::<Page>() == MAP_STEP);
const _: () = assert!(SAMPLES.largest / STEP * MAP_STEP <= MAP_ROOM);

/// Part of the address space where a heap may lie.
#[derive(Debug)]
pub struct Area {
    /// The first place.
    first: usize,
    /// Places are at random in so many bytes from there.
    spread: usize,
    /// The range never grows beyond this.
    largest: usize,
}

/// For the region of samples: programs that touch little of what they ask for may ask for terabytes.
pub const SAMPLES: Area = Area { first: 0x2800_0000_0000, spread: 1 << 43, largest: 1 << 43 };

/// For the agent's tables, out of the way of the samples.
pub const TABLES: Area = Area { first: 0x2000_0000_0000, spread: 1 << 42, largest: 1 << 36 };

#[cfg(test)]
impl Area {
    /// One more, which no other heap of the process lies in or grows into.
    pub(super) fn of_its_own() -> Area {
        const FIRST: usize = 0x3800_0000_0000;
        const APART: usize = 1 << 38;
        static GIVEN: AtomicUsize = AtomicUsize::new(0);
        let first = FIRST + GIVEN.fetch_add(1, Ordering::Relaxed) * APART;
        Area { first, spread: STEP, largest: APART - MAP_ROOM }
    }
}

/// Places are tried this often.
const ATTEMPTS: usize = 8;

/// See the module.
#[derive(Debug)]
pub(super) struct Range {
    area: Area,
    pub(super) base: AtomicUsize,
    pub(super) length: AtomicUsize,
    /// Length of the map, in steps.
    mapped: AtomicUsize,
}

impl Range {
    pub(super) const fn new(area: Area) -> Self {
        Range {
            area,
            base: AtomicUsize::new(0),
            length: AtomicUsize::new(0),
            mapped: AtomicUsize::new(0),
        }
    }

    /// Finds a place and maps the first step; whether that worked. The caller holds the lock.
    pub(super) fn settle(&self) -> bool {
        (0..ATTEMPTS).any(|_| {
            let offset = (sys::entropy() as usize % self.area.spread) & !(STEP - 1);
            let base = self.area.first + offset + MAP_ROOM;
            self.base.store(base, Ordering::Relaxed);
            self.mapped.store(0, Ordering::Relaxed);
            self.grow(STEP)
        })
    }

    #[inline(always)]
    pub(super) fn base(&self) -> usize {
        self.base.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn length(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }

    /// Pages in the range.
    pub(super) fn pages(&self) -> u32 {
        (self.length() / PAGE) as u32
    }

    /// Makes the range longer by so many bytes, whole steps; whether that worked. The caller holds
    /// the lock.
    ///
    /// A single step is for small pieces, where huge pages would only waste memory. More is for a
    /// large one, which has huge pages where the program's own large blocks have them.
    pub(super) fn grow(&self, bytes: usize) -> bool {
        let (start, length) = (self.base() + self.length(), self.length() + bytes);
        let grown =
            length <= self.area.largest && self.map_for(length) && sys::map_at(start, bytes);
        if grown {
            if bytes <= STEP
                && let Some(start) = NonNull::new(start as *mut u8)
            {
                sys::avoid_huge_pages(start, bytes);
            }
            self.length.store(length, Ordering::Release);
        }
        grown
    }

    /// The map's entry for a page of the range.
    pub(super) fn page(&self, page: PageNumber) -> &Page {
        debug_assert!(page.0 < self.pages());
        let map = (self.base() - MAP_ROOM) as *const Page;
        // SAFETY: the range grows after its map, which is never unmapped, and page numbers come from
        // addresses in the range or from the map itself. Zero is a valid entry, and all is atomic.
        unsafe { &*map.add(page.0 as usize) }
    }

    /// The first address of a page.
    pub(super) fn address(&self, page: PageNumber) -> NonNull<u8> {
        let address = self.base() + page.0 as usize * PAGE;
        // SAFETY: bases are not null.
        unsafe { NonNull::new_unchecked(address as *mut u8) }
    }

    /// The page of an address in the range.
    pub(super) fn page_of(&self, address: usize) -> PageNumber {
        PageNumber(((address - self.base()) / PAGE) as u32)
    }

    fn map_for(&self, length: usize) -> bool {
        let (have, need) = (self.mapped.load(Ordering::Relaxed), length / STEP);
        if need <= have {
            return true;
        }
        let (start, bytes) = (self.base() - MAP_ROOM + have * MAP_STEP, (need - have) * MAP_STEP);
        let mapped = sys::map_at(start, bytes);
        if mapped {
            self.mapped.store(need, Ordering::Relaxed);
        }
        mapped
    }
}
