//! How the C library keeps large blocks, in a recorder that runs for months. \[UNSAFE\]

/// Has blocks of 128 KiB and more given back to the system as soon as they are freed. Left to itself, glibc keeps such
/// blocks once one has been freed, in each thread's part of its memory: a thousand sessions that have rested would take
/// 0.8 MB more each.
pub fn return_large_blocks() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE: nix::libc::c_int = 128 << 10;
        // SAFETY: it takes numbers, and refuses those that it does not know.
        unsafe { nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, LARGE) };
    }
}
