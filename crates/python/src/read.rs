//! Reads of the interpreter's memory. \[UNSAFE\]
//!
//! All are of this thread's own stack of frames, or of what these keep alive: nobody else changes it. A null, or an address
//! that is none, ends the reading.

use core::ptr::NonNull;

/// Where programs have memory, and objects are aligned.
const LOWEST: u64 = 1 << 12;
const HIGHEST: u64 = 1 << 56;
const ALIGNMENT: u64 = 4;

/// A structure of the interpreter's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(NonNull<u8>);

impl Place {
    /// `None` if nothing can be there.
    pub(crate) fn new(address: u64) -> Option<Place> {
        let is_one = (LOWEST..HIGHEST).contains(&address) && address.is_multiple_of(ALIGNMENT);
        NonNull::new(address as *mut u8).filter(|_| is_one).map(Place)
    }

    pub(crate) fn address(self) -> u64 {
        self.0.as_ptr() as u64
    }

    /// What it has at an offset.
    ///
    /// # Safety
    /// It is alive, and has a `T` there.
    pub(crate) unsafe fn get<T: Copy>(self, offset: usize) -> T {
        // SAFETY: by contract.
        unsafe { self.0.byte_add(offset).cast::<T>().read_unaligned() }
    }

    /// The structure that its field at an offset points to.
    ///
    /// # Safety
    /// As [`Place::get`].
    pub(crate) unsafe fn follow(self, offset: usize) -> Option<Place> {
        // SAFETY: by contract.
        Place::new(unsafe { self.get::<u64>(offset) })
    }

    /// Bytes that it has from an offset on.
    ///
    /// # Safety
    /// As [`Place::get`], for as long as they are used.
    pub(crate) unsafe fn bytes<'a>(self, offset: usize, length: usize) -> &'a [u8] {
        // SAFETY: by contract.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().add(offset), length) }
    }
}
