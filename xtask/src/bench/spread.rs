//! The middle of repeated measurements, and how far they lie apart.

/// Median and quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// A quarter lies below.
    pub low: f64,
    /// Half lies below.
    pub median: f64,
    /// A quarter lies above.
    pub high: f64,
}

/// The spread of `values`, between which it interpolates; nothing if there are none.
pub fn spread(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    if values.is_empty() {
        return None;
    }
    Some(Spread {
        low: quantile(&values, 0.25),
        median: quantile(&values, 0.5),
        high: quantile(&values, 0.75),
    })
}

/// The middle of `values` alone.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    spread(values).map(|spread| spread.median)
}

/// Between which two of `values` the median of all that could have been measured lies, with a probability
/// of at least 95 %; nothing if they are too few to say, or more than a thousand.
///
/// Whatever their distribution: the number of values below that median is binomial. (H. A. David and
/// H. N. Nagaraja, "Order Statistics", section 7.1)
pub fn median_interval(values: impl IntoIterator<Item = f64>) -> Option<[f64; 2]> {
    const BEYOND_EITHER_END: f64 = 0.025;
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let count = Some(values.len()).filter(|count| *count <= 1_000)?;
    // That exactly `left_out` values are below the median, and that at most so many are.
    let mut exactly = 0.5f64.powi(count as i32);
    let (mut left_out, mut at_most) = (0, exactly);
    while at_most <= BEYOND_EITHER_END {
        left_out += 1;
        exactly *= (count + 1 - left_out) as f64 / left_out as f64;
        at_most += exactly;
    }
    let first = left_out.checked_sub(1)?;
    Some([values[first], values[count - 1 - first]])
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_values() {
        let expected = Spread { low: 2.0, median: 3.0, high: 4.0 };
        assert_eq!(spread([5.0, 1.0, 4.0, 2.0, 3.0]), Some(expected));
        let expected = Spread { low: 1.25, median: 1.5, high: 1.75 };
        assert_eq!(spread([2.0, 1.0]), Some(expected));
        assert_eq!(spread([]), None);
        assert_eq!(median([7.0]), Some(7.0));
    }

    /// Of 9 and of 20 values, the second ones and the sixth ones from either end (tables of the sign test).
    #[test]
    fn the_interval_of_a_median_leaves_out_as_many_at_either_end_as_it_may() {
        let interval = |count: u32| median_interval((1..=count).rev().map(f64::from));
        assert_eq!(interval(5), None);
        assert_eq!(interval(6), Some([1.0, 6.0]));
        assert_eq!(interval(9), Some([2.0, 8.0]));
        assert_eq!(interval(20), Some([6.0, 15.0]));
        assert_eq!((interval(0), interval(1_001)), (None, None));
        assert_eq!(interval(1_000), Some([469.0, 532.0]));
    }

    #[test]
    fn the_interval_has_the_median_in_it_as_often_as_it_says() {
        let mut random = fastrand::Rng::with_seed(1);
        let is_in = |random: &mut fastrand::Rng| {
            let [low, high] = median_interval((0..15).map(|_| random.f64().powi(3))).unwrap();
            (low..=high).contains(&0.125)
        };
        let hits = (0..10_000).filter(|_| is_in(&mut random)).count();
        // 12 of 15 and less: the probability is 0.9648.
        assert!((9_590..=9_705).contains(&hits), "{hits}");
    }
}
