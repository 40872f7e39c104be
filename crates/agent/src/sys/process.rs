//! This process, as the kernel knows it. \[UNSAFE\]

use core::mem::MaybeUninit;

use super::raw;

/// The number of this process.
pub fn process_id() -> u32 {
    // SAFETY: takes nothing, and never fails.
    unsafe { raw::call(libc::SYS_getpid, []) }.unwrap_or(0) as u32
}

/// Fills `to` with what is at `address`, by `process_vm_readv` of this process by itself, for which it needs no permission:
/// whether all of it can be read; `None` if the kernel cannot be asked.
pub(super) fn ask_for_copy(address: u64, to: &mut [MaybeUninit<u8>]) -> Option<bool> {
    let part = |start: u64| libc::iovec { iov_base: start as *mut _, iov_len: to.len() };
    let (here, there) = (part(to.as_ptr() as u64), part(address));
    let [here, there] = [&raw const here as usize, &raw const there as usize];
    let arguments = [process_id() as usize, here, 1, there, 1, 0];
    // SAFETY: the kernel writes no more than the length of `to` there, and checks what it reads.
    match unsafe { raw::call(libc::SYS_process_vm_readv, arguments) } {
        Ok(bytes) => Some(bytes == to.len()),
        Err(libc::EFAULT) => Some(false),
        Err(_) => None,
    }
}
