//! The sampler against the exact distributions. Seeds are fixed, so a test that passes once passes
//! always; the bound is [`SIGMAS`] standard deviations, so a correct sampler with another seed would
//! fail one comparison in about two million.

use lifetrace_sampler::{Random, Rate, WORD, footprint, words};

const SIGMAS: f64 = 5.0;

/// A thread's countdown, in words, as the agent keeps it.
struct Countdown {
    rate: Rate,
    random: Random,
    words: i64,
}

impl Countdown {
    fn new(rate: f64, seed: u64, stream: u64) -> Self {
        let rate = Rate::per_word(rate);
        let mut random = Random::new(seed, stream);
        let words = rate.gap(&mut random) as i64;
        Countdown { rate, random, words }
    }

    /// Hits of a block of `size` bytes.
    fn allocate(&mut self, size: usize) -> u64 {
        self.words -= words(size) as i64;
        if self.words >= 0 {
            return 0;
        }
        let hits = self.rate.hits(&mut self.random, (-self.words - 1) as u64);
        self.words = hits.gap as i64;
        hits.count
    }
}

#[track_caller]
fn check_mean(observed: f64, expected: f64, variance: f64, what: &str) {
    let distance = (observed - expected).abs();
    assert!(
        distance <= SIGMAS * variance.sqrt() + 1e-9,
        "{what}: {observed} instead of {expected} ± {}",
        variance.sqrt()
    );
}

#[test]
fn words_round_up_and_are_at_least_one() {
    let expected = [(0, 1), (1, 1), (7, 1), (8, 1), (9, 2), (16, 2), (17, 3), (4096, 512)];
    for (size, count) in expected {
        assert_eq!((words(size), footprint(size)), (count, (count * WORD) as usize));
    }
}

#[test]
fn gaps_are_geometric() {
    const DRAWS: u64 = 1_000_000;
    for rate in [0.01, 0.13, 0.42, 0.73] {
        let (sampler, mut random) = (Rate::per_word(rate), Random::new(11, 3));
        let mut counts = [0u64; 8];
        let mut sum = 0.0;
        for _ in 0..DRAWS {
            let gap = sampler.gap(&mut random);
            sum += gap as f64;
            if let Some(count) = counts.get_mut(gap as usize) {
                *count += 1;
            }
        }
        let draws = DRAWS as f64;
        for (gap, count) in counts.iter().enumerate() {
            let p = (1.0f64 - rate).powi(gap as i32) * rate;
            check_mean(*count as f64, draws * p, draws * p * (1.0 - p), &format!("{rate} {gap}"));
        }
        let variance = (1.0 - rate) / (rate * rate);
        check_mean(sum / draws, (1.0 - rate) / rate, variance / draws, "mean gap");
    }
}

/// Kolmogorov and Smirnov's distance to the exact distribution, where single values are too rare to
/// count. The bound is the distance that a correct sampler exceeds once in a million.
#[test]
fn long_gaps_fit_the_distribution() {
    const DRAWS: usize = 200_000;
    for rate in [1e-3, 1e-6, 1e-9] {
        let (sampler, mut random) = (Rate::per_word(rate), Random::new(5, 1));
        let mut gaps: Vec<u64> = (0..DRAWS).map(|_| sampler.gap(&mut random)).collect();
        gaps.sort_unstable();
        let mut distance: f64 = 0.0;
        for (index, gap) in gaps.iter().enumerate() {
            let at_most = -((*gap as f64 + 1.0) * (-rate).ln_1p()).exp_m1();
            let below = -((*gap as f64) * (-rate).ln_1p()).exp_m1();
            distance = distance.max(index as f64 / DRAWS as f64 - at_most);
            distance = distance.max(below - (index + 1) as f64 / DRAWS as f64);
        }
        let bound = (0.5 * (2.0f64 / 1e-6).ln() / DRAWS as f64).sqrt();
        assert!(distance < bound, "rate {rate}: distance {distance}, bound {bound}");
    }
}

