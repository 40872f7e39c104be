//! Memory within reach of the program's code, with the ways to the hooks and the moved instructions.
//! \[UNSAFE\]
//!
//! A jump of five bytes reaches two gigabytes; this library may be further away. The island lies below
//! the program, where neither its heap nor anything else of it grows.

use core::ptr::NonNull;

use alloc::vec::Vec;
use lifetrace_agent::sys;
use lifetrace_transport::patch::{JUMP, MOST_MOVED, Patch};

use crate::families::Slot;

/// What a function takes: the way to its hook, and its first instructions.
const PLOT: usize = 16 + MOST_MOVED;

/// `jmp [rip + 2]`, two bytes of nothing, and the address.
const WAY: [u8; 8] = [0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc];

const PAGE: usize = 4096;

/// From one place that is tried to the next one down, and how many: nearly as far as a jump reaches, since a runtime may
/// have reserved all that is nearer (OCaml 5: 256 MiB for the young heaps of its domains, or more).
const STEP: usize = 64 << 10;
const TRIES: usize = 30_000;

/// Nothing is mapped below.
const LOWEST: usize = 64 << 10;

pub(super) struct Island {
    start: NonNull<u8>,
    bytes: usize,
    count: usize,
}

impl Island {
    /// Below the functions of the list; `None` if there is no room.
    pub(super) fn near(list: &[Patch]) -> Option<Island> {
        let lowest = list.iter().map(|patch| patch.address as usize).min()?;
        let bytes = (list.len() * PLOT).next_multiple_of(PAGE);
        let highest = lowest.checked_sub(bytes)? & !(STEP - 1);
        let places = (0..TRIES).map_while(|index| highest.checked_sub(index * STEP));
        let start = places.take_while(|&place| place >= LOWEST).find_map(|at| map(at, bytes))?;
        Some(Island { start, bytes, count: list.len() })
    }

    /// Fills it, and returns the jumps that the functions are to begin with; `None` if something is out of
    /// reach, and then the island is gone.
    pub(super) fn build(&self, list: &[Patch], slots: &[&'static Slot]) -> Option<Vec<[u8; JUMP]>> {
        let plots = list.iter().zip(slots).enumerate();
        let jumps = plots.map(|(index, (patch, slot))| {
            let place = self.plot(index);
            let (code, length) = patch.code_at(place as u64 + 16)?;
            // SAFETY: the plot of this patch, in memory of ours that can be written.
            unsafe {
                let way = place as *mut u8;
                way.copy_from_nonoverlapping(WAY.as_ptr(), WAY.len());
                way.add(8).cast::<usize>().write(slot.hook());
                way.add(16).copy_from_nonoverlapping(code.as_ptr(), length);
            }
            patch.jump_to(place as u64)
        });
        let jumps: Option<Vec<_>> = jumps.collect();
        jumps.filter(|_| self.make_executable()).or_else(|| {
            self.leave();
            None
        })
    }

    /// Where the moved instructions are, in the list's order.
    pub(super) fn copies(&self) -> impl Iterator<Item = usize> {
        (0..self.count).map(|index| self.plot(index) + 16)
    }

    fn plot(&self, index: usize) -> usize {
        self.start.as_ptr() as usize + index * PLOT
    }

    fn make_executable(&self) -> bool {
        // SAFETY: the island is ours.
        unsafe { sys::protect(self.start, self.bytes, libc::PROT_READ | libc::PROT_EXEC) }
    }

    fn leave(&self) {
        // SAFETY: the island is ours, and nothing leads to it.
        unsafe { sys::unmap(self.start, self.bytes) };
    }
}

/// Memory at this very place, unless there is something.
fn map(place: usize, bytes: usize) -> Option<NonNull<u8>> {
    if sys::map_at(place, bytes) { NonNull::new(place as *mut u8) } else { None }
}
