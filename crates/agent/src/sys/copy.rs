//! Reading memory that another thread may be taking away. \[UNSAFE\]

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

use super::process::ask_for_copy;
use super::stack;
use crate::room;

const WORD: u64 = 8;

/// Whether the kernel may be asked to copy.
static BY_KERNEL: AtomicBool = AtomicBool::new(false);

/// To be called where it is known that no sandbox kills for `process_vm_readv`.
pub fn let_kernel_copy() {
    BY_KERNEL.store(true, Ordering::Relaxed);
}

/// Fills `to` with what is at `address`; `false` if not all of it can be read. It lies on two pages at most.
///
/// Where that is permitted ([`let_kernel_copy`]) the kernel copies, so that memory which goes meanwhile is no fault. Elsewhere
/// it is found out first whether the memory is there: a mapping that goes between that and the copy is a fault then.
pub fn copy(address: u64, to: &mut [MaybeUninit<u8>]) -> bool {
    if to.is_empty() {
        return true;
    }
    by_kernel(address, to).unwrap_or_else(|| {
        let is_there = is_there(address, to.len() as u64);
        if is_there {
            // SAFETY: found out to be readable; `to` is another place.
            unsafe { (address as *const u8).copy_to(to.as_mut_ptr().cast(), to.len()) };
        }
        is_there
    })
}

fn by_kernel(address: u64, to: &mut [MaybeUninit<u8>]) -> Option<bool> {
    let may_be_asked = BY_KERNEL.load(Ordering::Relaxed) && !room::is_sandbox_expected();
    may_be_asked.then(|| ask_for_copy(address, to))?
}

fn is_there(address: u64, bytes: u64) -> bool {
    let last = (address + bytes.max(WORD)).wrapping_sub(WORD);
    stack::is_readable(address) && (last == address || stack::is_readable(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{map, unmap};

    const PAGE: usize = 4096;

    fn read<const N: usize>(address: u64) -> Option<[u8; N]> {
        let mut bytes = [MaybeUninit::uninit(); N];
        // SAFETY: filled.
        copy(address, &mut bytes).then(|| bytes.map(|byte| unsafe { byte.assume_init() }))
    }

    #[test]
    fn what_is_there_is_copied_and_what_is_not_is_no_fault() {
        let pages = map(3 * PAGE).unwrap();
        // SAFETY: fresh memory, of which the middle page goes.
        unsafe {
            pages.as_ptr().write_bytes(7, 3 * PAGE);
            unmap(pages.add(PAGE), PAGE);
        }
        let at = |offset: usize| pages.as_ptr() as u64 + offset as u64;
        for _ in 0..2 {
            assert_eq!((read(at(0)), read(at(PAGE - 32))), (Some([7; 256]), Some([7; 32])));
            assert_eq!((read(at(PAGE - 8)), read(at(PAGE - 7))), (Some([7; 8]), None::<[u8; 8]>));
            assert_eq!((read::<100>(at(PAGE)), read::<9>(at(2 * PAGE - 1))), (None, None));
            assert_eq!((read::<0>(8), read::<1>(8)), (Some([]), None));
            let_kernel_copy();
        }
    }

    /// Half a second of what ends a process where memory is looked at first, and then read. The kernel copies in processes
    /// that were attached to, which are of x86-64; the emulator of others ends by an assertion of its own here.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn memory_may_go_while_it_is_copied() {
        use core::ptr::NonNull;

        use crate::sys::protect;

        let_kernel_copy();
        let page = map(PAGE).unwrap();
        let (place, is_over) = (page.as_ptr() as usize, AtomicBool::new(false));
        let change = |access| {
            let page = NonNull::new(place as *mut u8).unwrap();
            // SAFETY: the kernel alone reads it.
            assert!(unsafe { protect(page, PAGE, access) });
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    change(libc::PROT_NONE);
                    change(libc::PROT_READ);
                }
            });
            let begun = std::time::Instant::now();
            let mut seen = [false; 2];
            while begun.elapsed().as_millis() < 500 || seen != [true; 2] {
                seen[usize::from(read::<8>(place as u64).is_some())] = true;
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
