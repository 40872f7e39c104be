use lifetrace_transport::patch::{Fixup, MOST_FIXUPS, MOST_MOVED, MOST_ORIGINAL, Shape};

use super::*;

core::arch::global_asm!(
    ".pushsection .text",
    ".p2align 4",
    "victim_of_patch:",
    "mov rax, rdi",
    "add rax, 1",
    "nop",
    "ret",
    ".p2align 4",
    "bystander_of_patch:",
    "mov rax, rdi",
    "add rax, 2",
    "nop",
    "ret",
    ".popsection",
);

unsafe extern "C" {
    fn victim_of_patch(number: usize) -> usize;
    fn bystander_of_patch(number: usize) -> usize;
}

/// `mov rax, rdi; add rax, n`
const LENGTH: usize = 7;

fn patch(function: unsafe extern "C" fn(usize) -> usize) -> Patch {
    let address = function as *const () as u64;
    let mut original = [0; MOST_ORIGINAL];
    // SAFETY: one of the functions above, which have as many bytes of code.
    let code = unsafe { core::slice::from_raw_parts(address as *const u8, LENGTH) };
    original[..LENGTH].copy_from_slice(code);
    let mut moved = [0; MOST_MOVED];
    moved[..LENGTH].copy_from_slice(code);
    moved[LENGTH] = 0xe9;
    let mut fixups = [Fixup::default(); MOST_FIXUPS];
    fixups[0] = Fixup { at: 8, end: 12, target: address + LENGTH as u64 };
    Patch {
        address,
        usable_size: 0,
        shape: Shape::Free,
        nests: false,
        length: LENGTH as u8,
        original,
        moved_length: 12,
        moved,
        fixup_count: 1,
        fixups,
    }
}

/// No other function of the list has been changed if one cannot be.
fn is_refused(list: &[Patch]) {
    assert_eq!(apply_all(list), None);
    assert!(is_as_expected(&patch(bystander_of_patch)));
    // SAFETY: it only adds.
    assert_eq!(unsafe { bystander_of_patch(40) }, 42);
}

#[test]
fn lists_that_do_not_fit_change_nothing() {
    let good = patch(bystander_of_patch);
    let mut other_bytes = good;
    other_bytes.original[3] ^= 1;
    is_refused(&[other_bytes]);
    let mut overlapping = good;
    overlapping.address += 1;
    overlapping.original.rotate_left(1);
    is_refused(&[good, overlapping]);
    let elsewhere = [0x90_u8; 64];
    let data = Patch { address: elsewhere.as_ptr() as u64, original: [0x90; 24], ..good };
    is_refused(&[good, data]);
    is_refused(&[good, Patch { address: 1 << 20, ..good }]);
    let mut far = good;
    far.fixups[0].target = good.address ^ 1 << 45;
    is_refused(&[far]);
    is_refused(&[]);
}

#[test]
fn a_patched_function_does_what_it_did() {
    let patch = patch(victim_of_patch);
    assert_eq!(apply_all(&[patch]).map(|copies| copies.len()), Some(1));
    // SAFETY: the function's first byte.
    let first = unsafe { *(patch.address as *const u8) };
    assert_eq!((first, is_as_expected(&patch)), (0xe9, false));
    // SAFETY: it only adds, patched or not.
    assert_eq!(unsafe { victim_of_patch(41) }, 42);
    assert_eq!(apply_all(&[patch]), None, "it is not as it was any more");
}
