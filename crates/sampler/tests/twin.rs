//! Countdowns and arenas against a naive twin that goes word by word: from the same stream of gaps,
//! the same blocks must be sampled with the same number of hits, whatever an allocator does. That gaps
//! are what a draw per word would lead to is in `distribution.rs`.

use lifetrace_sampler::{Answer, Arena, Countdown, Growth, Random, Rate, words};
use proptest::prelude::*;

/// Goes through blocks word by word.
struct Naive {
    rate: Rate,
    random: Random,
    gap: u64,
}

impl Naive {
    fn new(rate: Rate, random: Random) -> Self {
        Naive { rate, random, gap: 0 }
    }

    fn restart(&mut self) {
        self.gap = self.rate.gap(&mut self.random);
    }

    fn hits(&mut self, words: u64) -> u64 {
        let mut hits = 0;
        for _ in 0..words {
            if self.gap == 0 {
                hits += 1;
                // Where every word is hit, the rest of a block is not drawn.
                if self.rate.probability() < 1.0 {
                    self.restart();
                }
            } else {
                self.gap -= 1;
            }
        }
        hits
    }
}

const START: usize = 0x7000_0000;

/// A bump allocator that does what the documentation says.
struct Bump {
    arena: Arena,
    growth: Growth,
    at: usize,
    end: usize,
    limit: usize,
}

impl Bump {
    fn new(growth: Growth, rate: Rate, random: Random) -> Self {
        let arena = Arena::new(growth, rate, random);
        Bump { growth, at: START, end: START, limit: arena.limit(), arena }
    }

    fn enter(&mut self, bytes: usize) {
        self.at = START;
        self.end = match self.growth {
            Growth::Up => START + bytes,
            Growth::Down => START - bytes,
        };
        self.limit = self.arena.enter(self.at, self.end);
    }

    /// The hits of a block, if it fits.
    fn allocate(&mut self, size: usize) -> Option<u64> {
        let passes = match self.growth {
            Growth::Up => self.at + size <= self.limit,
            Growth::Down => self.at - size >= self.limit,
        };
        let hits = if passes { 0 } else { self.slow(size)? };
        match self.growth {
            Growth::Up => self.at += size,
            Growth::Down => self.at -= size,
        }
        Some(hits)
    }

    fn slow(&mut self, size: usize) -> Option<u64> {
        let answer = self.arena.ask(self.at, size);
        self.limit = self.arena.limit();
        match answer {
            Answer::Full => None,
            Answer::Passes => Some(0),
            Answer::Sampled(hits) => Some(hits.get()),
        }
    }

    fn room(&self) -> usize {
        self.at.abs_diff(self.end)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Allocate { words: usize },
    Elsewhere { size: usize },
    Enter { words: usize },
    Rate(f64),
    Interrupt,
}

fn rate() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), 0.0005..0.9f64, 1e-9..1e-4f64]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (1usize..40).prop_map(|words| Step::Allocate { words }),
        1 => (1usize..5000).prop_map(|words| Step::Allocate { words }),
        1 => (0usize..20_000).prop_map(|size| Step::Elsewhere { size }),
        1 => (0usize..4000).prop_map(|words| Step::Enter { words }),
        1 => rate().prop_map(Step::Rate),
        1 => Just(Step::Interrupt),
    ]
}

