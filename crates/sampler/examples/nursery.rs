//! A nursery as generational collectors have it: blocks are placed downwards in a small arena, and
//! when that is full, those that can be reached are copied out of it, are *promoted*. Samples are followed:
//! they are born, promoted or dead. `nursery [--unsampled] [--interval BYTES] [BLOCKS]` builds lists, most of
//! which are garbage soon, and compares what the samples say with what was counted.
//!
//! Without sampling [`Nursery::allocate`] is the same code with the arena's own end for a limit, and
//! `cargo xtask bench arena` counts that it executes the same number of instructions.
//!
//! A block is a header and its fields, in words. An odd word is a header or a number; an even one is the
//! address of a block, or 0; an even word in place of a header says where the block has gone. Blocks
//! never change, so no old block refers to a young one.

use lifetrace_sampler::{Answer, Arena, Growth, Random, Rate};

/// Words of the nursery. Its addresses begin at [`YOUNG`], so that 0 is none of them.
const WORDS: usize = 32 << 10;
const YOUNG: usize = 1 << 20;
const YOUNG_TOP: usize = YOUNG + WORDS * 8;

/// Where old blocks begin.
const OLD: usize = 1 << 40;

/// A value that refers to no block.
const NIL: u64 = 0;

/// What becomes of samples, and what was counted beside them.
#[derive(Debug, Default, PartialEq)]
struct Events {
    sampled: u64,
    promoted: u64,
    died_young: u64,
    /// Bytes that were promoted, as the samples have it.
    estimated_promoted: f64,
    blocks: u64,
    promoted_bytes: u64,
}

/// A block that is followed.
struct Sample {
    address: usize,
    bytes: usize,
    chance: f64,
}

struct Nursery {
    at: usize,
    limit: usize,
    /// None: does not sample.
    sampler: Option<Arena>,
    young: Vec<u64>,
    old: Vec<u64>,
    /// Samples in the nursery.
    samples: Vec<Sample>,
    events: Events,
}

impl Nursery {
    fn new(sampler: Option<Arena>) -> Self {
        let mut nursery = Nursery {
            at: YOUNG_TOP,
            limit: YOUNG,
            sampler,
            young: vec![0; WORDS],
            old: Vec::new(),
            samples: Vec::new(),
            events: Events::default(),
        };
        nursery.empty();
        nursery
    }

    /// A block with two fields, which are kept alive by `roots`.
    fn pair(&mut self, roots: &mut [u64], number: u64) -> u64 {
        let address = self.allocate(3 * 8, roots);
        let first = (address - YOUNG) / 8;
        let tail = roots.first().copied().unwrap_or(NIL);
        self.young[first..first + 3].copy_from_slice(&[2 << 1 | 1, number << 1 | 1, tail]);
        self.events.blocks += 1;
        address as u64
    }

    /// Room for `bytes`, a multiple of 8. All there is to sampling is that `limit` may lie higher.
    #[inline(never)]
    fn allocate(&mut self, bytes: usize, roots: &mut [u64]) -> usize {
        let address = self.at.wrapping_sub(bytes);
        if address < self.limit {
            return self.allocate_at_limit(bytes, roots);
        }
        self.at = address;
        address
    }

    #[cold]
    #[inline(never)]
    fn allocate_at_limit(&mut self, bytes: usize, roots: &mut [u64]) -> usize {
        loop {
            let answer = match &mut self.sampler {
                Some(sampler) => sampler.ask(self.at, bytes),
                None if self.at - YOUNG < bytes => Answer::Full,
                None => Answer::Passes,
            };
            if answer != Answer::Full {
                self.at -= bytes;
                if let Answer::Sampled(_) = answer {
                    self.follow(bytes);
                }
                self.limit = self.sampler.as_ref().map_or(YOUNG, Arena::limit);
                return self.at;
            }
            self.collect(roots);
        }
    }

    fn follow(&mut self, bytes: usize) {
        let chance = self.sampler.as_ref().map_or(1.0, |sampler| sampler.rate().chance(bytes));
        self.samples.push(Sample { address: self.at, bytes, chance });
        self.events.sampled += 1;
    }

