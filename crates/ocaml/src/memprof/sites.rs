//! What is known of the places where OCaml code asks for memory.
//!
//! What it allocates there is said by the runtime's table of descriptors. But that has a word for each place to which a
//! call returns, and the descriptors of a large program are megabytes: two waits for memory at nearly each sample. Most
//! samples are where there were some before, so what these places allocate is kept close together, two places in a
//! cache line.
//!
//! It is kept for good: descriptors stay while their code does, and OCaml 4 unloads none.

use crate::descriptors::Descriptors;

/// Places that are kept; of two with the same hash the last one.
const KEPT: usize = 1 << HASH_BITS;
const HASH_BITS: u32 = 11;

/// Blocks of a place that is kept.
const FEW: usize = 16;

/// By the address to which the call for memory returns.
pub(super) struct Sites([Site; KEPT]);

/// No code at address 0 asks for memory.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Site {
    code: u64,
    blocks: Few,
}

/// Beyond the count they are 0.
#[derive(Clone, Copy)]
pub(super) struct Few {
    lengths: [u8; FEW],
    count: u8,
}

/// Of the blocks that are allocated together, see [`Descriptors::allocations`].
#[derive(Clone, Copy)]
pub(super) enum Lengths<'a> {
    Few(Few),
    Many(&'a [u8]),
}

impl Sites {
    /// None.
    pub(super) const fn new() -> Sites {
        let none = Site { code: 0, blocks: Few { lengths: [0; FEW], count: 0 } };
        Sites([none; KEPT])
    }

    /// Of the code that returns there.
    #[inline(always)]
    pub(super) fn lengths(&mut self, code: u64, descriptors: &Descriptors) -> Lengths<'static> {
        let site = &mut self.0[hash(code)];
        if site.code == code { Lengths::Few(site.blocks) } else { look_up(site, code, descriptors) }
    }
}

#[inline(never)]
fn look_up(site: &mut Site, code: u64, descriptors: &Descriptors) -> Lengths<'static> {
    let all = descriptors.allocations(code);
    if all.is_empty() || all.len() > FEW {
        return Lengths::Many(all);
    }
    let mut blocks = Few { lengths: [0; FEW], count: all.len() as u8 };
    blocks.lengths[..all.len()].copy_from_slice(all);
    *site = Site { code, blocks };
    Lengths::Few(blocks)
}

fn hash(code: u64) -> usize {
    (code.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - HASH_BITS)) as usize
}

impl Lengths<'_> {
    /// The number of fields of each, less one, lowest address first.
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        match self {
            Lengths::Few(Few { lengths, count }) => lengths.get(..(*count).into()).unwrap_or(&[]),
            Lengths::Many(all) => all,
        }
    }

    /// The words of all.
    #[inline(always)]
    pub(super) fn words(&self) -> u64 {
        match self {
            Lengths::Few(few) => few.words(),
            Lengths::Many(all) => words(all),
        }
    }

    /// The words of each, highest address first, and which one it is.
    #[inline(always)]
    pub(super) fn downwards(&self) -> impl Iterator<Item = (u32, u64)> {
        let blocks = self.bytes().iter().enumerate().rev();
        blocks.map(|(index, &length)| (index as u32, words_of(length)))
    }
}

impl Few {
    #[inline(always)]
    fn words(self) -> u64 {
        let lengths: u64 = self.lengths.into_iter().map(u64::from).sum();
        lengths + u64::from(self.count) * words_of(0)
    }
}

/// Of all.
#[inline(never)]
fn words(lengths: &[u8]) -> u64 {
    lengths.iter().copied().map(words_of).sum()
}

/// Of a block.
fn words_of(length: u8) -> u64 {
    u64::from(length) + 2
}

#[cfg(test)]
mod tests {
    use std::boxed::Box;
    use std::vec;
    use std::vec::Vec;

    use lifetrace_agent::random::Random;

    use super::*;
    use crate::descriptors::Descriptor;

    const CODES: u64 = 5_000;

    /// As the compiler leaves it: return address, size, live count, then the lengths.
    #[repr(C, align(8))]
    struct Bytes([u8; 32]);

    fn descriptor(code: u64) -> Bytes {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&code.to_le_bytes());
        bytes[8] = 32 | 2;
        bytes[12] = (code / 8 % 12) as u8;
        (13..32).for_each(|at| bytes[at] = (code / 8) as u8 ^ at as u8);
        Bytes(bytes)
    }

    #[test]
    fn what_is_kept_is_what_the_runtime_says() {
        let codes = || (1..=CODES).map(|index| 8 * index);
        let descriptors: Vec<Bytes> = codes().map(descriptor).collect();
        let mut table = vec![core::ptr::null::<Descriptor>(); 8192];
        for (index, descriptor) in descriptors.iter().enumerate() {
            table[index + 1] = (&raw const *descriptor).cast();
        }
        let (table, mask) = (table.as_ptr(), 8191u64);
        let descriptors = Descriptors { table: &raw const table, mask: &raw const mask };
        let (mut sites, mut random) = (Box::new(Sites::new()), Random::new(1, 7));
        for round in 0..100_000 {
            let among = if round % 2 == 0 { 60 } else { CODES + 9 };
            let code = 8 * (1 + random.word() % among);
            let lengths = sites.lengths(code, &descriptors);
            let allocations = descriptors.allocations(code);
            assert_eq!(lengths.bytes(), allocations);
            let words = allocations.iter().map(|&it| u64::from(it) + 2);
            assert_eq!(lengths.words(), words.clone().sum::<u64>());
            let downwards = words.enumerate().map(|(at, words)| (at as u32, words));
            assert!(lengths.downwards().eq(downwards.collect::<Vec<_>>().into_iter().rev()));
        }
        let kept = sites.0.iter().filter(|site| site.code != 0).count();
        assert!(kept > KEPT / 2, "{kept}");
    }
}
