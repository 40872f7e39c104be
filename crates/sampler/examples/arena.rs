//! A bump allocator for requests: each request's blocks lie one after the other, and are freed
//! together when it ends. `arena [--unsampled] [--interval BYTES] [BLOCKS]` serves requests, and compares what
//! the samples say with what was counted.
//!
//! The allocator is written once, for any [`Limits`]: with sampling these are the sampler's, without
//! they are the arena's own end. [`Bump::allocate`] is the same code, and `cargo xtask bench arena`
//! counts that it executes the same number of instructions.

use lifetrace_sampler::{Answer, Arena, Growth, Random, Rate};

/// Where an arena seems to end.
trait Limits {
    fn enter(&mut self, at: usize, end: usize) -> usize;
    fn ask(&mut self, at: usize, size: usize) -> Answer;
    fn limit(&self) -> usize;
    fn chance(&self, size: usize) -> f64;
}

impl Limits for Arena {
    fn enter(&mut self, at: usize, end: usize) -> usize {
        Arena::enter(self, at, end)
    }

    fn ask(&mut self, at: usize, size: usize) -> Answer {
        Arena::ask(self, at, size)
    }

    fn limit(&self) -> usize {
        Arena::limit(self)
    }

    fn chance(&self, size: usize) -> f64 {
        self.rate().chance(size)
    }
}

/// What a bump allocator does that knows nothing of sampling.
struct Unsampled {
    end: usize,
}

impl Limits for Unsampled {
    fn enter(&mut self, _: usize, end: usize) -> usize {
        self.end = end;
        end
    }

    fn ask(&mut self, at: usize, size: usize) -> Answer {
        if size > self.end - at { Answer::Full } else { Answer::Passes }
    }

    fn limit(&self) -> usize {
        self.end
    }

    fn chance(&self, _: usize) -> f64 {
        1.0
    }
}

/// A block that was sampled, and what it stands for.
struct Sample {
    size: usize,
    chance: f64,
}

struct Bump<L> {
    at: usize,
    limit: usize,
    limits: L,
    /// Of this request.
    samples: Vec<Sample>,
}

impl<L: Limits> Bump<L> {
    /// Addresses of its memory, which this example never touches.
    const START: usize = 0x1_0000_0000;
    const END: usize = Self::START + (1 << 20);

    fn new(mut limits: L) -> Self {
        let limit = limits.enter(Self::START, Self::END);
        Bump { at: Self::START, limit, limits, samples: Vec::new() }
    }

    /// A block of `size` bytes, a multiple of 8; `None` when the arena is full.
    #[inline(never)]
    fn allocate(&mut self, size: usize) -> Option<usize> {
        let after = self.at.wrapping_add(size);
        if after > self.limit {
            return self.allocate_at_limit(size);
        }
        Some(std::mem::replace(&mut self.at, after))
    }

    #[cold]
    #[inline(never)]
    fn allocate_at_limit(&mut self, size: usize) -> Option<usize> {
        match self.limits.ask(self.at, size) {
            Answer::Full => return None,
            Answer::Passes => {}
            Answer::Sampled(_) => {
                self.samples.push(Sample { size, chance: self.limits.chance(size) });
            }
        }
        self.limit = self.limits.limit();
        let after = self.at + size;
        Some(std::mem::replace(&mut self.at, after))
    }

    /// Frees all blocks, and gives the samples among them.
    fn reset(&mut self) -> Vec<Sample> {
        self.at = Self::START;
        self.limit = self.limits.enter(Self::START, Self::END);
        std::mem::take(&mut self.samples)
    }
}

/// What was allocated: all of it, and as the samples have it.
#[derive(Default)]
struct Account {
    blocks: u64,
    bytes: usize,
    samples: usize,
    estimated_blocks: f64,
    estimated_bytes: f64,
}

impl Account {
    fn add(&mut self, samples: &[Sample]) {
        self.samples += samples.len();
        for Sample { size, chance } in samples {
            self.estimated_blocks += 1.0 / chance;
            self.estimated_bytes += *size as f64 / chance;
        }
    }
}

/// Allocates so many blocks, in requests that are as large as the arena.
fn serve<L: Limits>(limits: L, blocks: u64) -> Account {
    let mut bump = Bump::new(limits);
    let mut account = Account::default();
    for block in 0..blocks {
        let size = [16, 32, 64, 248][block as usize % 4];
        if bump.allocate(size).is_none() {
            account.add(&bump.reset());
            bump.allocate(size).expect("an empty arena has room");
        }
        account.blocks += 1;
        account.bytes += size;
    }
    account.add(&bump.reset());
    account
}

fn sampled(rate: Rate) -> Arena {
    Arena::new(Growth::Up, rate, Random::new(1, 0))
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
    let account = if unsampled {
        serve(Unsampled { end: 0 }, blocks)
    } else {
        serve(sampled(Rate::every(interval)), blocks)
    };
    println!("{} blocks, {} bytes; {} samples", account.blocks, account.bytes, account.samples);
    if !unsampled {
        let (blocks, bytes) = (account.estimated_blocks, account.estimated_bytes);
        println!("from the samples: {blocks:.0} blocks, {bytes:.0} bytes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_rate_one_samples_are_exact() {
        let account = serve(sampled(Rate::ALWAYS), 100_000);
        assert_eq!((account.samples, account.blocks), (100_000, 100_000));
        assert_eq!(account.estimated_bytes, account.bytes as f64);
    }

    #[test]
    fn estimates_are_as_near_as_chance_allows() {
        const SIGMAS: f64 = 5.0;
        let account = serve(sampled(Rate::every(4096)), 1_000_000);
        let relative = (account.estimated_bytes / account.bytes as f64 - 1.0).abs();
        // No block is larger than an interval, so a sample stands for about one.
        let sigma = 1.0 / (account.samples as f64).sqrt();
        assert!(relative < SIGMAS * sigma, "off by {relative}, sigma {sigma}");
    }

    #[test]
    fn without_sampling_there_are_no_samples() {
        let account = serve(Unsampled { end: 0 }, 100_000);
        assert_eq!((account.samples, account.blocks), (0, 100_000));
    }
}