    /// Promotes what can be reached, after Cheney (1970), tells of the samples, and empties the nursery.
    fn collect(&mut self, roots: &mut [u64]) {
        let mut scanned = self.old.len();
        for root in roots {
            *root = self.promote(*root);
        }
        while let Some(word) = self.old.get(scanned).copied() {
            self.old[scanned] = self.promote(word);
            scanned += 1;
        }
        for sample in std::mem::take(&mut self.samples) {
            if is_block(self.young[(sample.address - YOUNG) / 8]) {
                self.events.promoted += 1;
                self.events.estimated_promoted += sample.bytes as f64 / sample.chance;
            } else {
                self.events.died_young += 1;
            }
        }
        self.empty();
    }

    /// What refers to the block that `word` refers to, if that is young, once it is old.
    fn promote(&mut self, word: u64) -> u64 {
        if !is_block(word) || word as usize >= OLD {
            return word;
        }
        let first = (word as usize - YOUNG) / 8;
        let header = self.young[first];
        if is_block(header) {
            return header;
        }
        let gone = (OLD + self.old.len() * 8) as u64;
        let block = first..first + 1 + (header >> 1) as usize;
        self.events.promoted_bytes += block.len() as u64 * 8;
        self.old.extend_from_slice(&self.young[block]);
        self.young[first] = gone;
        gone
    }

    fn empty(&mut self) {
        self.at = YOUNG_TOP;
        self.limit = self.sampler.as_mut().map_or(YOUNG, |it| it.enter(YOUNG_TOP, YOUNG));
    }
}

fn is_block(word: u64) -> bool {
    word != NIL && word & 1 == 0
}

/// Builds lists of 100; every hundredth is kept.
fn build(sampler: Option<Arena>, blocks: u64) -> Events {
    let mut nursery = Nursery::new(sampler);
    // The list that is being built, and those that are kept.
    let mut roots = vec![NIL];
    for block in 0..blocks {
        roots[0] = nursery.pair(&mut roots, block);
        if block % 100 == 99 {
            if block % 10_000 == 99 {
                roots.push(roots[0]);
            }
            roots[0] = NIL;
        }
    }
    nursery.collect(&mut roots);
    nursery.events
}

fn sampler(rate: Rate) -> Arena {
    Arena::new(Growth::Down, rate, Random::new(1, 0))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut unsampled, mut interval, mut blocks) = (false, 512 << 10, 10_000_000);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--unsampled" => unsampled = true,
            "--interval" => interval = words.next().ok_or("--interval BYTES")?.parse()?,
            number => blocks = number.parse()?,
        }
    }
    let events = build((!unsampled).then(|| sampler(Rate::every(interval))), blocks);
    println!("{} blocks; {} bytes were promoted", events.blocks, events.promoted_bytes);
    if !unsampled {
        let Events { sampled, promoted, died_young, estimated_promoted, .. } = events;
        println!("{sampled} samples: {promoted} promoted, {died_young} died young");
        println!("from the samples: {estimated_promoted:.0} bytes were promoted");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: u64 = 500_000;

    #[test]
    fn at_rate_one_every_block_and_promotion_is_told() {
        let events = build(Some(sampler(Rate::ALWAYS)), BLOCKS);
        assert_eq!(events.sampled, BLOCKS);
        assert_eq!(events.promoted + events.died_young, BLOCKS);
        assert_eq!(events.promoted * 24, events.promoted_bytes);
        assert_eq!(events.estimated_promoted, events.promoted_bytes as f64);
        // 50 lists are kept, and few others are caught by a collection.
        assert!((5_000..10_000).contains(&events.promoted), "{} promoted", events.promoted);
    }

    #[test]
    fn sampling_changes_nothing_else() {
        let without = build(None, BLOCKS);
        let with = build(Some(sampler(Rate::every(4096))), BLOCKS);
        assert_eq!((without.sampled, without.blocks), (0, BLOCKS));
        assert_eq!(without.promoted_bytes, with.promoted_bytes);
        assert_eq!(with.sampled, with.promoted + with.died_young);
    }

    #[test]
    fn promotion_is_estimated_as_near_as_chance_allows() {
        const SIGMAS: f64 = 5.0;
        let events = build(Some(sampler(Rate::every(256))), BLOCKS);
        let promoted = events.promoted_bytes as f64;
        let relative = (events.estimated_promoted / promoted - 1.0).abs();
        let sigma = 1.0 / (promoted / 256.0).sqrt();
        assert!(relative < SIGMAS * sigma, "off by {relative}, sigma {sigma}");
    }
}
