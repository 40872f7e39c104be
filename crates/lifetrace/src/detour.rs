//! Whether calls take the detour by [`crate::hooks`]: one instruction for who doesn't. \[UNSAFE\]
//!
//! To look at a flag takes two instructions, a comparison and a jump. One is enough if the jump itself
//! reads memory: at each place that asks ([`is_open`]) stands a `jmp` through a pointer of that place's
//! own, which leads to the next instruction as long as the detour is closed. The linker collects these
//! pointers, and where else they may lead, in a section; [`open`] and [`close`] change all of them. It is
//! a static key as Linux has them, but in data: no code is ever written. A place takes 16
//! bytes in the section, a relocation, and the code of the detour; there are a few of them, or, where the
//! linker inlines, as many as the program has calls.
//!
//! Pointers change one after the other while other threads jump through them. Each is changed by one
//! store, and both ways are right at any time for who has no sampled block; see [`crate::hooks`] for who
//! has one.
//!
//! Elsewhere than on x86-64, and under Miri, it is a flag.

pub(crate) use site::{close, is_open, open};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod site {
    use std::arch::asm;
    use std::slice;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// What stands in the section for one place: an address of code, and the two that it may be, from
    /// here, so that the loader has one address to adjust and not three.
    #[repr(C)]
    struct Site {
        goes_to: AtomicUsize,
        straight_on: i32,
        detour: i32,
    }

    /// Whether this call is to take the detour.
    #[inline(always)]
    pub(crate) fn is_open() -> bool {
        // SAFETY: the pointer of this place leads to one of the two labels, at any time. The section is
        // left as it was entered. No register is touched, and no memory that the compiler knows.
        unsafe {
            asm!(
                "jmp qword ptr [rip + 2f]",
                "3:",
                ".pushsection lifetrace_detours, \"aw\", @progbits",
                ".balign 8",
                "2: .quad 3b",
                ".long 3b - 2b, {detour} - 2b",
                ".popsection",
                detour = label { return true },
                options(nostack, preserves_flags, readonly),
            );
        }
        false
    }

    /// From now on calls take the detour: those that see what this thread has done until now do.
    pub(crate) fn open() {
        all(|site| site.detour);
    }

    /// From now on they needn't.
    pub(crate) fn close() {
        all(|site| site.straight_on);
    }

    fn all(way: impl Fn(&Site) -> i32) {
        for site in sites() {
            let here = (&raw const *site).addr();
            site.goes_to.store(here.wrapping_add_signed(way(site) as isize), Ordering::Release);
        }
    }

    /// Those of this program or library; not of another that has a copy of this crate.
    fn sites() -> &'static [Site] {
        let (start, stop): (*const Site, *const Site);
        // SAFETY: the linker names the section's ends. Without a site in use it would not be there, so it
        // gets one that is nobody's, and a use of it. It is left as it was entered.
        unsafe {
            asm!(
                ".hidden __start_lifetrace_detours",
                ".hidden __stop_lifetrace_detours",
                ".pushsection lifetrace_detours, \"aw\", @progbits",
                ".balign 8",
                "2: .quad 0, 0",
                ".popsection",
                "lea {start}, [rip + 2b]",
                "lea {start}, [rip + __start_lifetrace_detours]",
                "lea {stop}, [rip + __stop_lifetrace_detours]",
                start = out(reg) start,
                stop = out(reg) stop,
                options(nostack, preserves_flags, nomem, pure),
            );
        }
        // SAFETY: between its ends the section has whole sites, which live as long as this code.
        unsafe { slice::from_raw_parts(start, stop.offset_from_unsigned(start)) }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod site {
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_OPEN: AtomicBool = AtomicBool::new(false);

    #[inline(always)]
    pub(crate) fn is_open() -> bool {
        IS_OPEN.load(Ordering::Relaxed)
    }

    pub(crate) fn open() {
        IS_OPEN.store(true, Ordering::Release);
    }

    pub(crate) fn close() {
        IS_OPEN.store(false, Ordering::Release);
    }
}
