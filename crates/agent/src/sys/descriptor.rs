//! File descriptors, open for as short as possible. \[UNSAFE\]

use core::ffi::{CStr, c_int};

use super::raw;

/// A file descriptor, closed when dropped.
#[derive(Debug)]
pub struct Descriptor(c_int);

impl Descriptor {
    /// One that the kernel has just made.
    pub(super) fn of(made: usize) -> Self {
        Descriptor(made as c_int)
    }

    /// One that somebody has opened for us, who leaves it to us.
    pub fn given(number: u32) -> Self {
        Descriptor(number as c_int)
    }

    /// What the kernel knows it by.
    pub(super) fn number(&self) -> c_int {
        self.0
    }

    /// Length of an open file.
    pub(super) fn length(&self) -> Option<u64> {
        // SAFETY: zero is a valid `stat`; the kernel writes to it.
        unsafe {
            let mut stat: libc::stat = core::mem::zeroed();
            raw::call(libc::SYS_fstat, [self.0 as usize, &raw mut stat as usize]).ok()?;
            Some(stat.st_size as u64)
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: we opened it, within this same call chain, and nobody else knows it.
        let _ = unsafe { raw::call(libc::SYS_close, [self.0 as usize]) };
    }
}

/// Opens a file to be read.
pub(super) fn open(path: &CStr) -> Option<Descriptor> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY;
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize];
    // SAFETY: a C string.
    unsafe { raw::call(libc::SYS_openat, arguments) }.ok().map(Descriptor::of)
}

/// What a symbolic link says, as far as `to` has room; how many bytes that are.
///
/// # Errors
/// The kernel's error number.
pub fn read_link(path: &CStr, to: &mut [u8]) -> Result<usize, c_int> {
    let (directory, path) = (libc::AT_FDCWD as usize, path.as_ptr() as usize);
    let arguments = [directory, path, to.as_mut_ptr() as usize, to.len()];
    // SAFETY: a C string, and a buffer of that length.
    unsafe { raw::call(libc::SYS_readlinkat, arguments) }
}
