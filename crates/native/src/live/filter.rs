//! Which addresses may be those of sampled blocks: what every `free` looks at. \[UNSAFE\]
//!
//! An array of small counters, one byte each. A sampled block counts in the one that its address is
//! hashed to, so a zero says for certain that a block is no sample: no lock, no pointer to follow, no look at
//! the block. There are at least [`SPARSITY`] counters to a sample, so few other blocks meet a counter that is
//! not zero, each of which costs a look-up; and not many more, as they share the processor's cache with the
//! program.
//!
//! The counters that belong to one [`super::Shard`] are written under its lock, and read by anybody at any
//! time. One that has reached 255 stays there: all blocks that are hashed to it are looked up from then on.
//!
//! Alignment as a mark (`PROF_SAMPLE_ALIGNMENT` of jemalloc) was measured against this: `free` costs the
//! same, but blocks are no longer what the program's allocator would have given.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// Counters to a sample, at least.
pub(super) const SPARSITY: usize = 32;

/// Counters at the start, and at most.
const FEWEST: u32 = 1 << 12;
const MOST: u32 = 1 << 22;

/// 2^31 divided by the golden ratio, made odd: Knuth's multiplicative hashing. It has to fit the signed
/// 32-bit operand of a multiplication.
const FACTOR: i32 = 0x4F1B_BCDD;

/// One less than the number of counters in use, a power of two.
static MASK: AtomicU32 = AtomicU32::new(FEWEST - 1);

/// Memory that is never touched, apart from the counters in use.
static COUNTERS: Counters = Counters(UnsafeCell::new([0; MOST as usize]));

#[repr(C, align(4096))]
struct Counters(UnsafeCell<[u8; MOST as usize]>);

// SAFETY: each byte is accessed as an atomic, but for the one instruction that `may_be_sampled` reads it with.
unsafe impl Sync for Counters {}

/// How many counters are in use, less one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mask(u32);

impl Mask {
    /// At the start.
    pub(super) const FIRST: Mask = Mask(FEWEST - 1);

    /// What [`may_be_sampled`] goes by now.
    pub(super) fn in_use() -> Mask {
        Mask(MASK.load(Ordering::Relaxed))
    }

    /// Has [`may_be_sampled`] go by this one from now on.
    pub(super) fn publish(self) {
        MASK.store(self.0, Ordering::Release);
    }

    /// Whether these counters are too few for so many samples.
    pub(super) fn is_full(self, samples: usize) -> bool {
        samples * SPARSITY > self.0 as usize && self.0 < MOST - 1
    }

    /// That of twice as many counters.
    pub(super) fn doubled(self) -> Mask {
        Mask(self.0 << 1 | 1)
    }

    /// The counter of an address.
    pub(super) fn counter(self, hash: Hash) -> &'static AtomicU8 {
        // SAFETY: a mask is below the number of counters; atomic bytes have the layout of bytes.
        unsafe {
            let first = COUNTERS.0.get().cast::<AtomicU8>();
            &*first.add((hash.0 & self.0) as usize)
        }
    }

    /// Makes all counters zero.
    pub(super) fn clear(self) {
        for place in 0..=self.0 {
            self.counter(Hash(place)).store(0, Ordering::Relaxed);
        }
    }
}

/// An address, hashed. The low bits are as good as any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hash(pub(super) u32);

impl Hash {
    pub(super) fn of(address: usize) -> Hash {
        Hash((address.wrapping_mul(FACTOR as usize) >> 32) as u32)
    }
}

/// Whether a block may be a sample that lives. `false` is certain.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn may_be_sampled(address: *mut u8) -> bool {
    // SAFETY: reads two values of the filter, each whole, as relaxed loads would; a compiler does not make
    // them operands of other instructions. The hash is `Hash::of`, and stays below the number of counters.
    unsafe {
        core::arch::asm!(
            "imul {hash}, {address}, {factor}",
            "shr {hash}, 32",
            "and {hash:e}, dword ptr [rip + {mask}]",
            "lea {first}, [rip + {counters}]",
            "cmp byte ptr [{first} + {hash}], 0",
            "jne {maybe}",
            address = in(reg) address,
            hash = out(reg) _,
            first = out(reg) _,
            factor = const FACTOR,
            mask = sym MASK,
            counters = sym COUNTERS,
            maybe = label { return true },
            options(nostack, readonly),
        );
    }
    false
}

/// Whether a block may be a sample that lives. `false` is certain.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn may_be_sampled(address: *mut u8) -> bool {
    Mask::in_use().counter(Hash::of(address as usize)).load(Ordering::Relaxed) != 0
}

/// Counts a sample in a counter.
pub(super) fn count(counter: &AtomicU8) {
    let value = counter.load(Ordering::Relaxed);
    counter.store(value.saturating_add(1), Ordering::Release);
}

/// Takes a sample out of a counter in which it was counted.
pub(super) fn discount(counter: &AtomicU8) {
    let value = counter.load(Ordering::Relaxed);
    if value < u8::MAX {
        counter.store(value.saturating_sub(1), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of any size that an allocator places at multiples of it are spread over the counters.
    #[test]
    fn aligned_addresses_are_spread() {
        for step in [16, 48, 64, 4096, 1 << 16, 1 << 20, 1 << 22] {
            let places =
                (0..4096usize).map(|block| Hash::of(0x7f12_3456_0010 + block * step).0 & 1023);
            let mut counts = [0u32; 1024];
            places.for_each(|place| counts[place as usize] += 1);
            let most = counts.iter().max().unwrap();
            assert!(
                *most <= 16,
                "{most} blocks of {step} bytes in one of 1024 counters, 4 on average"
            );
        }
    }

    #[test]
    fn a_counter_that_is_full_stays_full() {
        let counter = AtomicU8::new(0);
        for _ in 0..300 {
            count(&counter);
        }
        for _ in 0..300 {
            discount(&counter);
        }
        assert_eq!(counter.load(Ordering::Relaxed), 255);
        let counter = AtomicU8::new(0);
        count(&counter);
        discount(&counter);
        discount(&counter);
        assert_eq!(counter.load(Ordering::Relaxed), 0);
    }
}
