//! Shares the sum of lifetimes among classes of blocks, as evenly as they allow.

/// Blocks of which each lives at least and at most so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    pub blocks: u64,
    pub least: u64,
    pub most: u64,
}

/// How long blocks live: all `long`, and so many of them one unit longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub long: u64,
    pub longer: u64,
}

/// The shares, and whether they make up the sum; if that cannot be, they come as near as can be.
///
/// All blocks get the same lifetime, as far as their class allows.
pub fn share<const N: usize>(sum: u64, classes: [Class; N]) -> ([Share; N], bool) {
    let sum = u128::from(sum);
    let level = level(sum, &classes);
    let mut shares = classes.map(|class| Share { long: class.at(level), longer: 0 });
    let mut left = sum.saturating_sub(total(&classes, level));
    for (share, class) in shares.iter_mut().zip(&classes) {
        if share.long == level && level < class.most {
            share.longer = u64::try_from(left).unwrap_or(u64::MAX).min(class.blocks);
            left -= u128::from(share.longer);
        }
    }
    (shares, left == 0 && total(&classes, level) <= sum)
}

/// The longest lifetime with which the sum is not exceeded.
fn level(sum: u128, classes: &[Class]) -> u64 {
    let (mut low, mut high) = (0, classes.iter().map(|class| class.most).max().unwrap_or(0));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match total(classes, middle) <= sum {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

fn total(classes: &[Class], level: u64) -> u128 {
    classes.iter().map(|class| u128::from(class.blocks) * u128::from(class.at(level))).sum()
}

impl Class {
    fn at(&self, level: u64) -> u64 {
        level.min(self.most).max(self.least)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum_of<const N: usize>(shares: &[Share; N], classes: &[Class; N]) -> u128 {
        let each = shares.iter().zip(classes);
        each.map(|(share, class)| {
            u128::from(share.long) * u128::from(class.blocks) + u128::from(share.longer)
        })
        .sum()
    }

    #[test]
    fn without_bounds_all_live_equally_long() {
        let class = |blocks| Class { blocks, least: 0, most: 1000 };
        let (shares, fits) = share(107, [class(3), class(7)]);
        assert_eq!(shares, [Share { long: 10, longer: 3 }, Share { long: 10, longer: 4 }]);
        assert!(fits);
    }

    #[test]
    fn what_cannot_be_is_said() {
        let class = Class { blocks: 2, least: 5, most: 9 };
        assert_eq!(share(9, [class]), ([Share { long: 5, longer: 0 }], false));
        assert_eq!(share(19, [class]), ([Share { long: 9, longer: 0 }], false));
        assert_eq!(share(13, [class]), ([Share { long: 6, longer: 1 }], true));
        assert!(share(0, [Class { blocks: 0, least: 5, most: 9 }]).1);
    }

    proptest! {
        #[test]
        fn sums_are_kept_where_they_can_be(
            sum in 0..2000_u64,
            classes in proptest::array::uniform3((0..20_u64, 0..50_u64, 0..50_u64)),
        ) {
            let classes = classes.map(|(blocks, least, more)| Class { blocks, least, most: least + more });
            let (shares, fits) = share(sum, classes);
            let bounds = [0, u64::MAX].map(|level| total(&classes, level));
            prop_assert_eq!(fits, (bounds[0]..=bounds[1]).contains(&u128::from(sum)));
            prop_assert!(!fits || sum_of(&shares, &classes) == u128::from(sum));
            for (share, class) in shares.iter().zip(&classes) {
                prop_assert!(share.longer <= class.blocks);
                prop_assert!(class.blocks == 0 || share.long >= class.least);
                prop_assert!(share.long + u64::from(share.longer > 0) <= class.most);
            }
        }
    }
}
