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
}
