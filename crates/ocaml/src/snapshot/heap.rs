//! Blocks, as all versions have them, and what words refer to. \[UNSAFE\]
//!
//! OCaml 4 knows by a table of pages what lies in its heap, and lets words point elsewhere. In OCaml 5, and in an OCaml 4
//! without that table, each pointer leads to a block with a header, whose colour says that it is not of the heap.
//! (`runtime/caml/mlvalues.h`, `address_class.h`, `gc.h`)

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int};

use lifetrace_agent::snapshot::budget::Budget;
use lifetrace_agent::snapshot::walk::{Block, Walk};
use lifetrace_agent::sys;
use lifetrace_transport::stream::Form;

use super::custom;
use crate::symbols::{Symbols, typed};
use crate::version::Version;

const CONTINUATION: u8 = 245;
const LAZY: u8 = 246;
const CLOSURE: u8 = 247;
const OBJECT: u8 = 248;
const INFIX: u8 = 249;
const FORWARD: u8 = 250;
const ABSTRACT: u8 = 251;
const STRING: u8 = 252;
const DOUBLE: u8 = 253;
const DOUBLES: u8 = 254;
const CUSTOM: u8 = 255;
/// The first tag of blocks that have no fields.
const FIRST_WITHOUT_FIELDS: u8 = ABSTRACT;

const COLOURS: u64 = 3 << 8;
const WORD: u64 = 8;

type PageClass = unsafe extern "C" fn(u64) -> c_int;

/// Where blocks are.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    version: Version,
    /// Where OCaml 4 has one.
    pages: Option<PageClass>,
    /// In place of the keys and data of an ephemeron that are not set.
    nothing: u64,
    /// The page that was asked for last, and whether blocks are there.
    last_page: Cell<(u64, bool)>,
    /// Regions of which all pages are alike, by the lowest bits of their numbers: the number, and whether blocks are there
    /// in the lowest bit. None before [`remember_regions`](Heap::remember_regions).
    regions: &'static [Cell<u64>],
}

/// Bits of an address within a region, and within a page.
const REGION_BITS: u32 = 16;
const PAGE_BITS: u32 = 12;
/// As many regions are remembered: of half a gigabyte.
const REGIONS: usize = 1 << 13;

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// No pointer.
    Value,
    /// A pointer, to something else.
    Outside,
    /// The block at that address, or a function within it.
    Block(u64),
}

impl Heap {
    /// `None` if the runtime does not export what is needed.
    pub(super) fn of(version: Version, symbol: &Symbols<'_>) -> Option<Heap> {
        // SAFETY: a function and a variable of these types in all versions that have them.
        let (pages, nothing) = unsafe {
            let nothing: *const u64 = typed(symbol, c"caml_ephe_none").ok()?;
            (typed(symbol, c"caml_page_table_lookup").ok(), nothing.read())
        };
        let pages = pages.filter(|_| !version.has_fibers());
        Some(Heap { version, pages, nothing, last_page: Cell::new((0, false)), regions: &[] })
    }

    /// From now on remembers what OCaml 4's table of pages says. To be called in the child.
    pub(super) fn remember_regions(&mut self, budget: &Budget) {
        if self.pages.is_some()
            && let Some(words) = budget.words(REGIONS)
        {
            self.regions = Cell::from_mut(words).as_slice_of_cells();
        }
    }

    /// What a word is.
    ///
    /// # Safety
    /// It is a field of a block, or a root.
    #[inline]
    pub(super) unsafe fn word(&self, word: u64) -> Word {
        if word & 1 == 1 {
            return Word::Value;
        }
        if word == 0 || !word.is_multiple_of(WORD) || !self.is_in_heap(word) {
            return Word::Outside;
        }
        // SAFETY: a pointer to a block, before which is its header.
        let header = unsafe { header(word) };
        Word::Block(if tag(header) == INFIX { word - words(header) * WORD } else { word })
    }

    #[inline]
    fn is_in_heap(&self, pointer: u64) -> bool {
        let Some(class) = self.pages else {
            // SAFETY: without a table of pages, each pointer leads to a block with a header.
            return unsafe { header(pointer) & COLOURS != COLOURS };
        };
        let region = pointer >> REGION_BITS;
        match self.regions.get(region as usize % REGIONS).map(Cell::get) {
            Some(known) if known >> 1 == region => known & 1 == 1,
            _ => self.is_in_other_region(pointer, class),
        }
    }

