//! The sampler against the exact distributions. Seeds are fixed, so a test that passes once passes
//! always; the bound is [`SIGMAS`] standard deviations, so a correct sampler with another seed would
//! fail one comparison in about two million.

use lifetrace_sampler::{Answer, Arena, Countdown, Growth, Random, Rate, WORD, footprint, words};

const SIGMAS: f64 = 5.0;

/// Hits of a block of `size` bytes.
fn allocate(countdown: &mut Countdown, size: usize) -> u64 {
    countdown.take(size).map_or(0, |hits| hits.get())
}

fn countdown(rate: f64, seed: u64, stream: u64) -> Countdown {
    Countdown::new(Rate::per_word(rate), Random::new(seed, stream))
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

/// Pearson's chi-squared, as standard deviations of a normal variable (Wilson and Hilferty, 1931).
#[track_caller]
fn check_chi_squared(squared: f64, freedom: usize, what: &str) {
    let freedom = freedom as f64;
    let spread = 2.0 / (9.0 * freedom);
    let sigmas = ((squared / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
    assert!(sigmas < SIGMAS, "{what}: chi-squared {squared} for {freedom}: {sigmas} sigmas");
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

/// In up to 100 classes that are as likely as whole numbers allow.
#[test]
fn gaps_fit_by_chi_squared() {
    const DRAWS: usize = 1_000_000;
    for rate in [1e-6f64, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9] {
        let log = (-rate).ln_1p();
        let mut ends: Vec<u64> =
            (1..100).map(|share| ((1.0 - share as f64 / 100.0).ln() / log) as u64 + 1).collect();
        ends.dedup();
        let (sampler, mut random) = (Rate::per_word(rate), Random::new(17, 4));
        let mut counts = vec![0u64; ends.len() + 1];
        for _ in 0..DRAWS {
            let gap = sampler.gap(&mut random);
            counts[ends.partition_point(|end| *end <= gap)] += 1;
        }
        let at_least = |gap: u64| (gap as f64 * log).exp();
        let class = |index: usize| {
            let start = if index == 0 { 1.0 } else { at_least(ends[index - 1]) };
            start - ends.get(index).map_or(0.0, |end| at_least(*end))
        };
        let classes = counts.iter().enumerate().map(|(index, count)| {
            let expected = DRAWS as f64 * class(index);
            (*count as f64 - expected).powi(2) / expected
        });
        check_chi_squared(classes.sum(), ends.len(), &format!("gaps at {rate}"));
    }
    let mut random = Random::new(17, 4);
    assert!((0..1000).all(|_| Rate::per_word(1.0).gap(&mut random) == 0));
}

/// A draw for each word, which is what the sampler stands in for.
fn naive_hits(rate: f64, random: &mut Random, size: usize) -> u64 {
    (0..words(size)).map(|_| u64::from(random.unit() <= rate)).sum()
}

const SIZES: [usize; 6] = [8, 16, 24, 64, 200, 1024];
const BLOCKS: usize = 300_000;
const MOST_HITS: usize = 5;

/// Blocks by size and hits, as `hits` decides.
fn table(mut hits: impl FnMut(usize) -> u64) -> Vec<f64> {
    let mut counts = vec![0.0; SIZES.len() * (MOST_HITS + 1)];
    for block in 0..BLOCKS {
        let size = block % SIZES.len();
        let hits = (hits(SIZES[size]) as usize).min(MOST_HITS);
        counts[size * (MOST_HITS + 1) + hits] += 1.0;
    }
    counts
}

/// Two tables of the same distribution: each cell as far from the mean of both as chance allows.
fn check_same(ours: &[f64], naive: &[f64], what: &str) {
    let cells = ours.iter().zip(naive).filter(|(ours, naive)| *ours + *naive > 50.0);
    let squares: Vec<_> =
        cells.map(|(ours, naive)| (ours - naive).powi(2) / (ours + naive)).collect();
    // At least one: where each word is hit, a size has one cell, and all are equal.
    let freedom = (squares.len() - SIZES.len()).max(1);
    check_chi_squared(squares.iter().sum(), freedom, what);
}

#[test]
fn a_countdown_is_as_good_as_a_draw_per_word() {
    for rate in [0.001, 0.02, 0.3, 1.0] {
        let mut random = Random::new(23, 1);
        let naive = table(|size| naive_hits(rate, &mut random, size));
        let mut thread = countdown(rate, 23, 2);
        let ours = table(|size| allocate(&mut thread, size));
        check_same(&ours, &naive, &format!("countdown at {rate}"));
    }
}

/// An arena of 4 KiB, in which blocks are placed until one does not fit.
#[test]
fn an_arena_that_is_reset_is_as_good_as_a_draw_per_word() {
    const START: usize = 0x10_0000;
    for rate in [0.001, 0.02, 0.3, 1.0] {
        let mut random = Random::new(29, 1);
        let naive = table(|size| naive_hits(rate, &mut random, size));
        let mut arena = Arena::new(Growth::Down, Rate::per_word(rate), Random::new(29, 2));
        let mut at = START;
        arena.enter(at, START - 4096);
        let ours = table(|size| {
            if at - size < START - 4096 {
                at = START;
                arena.enter(at, START - 4096);
            }
            let answer = (at - size < arena.limit()).then(|| arena.ask(at, size));
            at -= size;
            match answer {
                None | Some(Answer::Passes) => 0,
                Some(Answer::Sampled(hits)) => hits.get(),
                Some(Answer::Full) => unreachable!("it fits"),
            }
        });
        check_same(&ours, &naive, &format!("arena at {rate}"));
    }
}

#[test]
fn large_blocks_elsewhere_are_as_good_as_a_draw_per_word() {
    for rate in [0.001, 0.02, 0.3, 1.0] {
        let mut random = Random::new(31, 1);
        let naive = table(|size| naive_hits(rate, &mut random, size));
        let mut arena = Arena::new(Growth::Up, Rate::per_word(rate), Random::new(31, 2));
        let ours = table(|size| arena.elsewhere(size).map_or(0, |hits| hits.get()));
        check_same(&ours, &naive, &format!("elsewhere at {rate}"));
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
    let mut thread = countdown(rate, 99, size as u64);
    let (mut sampled, mut hits) = (0u32, 0u64);
    for _ in 0..blocks {
        let block = allocate(&mut thread, size);
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
    let mut thread = countdown(rate, 7, 0);
    let mut counts = [0u32; 21];
    for _ in 0..BLOCKS {
        counts[allocate(&mut thread, size) as usize] += 1;
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
    let mut thread = countdown(1.0, 1, 1);
    for size in [0, 1, 8, 100, 4096, 100 << 20] {
        assert_eq!(allocate(&mut thread, size), words(size));
    }
}

#[test]
fn the_same_seed_gives_the_same_samples() {
    let run = |seed| {
        let mut thread = countdown(1e-3, seed, 1);
        (0..1000).map(|size| allocate(&mut thread, size)).collect::<Vec<_>>()
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
            let mut thread = countdown(rate, 3, u64::from(thread));
            (0..10).map(|_| u32::from(allocate(&mut thread, size) > 0)).sum::<u32>()
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
