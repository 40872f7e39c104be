//! Memory that will be read soon. \[UNSAFE\]

/// Has the processor fetch what is at an address, if that is memory, while it goes on with something else.
#[inline(always)]
pub fn prefetch(address: u64) {
    // SAFETY: a hint, for any address whatsoever.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address as *const i8);
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, readonly));
    }
}