    /// A region that is not all alike is asked for page by page.
    #[cold]
    fn is_in_other_region(&self, pointer: u64, class: PageClass) -> bool {
        let first = pointer >> REGION_BITS << REGION_BITS;
        let pages = (0..1 << (REGION_BITS - PAGE_BITS)).map(|page| first + (page << PAGE_BITS));
        let is_here = self.is_in_page_of_heap(pointer, class);
        if pages.into_iter().all(|page| self.is_in_page_of_heap(page, class) == is_here)
            && let Some(place) = self.regions.get((first >> REGION_BITS) as usize % REGIONS)
        {
            place.set(first >> REGION_BITS << 1 | u64::from(is_here));
        }
        is_here
    }

    #[inline]
    fn is_in_page_of_heap(&self, pointer: u64, class: PageClass) -> bool {
        const IN_HEAP_OR_YOUNG: c_int = 3;
        let (page, was_in_heap) = self.last_page.get();
        if page == pointer >> PAGE_BITS {
            return was_in_heap;
        }
        // SAFETY: asks for the class of any address.
        let is_in_heap = unsafe { class(pointer) & IN_HEAP_OR_YOUNG != 0 };
        self.last_page.set((pointer >> PAGE_BITS, is_in_heap));
        is_in_heap
    }

    /// Has the processor fetch what is needed to tell of a block that was fetched itself: the headers of those that it
    /// refers to, and what is known of them.
    ///
    /// # Safety
    /// It is a block.
    #[inline]
    pub(super) unsafe fn prefetch_references(&self, address: u64, walk: &Walk<'_>) {
        const MOST: usize = 8;
        // SAFETY: by contract.
        let fields = unsafe { self.fields(address) };
        for &word in fields.iter().take(MOST).filter(|&&word| word & 1 == 0) {
            sys::prefetch(word.wrapping_sub(WORD));
            walk.prefetch(word);
        }
    }

    /// What a block is.
    ///
    /// # Safety
    /// It is one.
    #[inline]
    pub(super) unsafe fn block(&self, address: u64) -> Block {
        // SAFETY: by contract.
        let header = unsafe { header(address) };
        let tag = tag(header);
        let form = self.form(tag);
        let word = match form {
            // SAFETY: a closure has its code, and what it takes.
            Form::Closure => unsafe { self.code(address, words(header)) },
            // SAFETY: a custom block has its operations.
            Form::Custom => unsafe { field(address, 0) },
            Form::Fields => u64::from(tag),
            _ => 0,
        };
        Block { address, form, word, bytes: (words(header) + 1) * WORD, outside: 0 }
    }

    fn form(&self, tag: u8) -> Form {
        match tag {
            CONTINUATION if self.version.has_fibers() => Form::Continuation,
            LAZY => Form::Lazy,
            CLOSURE => Form::Closure,
            OBJECT => Form::Object,
            FORWARD => Form::Forward,
            ABSTRACT => Form::Abstract,
            STRING => Form::String,
            DOUBLE => Form::Float,
            DOUBLES => Form::Floats,
            CUSTOM => Form::Custom,
            _ => Form::Fields,
        }
    }

    /// Where a closure's code is: of one that takes several arguments, the code that takes all at once. It stands after
    /// a word with the number of arguments.
    ///
    /// # Safety
    /// It is a closure of so many words.
    unsafe fn code(&self, address: u64, words: u64) -> u64 {
        // SAFETY: by contract.
        let (code, info) = unsafe { (field(address, 0), field(address, 1)) };
        let arity = match self.version {
            Version::V4_11 => info as i64 >> 1,
            _ => info as i64 >> 56,
        };
        if words > 2 && !matches!(arity, 0 | 1) {
            // SAFETY: it has the field.
            return unsafe { field(address, 2) };
        }
        code
    }

    /// Which fields of a block may refer to others: from the first on, to the last.
    ///
    /// # Safety
    /// It is one.
    #[inline]
    pub(super) unsafe fn fields<'a>(&self, address: u64) -> &'a [u64] {
        // SAFETY: by contract; nobody changes the heap, of which this is a copy.
        unsafe {
            let header = header(address);
            if tag(header) >= FIRST_WITHOUT_FIELDS || self.form(tag(header)) == Form::Continuation {
                return &[];
            }
            let all = core::slice::from_raw_parts(address as *const u64, words(header) as usize);
            if tag(header) == CLOSURE {
                all.get(self.environment(all)..).unwrap_or(&[])
            } else {
                all
            }
        }
    }

