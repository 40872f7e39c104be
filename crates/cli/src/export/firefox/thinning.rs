//! A fair share of the blocks, where all would be too many.
//!
//! Whether a block is in it depends on its number alone, and looks like chance: each is with the same
//! probability, so one that is stands for its inverse. That adds to the errors of the estimates.

/// More births than this are thinned to about as many: some 100 MB of JSON.
const MOST: u64 = 1_000_000;

/// Which blocks are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thinning {
    probability: f64,
}

impl Thinning {
    /// Of a trace with so many births.
    pub fn of(births: u64) -> Self {
        Self { probability: (MOST as f64 / births as f64).min(1.0) }
    }

    /// How many blocks one that is written stands for; nothing if this one is not.
    pub fn weight(self, index: u64) -> Option<f64> {
        let is_kept = self.probability == 1.0 || uniform(index) < self.probability;
        is_kept.then(|| 1.0 / self.probability)
    }

    /// What people should know of it.
    pub fn remark(self) -> Option<String> {
        let percent = self.probability * 100.0;
        (percent < 100.0).then(|| {
            format!("only {percent:.2} % of the sampled blocks are here, each for all those like it; intervals are wider than said")
        })
    }
}

/// In [0, 1): SplitMix64's finalizer, which is a bijection of the numbers.
fn uniform(index: u64) -> f64 {
    let mut bits = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_trace_is_whole() {
        for births in [0, 1, MOST] {
            let thinning = Thinning::of(births);
            assert!((0..1000).all(|index| thinning.weight(index) == Some(1.0)));
            assert_eq!(thinning.remark(), None);
        }
    }

    #[test]
    fn the_weights_of_those_that_are_kept_make_up_for_the_others() {
        let births = 4 * MOST;
        let thinning = Thinning::of(births);
        let kept: Vec<f64> = (0..births).filter_map(|index| thinning.weight(index)).collect();
        // Of a binomial number with this mean and a variance of 750,000; five sigma are 4330.
        assert!(kept.len().abs_diff(MOST as usize) < 4330, "{}", kept.len());
        assert!(kept.iter().all(|&weight| weight == 4.0));
        assert!(thinning.remark().unwrap().starts_with("only 25.00 %"));
    }
}
