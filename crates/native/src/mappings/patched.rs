//! Hooks of C's functions whose first instructions are a jump: who calls is to be known. \[UNSAFE\]
//!
//! By that jump come calls as well that libc makes itself, for its malloc and for stacks of threads. They are told by
//! where they return to: behind a direct call, in libc, of something in libc. Behind an indirect call of libc's there
//! is a function of the program's (a destructor of a thread's variable, say) that ends in a jump to ours, and has left
//! no trace but that. What returns to this library is libc's as well: one of its functions that we go on in ends in
//! another that comes by here.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

use lifetrace_agent::loader;
use lifetrace_transport::patch::Shape;

use super::{calls, is_heard};

/// Where a module begins and ends.
struct Span([AtomicU64; 2]);

/// Libc's.
static LIBC: Span = Span::new();

/// This library's.
static OWN: Span = Span::new();

impl Span {
    const fn new() -> Span {
        Span([const { AtomicU64::new(0) }; 2])
    }

    /// The module that has the code.
    fn set(&self, code: u64) {
        let span = loader::span_of(code).unwrap_or_default();
        self.0[0].store(span.start, Ordering::Relaxed);
        self.0[1].store(span.end, Ordering::Relaxed);
    }

    fn has(&self, address: u64) -> bool {
        let [start, end] = &self.0;
        (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&address)
    }
}

/// The functions that these are hooks of are of the module with this code. Nobody runs a hook yet.
pub(super) fn take_note(code: u64) {
    LIBC.set(code);
    OWN.set(take_note as *const () as u64);
}

/// The hook of a function; `None` if there is none.
pub(crate) fn hook_of(shape: Shape) -> Option<*const ()> {
    Some(match shape {
        Shape::Mmap => mmap as *const (),
        Shape::Munmap => munmap as *const (),
        Shape::Mremap => mremap as *const (),
        Shape::Mprotect => mprotect as *const (),
        Shape::PkeyMprotect => pkey_mprotect as *const (),
        Shape::Brk => brk as *const (),
        Shape::Sbrk => sbrk as *const (),
        _ => return None,
    })
}

/// Whether a call that returns there is to be told.
#[inline(always)]
fn is_told(caller: u64) -> bool {
    is_heard() && !OWN.has(caller) && !(LIBC.has(caller) && is_behind_direct_call(caller))
}

/// Whether libc's own code calls something of libc's by name, and goes on there.
#[cold]
fn is_behind_direct_call(caller: u64) -> bool {
    const CALL: u8 = 0xe8;
    const LENGTH: u64 = 5;
    if !LIBC.has(caller - LENGTH) {
        return false;
    }
    // SAFETY: code of libc's, which goes on behind these bytes, and stays.
    let [call, distance @ ..] = unsafe { *((caller - LENGTH) as *const [u8; LENGTH as usize]) };
    let callee = caller.wrapping_add_signed(i32::from_le_bytes(distance).into());
    call == CALL && LIBC.has(callee)
}

/// Hooks that call what tells of the call, with where it returns to as a seventh argument. The function that they are
/// hooks of has six arguments at most, so it is the only one on the stack.
macro_rules! hooks {
    ($($name:ident($($argument:ident: $kind:ty),*; $($unused:ident)*) -> $result:ty;)*) => {
        $(
            // SAFETY: nothing but assembly, which leaves arguments where they are, and returns as its callee does. Led to
            // by patched functions alone.
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "push rbp",
                    ".cfi_def_cfa_offset 16",
                    ".cfi_offset rbp, -16",
                    "mov rbp, rsp",
                    ".cfi_def_cfa_register rbp",
                    "sub rsp, 8",
                    "push qword ptr [rbp + 8]",
                    "call {tell}",
                    "leave",
                    ".cfi_def_cfa rsp, 8",
                    "ret",
                    ".cfi_endproc",
                    tell = sym telling::$name,
                )
            }
        )*

        mod telling {
            use super::*;

            $(
                /// # Safety
                /// As C's.
                pub(super) unsafe extern "C" fn $name(
                    $($argument: $kind,)* $($unused: usize,)* caller: u64
                ) -> $result {
                    // SAFETY: the caller's contract is the callee's.
                    unsafe { calls::$name(is_told(caller), $($argument),*) }
                }
            )*
        }
    };
}

hooks! {
    mmap(
        address: *mut u8, bytes: usize, access: c_int, flags: c_int, descriptor: c_int, offset: i64;
    ) -> *mut u8;
    munmap(address: *mut u8, bytes: usize; _c _d _e _f) -> c_int;
    mremap(
        old: *mut u8, old_bytes: usize, bytes: usize, flags: c_int, new: *mut u8; _f
    ) -> *mut u8;
    mprotect(address: *mut u8, bytes: usize, access: c_int; _d _e _f) -> c_int;
    pkey_mprotect(address: *mut u8, bytes: usize, access: c_int, key: c_int; _e _f) -> c_int;
    brk(end: *mut u8; _b _c _d _e _f) -> c_int;
    sbrk(more: isize; _b _c _d _e _f) -> *mut u8;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_libcs_own_are_told_by_where_they_return_to() {
        // A direct call of what is at 8, an indirect one, a direct call of something far away.
        let code: [u8; 16] =
            [0xe8, 3, 0, 0, 0, 0xff, 0xd0, 0xe8, 0, 0, 0, 0x10, 0x90, 0x90, 0x90, 0x90];
        let start = code.as_ptr() as u64;
        LIBC.0[0].store(start, Ordering::Relaxed);
        LIBC.0[1].store(start + code.len() as u64, Ordering::Relaxed);
        assert!(is_behind_direct_call(start + 5));
        for at in [3, 7, 12, 14] {
            assert!(!is_behind_direct_call(start + at), "{at}");
        }
    }

    #[test]
    fn each_function_has_a_hook_and_no_other_has() {
        for shape in Shape::ALL {
            assert_eq!(hook_of(shape).is_some(), shape.is_of_mappings(), "{shape:?}");
        }
    }
}
