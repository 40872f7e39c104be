//! System calls by the instruction itself. \[UNSAFE\]
//!
//! libc's functions are the program's: a library that it brings may have replaced any of them, and what
//! the replacement does (allocate, take a lock, look a symbol up) would happen inside malloc. They are
//! cancellation points besides: a thread that is cancelled inside malloc would take our locks with it.
//! And they write to `errno`, which is the program's too.

use core::ffi::{c_int, c_long};

#[cfg_attr(target_arch = "x86_64", path = "raw_x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "raw_aarch64.rs")]
mod arch;

/// The kernel's answers from here on are negated error numbers.
const LARGEST_ERROR: isize = 4095;

/// Makes the system call `number`; arguments that are not given are zero.
///
/// # Errors
/// The kernel's error number.
///
/// # Safety
/// What the call does with these arguments is sound where it is made.
#[inline]
pub(super) unsafe fn call<const N: usize>(
    number: c_long,
    arguments: [usize; N],
) -> Result<usize, c_int> {
    let mut all = [0; 6];
    for (to, from) in all.iter_mut().zip(arguments) {
        *to = from;
    }
    // SAFETY: by contract.
    let result = unsafe { arch::call(number, all) };
    if (-LARGEST_ERROR..0).contains(&result) { Err(-result as c_int) } else { Ok(result as usize) }
}