    /// Where a closure's environment begins. In 4.11 nothing says so, and what comes before it looks like no block.
    fn environment(&self, fields: &[u64]) -> usize {
        const ARITY_BITS: u32 = 8;
        let info = fields.get(1).copied().unwrap_or_default();
        if self.version == Version::V4_11 {
            0
        } else {
            (info << ARITY_BITS >> (ARITY_BITS + 1)) as usize
        }
    }

    /// How many fields stand before those that may refer to others.
    ///
    /// # Safety
    /// It is a block.
    pub(super) unsafe fn skipped(&self, address: u64) -> usize {
        // SAFETY: by contract.
        unsafe {
            let all = (header(address) >> 10) as usize;
            if tag(header(address)) == CLOSURE { all - self.fields(address).len() } else { 0 }
        }
    }

    /// What a block is called by the runtime: only custom ones have names.
    ///
    /// # Safety
    /// `block` is what [`block`](Self::block) has told.
    pub(super) unsafe fn name<'a>(&self, block: &Block) -> &'a [u8] {
        if block.form != Form::Custom || block.word == 0 {
            return b"";
        }
        // SAFETY: its operations begin with the address of their identifier, a C string.
        unsafe { CStr::from_ptr((block.word as *const *const c_char).read()).to_bytes() }
    }

    /// Whether a custom block is a bigarray, and if so, its memory outside of the heap.
    ///
    /// # Safety
    /// `block` is what [`block`](Self::block) has told.
    pub(super) unsafe fn outside(&self, block: &Block) -> Option<custom::Bigarray> {
        // SAFETY: by contract.
        unsafe { custom::bigarray(self.name(block), block) }
    }

    /// An ephemeron's data, and its keys, each as a word; weak arrays have no data.
    ///
    /// # Safety
    /// It is one, or a weak array.
    pub(super) unsafe fn ephemeron<'a>(&self, address: u64) -> (u64, &'a [u64]) {
        const FIRST_KEY: usize = 2;
        // SAFETY: by contract.
        unsafe {
            let count = words(header(address)) as usize;
            let fields = core::slice::from_raw_parts(address as *const u64, count);
            (fields.get(1).copied().unwrap_or(1), fields.get(FIRST_KEY..).unwrap_or(&[]))
        }
    }

    /// Whether that stands for a key, or data, that is not set.
    pub(super) fn is_nothing(&self, word: u64) -> bool {
        word == self.nothing
    }
}

#[inline]
fn tag(header: u64) -> u8 {
    header as u8
}

#[inline]
fn words(header: u64) -> u64 {
    header >> 10
}

/// # Safety
/// It is the address of a block.
#[inline]
unsafe fn header(address: u64) -> u64 {
    // SAFETY: by contract.
    unsafe { (address as *const u64).sub(1).read() }
}

/// # Safety
/// It is the address of a block with more fields.
#[inline]
unsafe fn field(address: u64, index: usize) -> u64 {
    // SAFETY: by contract.
    unsafe { (address as *const u64).add(index).read() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks are in all of the second region, and in the first page of the third.
    unsafe extern "C" fn class(address: u64) -> c_int {
        c_int::from((0x1_0000..0x2_1000).contains(&address))
    }

    #[test]
    fn what_the_table_of_pages_says_is_remembered() {
        let zero = 0u64;
        let symbol = |_: &CStr| Some(core::ptr::NonNull::from(&zero).cast());
        let mut heap = Heap::of(Version::V4_13, &symbol).unwrap();
        heap.pages = Some(class);
        let far = (REGIONS as u64) << REGION_BITS;
        let asked =
            [0x8, 0x1_0008, 0x1_fff8, 0x2_0ff8, 0x2_1000, far + 0x1_0008, 0x1_0010, 0x3_0000];
        let answers = |heap: &Heap| asked.map(|address| heap.is_in_heap(address));
        let expected = [false, true, true, true, false, false, true, false];
        assert_eq!(answers(&heap), expected);
        heap.remember_regions(&Budget::of(1 << 20));
        assert_eq!([answers(&heap), answers(&heap)], [expected; 2]);
        assert_eq!(heap.regions[1].get(), 1 << 1 | 1);
        assert_eq!(heap.regions[2].get(), 0);
    }
}
