//! Allocations of which all is known.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::hint::black_box;

/// Blocks and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub blocks: u64,
    pub bytes: u64,
}

/// So many bytes of block `number`: small ones, and now and then a large one.
pub fn size_of_block(number: u64) -> usize {
    let small = 1 + (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 55) as usize;
    if number.is_multiple_of(1000) { small * 1000 } else { small }
}

/// Allocates so many blocks, and frees each before the next.
#[inline(never)]
pub fn workload_short_lived(blocks: u64) -> Account {
    let mut account = Account::default();
    for number in 0..blocks {
        let size = size_of_block(number);
        black_box(Vec::<u8>::with_capacity(size));
        account.blocks += 1;
        account.bytes += size as u64;
    }
    account
}

/// Allocates so many blocks, and leaves them to the caller.
#[inline(never)]
pub fn workload_kept(blocks: u64) -> Vec<Box<[u8]>> {
    let mut kept = Vec::with_capacity(blocks as usize);
    for number in 0..blocks {
        kept.push(workload_one_kept(number));
    }
    kept
}

#[inline(never)]
fn workload_one_kept(number: u64) -> Box<[u8]> {
    black_box(vec![1u8; size_of_block(number)].into_boxed_slice())
}

/// Alignments, zeroes, growth and shrinkage, with contents that are looked at.
///
/// # Panics
/// If the allocator does not keep its word.
#[inline(never)]
pub fn workload_of_all_kinds(rounds: u64) {
    for round in 0..rounds {
        let align = 1 << (round % 13);
        let size = size_of_block(round);
        let layout = Layout::from_size_align(size, align).unwrap();
        // SAFETY: layouts with a size; blocks are used within it and freed once.
        unsafe {
            let block = alloc_zeroed(layout);
            check(block, align);
            assert!((0..size).all(|at| block.add(at).read() == 0), "zeroed");
            block.write_bytes(0xA5, size);
            let larger = realloc(block, layout, size * 2 + 40);
            check(larger, align);
            assert!((0..size).all(|at| larger.add(at).read() == 0xA5), "grown");
            larger.write_bytes(0x5A, size * 2 + 40);
            let layout = Layout::from_size_align(size * 2 + 40, align).unwrap();
            let smaller = realloc(larger, layout, size / 2 + 1);
            check(smaller, align);
            assert!((0..size / 2 + 1).all(|at| smaller.add(at).read() == 0x5A), "shrunk");
            let layout = Layout::from_size_align(size / 2 + 1, align).unwrap();
            let other = alloc(layout);
            check(other, align);
            other.write_bytes(0xFF, layout.size());
            dealloc(smaller, layout);
            dealloc(other, layout);
        }
    }
}

fn check(block: *mut u8, align: usize) {
    assert!(!block.is_null() && (block as usize).is_multiple_of(align), "aligned");
}
