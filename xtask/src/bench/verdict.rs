//! Whether what was measured is within its limit.

use super::spread::{median, median_interval};

/// Says whether the middle of `ratios` is within its limit, as far as they are enough to say so.
pub fn verdict(ratios: &[f64], limit: f64) -> String {
    let middle = median(ratios.iter().copied()).unwrap_or(f64::NAN);
    let is_within = if middle <= limit { "within" } else { "BEYOND" };
    let Some([low, high]) = median_interval(ratios.iter().copied()) else {
        return format!(
            "{middle:.4}, {is_within} the limit of {limit:.2}; too few rounds to be sure"
        );
    };
    let sure = if (low..=high).contains(&limit) { ", undecided" } else { "" };
    format!("{middle:.4} (95 %: {low:.4} to {high:.4}), {is_within} the limit of {limit:.2}{sure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_inside_the_interval_is_undecided() {
        let ratios = [1.02, 1.04, 1.05, 1.05, 1.06, 1.06, 1.06, 1.07, 1.2];
        let said = "1.0600 (95 %: 1.0400 to 1.0700), BEYOND the limit of 1.03";
        assert_eq!(verdict(&ratios, 1.03), said);
        let said = "1.0600 (95 %: 1.0400 to 1.0700), BEYOND the limit of 1.05, undecided";
        assert_eq!(verdict(&ratios, 1.05), said);
        let said = "1.0600 (95 %: 1.0400 to 1.0700), within the limit of 1.10";
        assert_eq!(verdict(&ratios, 1.10), said);
        let said = "1.0400, within the limit of 1.10; too few rounds to be sure";
        assert_eq!(verdict(&ratios[..3], 1.10), said);
    }
}
