//! Where the runtime keeps what it does not collect. \[UNSAFE\]
//!
//! Each function of the runtime's that tells of roots calls back with a word and where that stands
//! ([`asking`](super::asking)). Those that
//! tell of one sort are asked before those that tell of several, and a place that was told of is passed over: so each root
//! comes once, under the name that says most.

use super::asking::Told;
use super::five::Five;
use super::four::Four;
use super::holder::{Frame, Holder, Sort};
use crate::symbols::{Symbols, typed};
use crate::version::Version;

/// The functions that tell of roots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roots {
    globals: *const *const u64,
    of_version: OfVersion,
}

#[derive(Clone, Copy, Debug)]
enum OfVersion {
    Four(Four),
    Five(Five),
}

impl Roots {
    /// `None` if the runtime does not export what is needed.
    pub(super) fn of(version: Version, symbol: &Symbols<'_>) -> Option<Roots> {
        let of_version = match version.stack_state() {
            Some(index) => OfVersion::Four(Four::of(index, symbol).ok()?),
            None => OfVersion::Five(Five::of(version, symbol).ok()?),
        };
        // SAFETY: a variable of that type.
        let globals = unsafe { typed(symbol, c"caml_globals").ok()? };
        Some(Roots { globals, of_version })
    }

    /// Tells of each root, some of them several times; `domains` are the states of all, in OCaml 5.
    ///
    /// # Safety
    /// Called in a copy of the process that has no other thread, made where the heap was whole.
    pub(super) unsafe fn each(&self, domains: &[*const u64], told: &mut Told<'_>) {
        // SAFETY: by contract.
        unsafe {
            self.each_global(told);
            match &self.of_version {
                OfVersion::Four(four) => four.each(told),
                OfVersion::Five(five) => five.each(domains, told),
            }
        }
    }

    /// The fields of the units' blocks.
    ///
    /// # Safety
    /// As [`each`](Self::each).
    unsafe fn each_global(&self, told: &mut Told<'_>) {
        // SAFETY: a list of lists of blocks, each with a zero at its end.
        unsafe {
            for unit in until_zero(self.globals.cast()) {
                for block in until_zero(unit as *const u64) {
                    let first = block as *const u64;
                    for index in 0..(first.sub(1).read() >> 10) as usize {
                        let slot = first.add(index);
                        told(Holder::of(Sort::Globals), slot as u64, slot.read());
                    }
                }
            }
        }
    }

    /// The lists of a domain's ephemerons, in OCaml 5: the first of each.
    ///
    /// # Safety
    /// It is a domain's state.
    pub(super) unsafe fn ephemerons_of(&self, domain: *const u64) -> [u64; 2] {
        match &self.of_version {
            OfVersion::Four(_) => [0; 2],
            // SAFETY: by contract.
            OfVersion::Five(five) => unsafe { five.ephemerons_of(domain) },
        }
    }

    /// What a stack that waits refers to, in OCaml 5.
    ///
    /// # Safety
    /// As [`each`](Self::each); `continuation` is a block that has a stack, or had one.
    pub(super) unsafe fn of_fiber(&self, continuation: u64, told: &mut Told<'_>) {
        if let OfVersion::Five(five) = &self.of_version {
            // SAFETY: by contract.
            unsafe { five.of_fiber(continuation, told) };
        }
    }

    /// The frame that a stack which waits goes on with, in OCaml 5, if it still waits.
    ///
    /// # Safety
    /// As [`of_fiber`](Self::of_fiber).
    pub(super) unsafe fn frame_of_fiber(&self, continuation: u64) -> Option<Frame> {
        match &self.of_version {
            OfVersion::Four(_) => None,
            // SAFETY: by contract.
            OfVersion::Five(five) => unsafe { five.frame_of_fiber(continuation) },
        }
    }

    /// Tells of sampled blocks that the runtime's own sampler follows: what we have given it to remember, and
    /// the block.
    ///
    /// # Safety
    /// As [`each`](Self::each).
    pub(super) unsafe fn each_sample(
        &self,
        domains: &[*const u64],
        sample: &mut dyn FnMut(u64, u64),
    ) {
        // SAFETY: by contract.
        unsafe {
            match &self.of_version {
                OfVersion::Four(four) => four.each_sample(sample),
                OfVersion::Five(five) => five.each_sample(domains, sample),
            }
        }
    }
}

/// The words from there on until one is zero.
///
/// # Safety
/// There is one that is.
unsafe fn until_zero(first: *const u64) -> impl Iterator<Item = u64> {
    // SAFETY: by contract.
    (0..).map(move |index| unsafe { first.add(index).read() }).take_while(|&word| word != 0)
}