proptest! {
    #[test]
    fn a_countdown_samples_the_same_blocks(
        rate in rate(),
        sizes in prop::collection::vec(0usize..3000, 1..300),
        seed: u64,
    ) {
        let (rate, random) = (Rate::per_word(rate), Random::new(seed, 0));
        let (mut countdown, mut naive) = (Countdown::new(rate, random), Naive::new(rate, random));
        naive.restart();
        for size in sizes {
            let hits = countdown.take(size).map_or(0, |hits| hits.get());
            prop_assert_eq!(hits, naive.hits(words(size)), "{} bytes", size);
        }
    }

    #[test]
    fn an_arena_samples_the_same_blocks(
        down: bool,
        first in rate(),
        steps in prop::collection::vec(step(), 1..300),
        seed: u64,
    ) {
        let growth = if down { Growth::Down } else { Growth::Up };
        let (rate, random) = (Rate::per_word(first), Random::new(seed, 0));
        let (mut bump, mut naive) = (Bump::new(growth, rate, random), Naive::new(rate, random));
        prop_assert_eq!(bump.allocate(8), None, "there is no arena yet");
        bump.enter(800);
        naive.restart();
        for step in steps {
            match step {
                Step::Allocate { words } => {
                    let room = bump.room();
                    let hits = bump.allocate(words * 8);
                    prop_assert_eq!(hits.is_some(), words * 8 <= room, "{} words", words);
                    if let Some(hits) = hits {
                        prop_assert_eq!(hits, naive.hits(words as u64), "{} words", words);
                    }
                }
                Step::Elsewhere { size } => {
                    let mut other = Naive::new(naive.rate, naive.random);
                    other.restart();
                    let hits = bump.arena.elsewhere(size).map_or(0, |hits| hits.get());
                    prop_assert_eq!(hits, other.hits(words(size)), "{} bytes elsewhere", size);
                    naive.random = other.random;
                }
                Step::Enter { words } => {
                    bump.enter(words * 8);
                    naive.restart();
                }
                Step::Rate(rate) => {
                    naive.rate = Rate::per_word(rate);
                    bump.limit = bump.arena.set_rate(naive.rate, bump.at);
                    naive.restart();
                }
                Step::Interrupt => bump.limit = bump.at,
            }
        }
    }
}

#[test]
fn what_never_hits_has_the_arenas_own_end_for_a_limit() {
    for growth in [Growth::Up, Growth::Down] {
        let mut bump = Bump::new(growth, Rate::NEVER, Random::new(1, 1));
        bump.enter(4096);
        assert_eq!(bump.limit, bump.end);
        assert_eq!((bump.allocate(4096), bump.allocate(8)), (Some(0), None));
        assert_eq!(bump.arena.elsewhere(1 << 40), None);
        bump.enter(16);
        bump.limit = bump.arena.set_rate(Rate::ALWAYS, bump.at);
        assert_eq!(bump.limit, bump.at);
        assert_eq!(bump.allocate(16), Some(2));
        assert_eq!(bump.arena.elsewhere(100), Some(13.try_into().unwrap()));
    }
}

#[test]
fn arenas_at_the_ends_of_memory_do_not_overflow() {
    for (growth, at, end) in [(Growth::Up, usize::MAX - 63, usize::MAX), (Growth::Down, 64, 0)] {
        for rate in [Rate::NEVER, Rate::per_word(1e-12)] {
            let mut arena = Arena::new(growth, rate, Random::new(1, 1));
            assert_eq!(arena.enter(at, end), end);
            assert_eq!(arena.ask(at, 72), Answer::Full);
            assert_eq!(arena.ask(at, usize::MAX), Answer::Full);
            assert_eq!(arena.ask(at, 56), Answer::Passes);
        }
    }
}

#[test]
fn an_idle_countdown_samples_nothing_until_it_has_a_rate() {
    static IDLE: Countdown = Countdown::idle(Random::new(3, 3));
    let mut countdown = IDLE.clone();
    for _ in 0..100 {
        assert_eq!(countdown.take(1 << 60), None);
    }
    countdown.set_rate(Rate::ALWAYS);
    assert_eq!(countdown.take(17), Some(3.try_into().unwrap()));
    countdown.set_rate(Rate::NEVER);
    assert_eq!(countdown.take(17), None);
}

/// Blocks of odd sizes, of which the caller was warned, are sampled when a word begins in them.
#[test]
fn odd_sizes_still_add_up() {
    let mut arena = Arena::new(Growth::Up, Rate::ALWAYS, Random::new(1, 1));
    let mut at = 0x1000;
    arena.enter(at, at + 4096);
    let mut hits = 0;
    while let Answer::Sampled(more) = arena.ask(at, 12) {
        (at, hits) = (at + 12, hits + more.get());
    }
    assert!(at > 0x1000);
    assert!(hits >= (at as u64 - 0x1000) / 8, "{hits} hits in {} bytes", at - 0x1000);
}