#[test]
fn blocks_of_any_size_are_sampled_with_their_probability() {
    for per_byte in [1e-6, 1e-5, 1e-3, 0.1] {
        let rate = -(8.0 * f64::ln_1p(-per_byte)).exp_m1();
        for (size, blocks) in [(0, 400_000), (1, 400_000), (16, 400_000), (4096, 50_000)] {
            check_blocks(rate, size, blocks);
        }
        check_blocks(rate, 100 << 20, 50);
    }
}

fn check_blocks(rate: f64, size: usize, blocks: u32) {
    let mut countdown = Countdown::new(rate, 99, size as u64);
    let (mut sampled, mut hits) = (0u32, 0u64);
    for _ in 0..blocks {
        let block = countdown.allocate(size);
        sampled += u32::from(block > 0);
        hits += block;
    }
    let (n, w) = (f64::from(blocks), words(size) as f64);
    let p = -(w * (-rate).ln_1p()).exp_m1();
    let what = format!("{blocks} blocks of {size} bytes at {rate}");
    check_mean(f64::from(sampled), n * p, n * p * (1.0 - p), &what);
    check_mean(hits as f64, n * w * rate, n * w * rate * (1.0 - rate), &format!("hits, {what}"));
}

#[test]
fn hits_of_a_block_are_binomial() {
    const BLOCKS: u32 = 200_000;
    let (rate, size) = (0.05, 160);
    let mut countdown = Countdown::new(rate, 7, 0);
    let mut counts = [0u32; 21];
    for _ in 0..BLOCKS {
        counts[countdown.allocate(size) as usize] += 1;
    }
    let mut p = (1.0f64 - rate).powi(20);
    for (hits, count) in counts.iter().enumerate() {
        let n = f64::from(BLOCKS);
        check_mean(f64::from(*count), n * p, (n * p * (1.0 - p)).max(1.0), &format!("{hits} hits"));
        p *= (20 - hits) as f64 / (hits + 1) as f64 * rate / (1.0 - rate);
    }
}

#[test]
fn at_rate_one_every_word_is_hit() {
    let mut countdown = Countdown::new(1.0, 1, 1);
    for size in [0, 1, 8, 100, 4096, 100 << 20] {
        assert_eq!(countdown.allocate(size), words(size));
        assert_eq!(countdown.words, 0);
    }
}

#[test]
fn the_same_seed_gives_the_same_samples() {
    let run = |seed| {
        let mut countdown = Countdown::new(1e-3, seed, 1);
        (0..1000).map(|size| countdown.allocate(size)).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// Threads that allocate ten blocks and end are sampled as one that allocates them all.
#[test]
fn short_threads_do_not_bias() {
    const THREADS: u32 = 100_000;
    let (rate, size) = (1.0 / 1000.0, 64);
    let sampled: u32 = (0..THREADS)
        .map(|thread| {
            let mut countdown = Countdown::new(rate, 3, u64::from(thread));
            (0..10).map(|_| u32::from(countdown.allocate(size) > 0)).sum::<u32>()
        })
        .sum();
    let n = f64::from(THREADS) * 10.0;
    let p = 1.0 - (1.0f64 - rate).powi(8);
    check_mean(f64::from(sampled), n * p, n * p * (1.0 - p), "samples of short threads");
}

#[test]
fn thinning_keeps_the_share_of_the_words() {
    const ROUNDS: u32 = 100_000;
    let (rate, mut random) = (Rate::per_word(0.01), Random::new(2, 2));
    let (count, kept, of) = (7u64, 30u64, 100u64);
    let sum: u64 = (0..ROUNDS).map(|_| rate.thin(&mut random, count, kept, of)).sum();
    let share = kept as f64 / of as f64;
    // Hypergeometric.
    let variance = count as f64 * share * (1.0 - share) * (of - count) as f64 / (of - 1) as f64;
    let n = f64::from(ROUNDS);
    check_mean(sum as f64, n * count as f64 * share, n * variance, "hits that stay");
    assert_eq!(Rate::per_word(1.0).thin(&mut random, 10, 4, 10), 4);
    assert_eq!(rate.thin(&mut random, 5, 0, 10), 0);
    assert_eq!(rate.thin(&mut random, 10, 4, 10), 4);
}
