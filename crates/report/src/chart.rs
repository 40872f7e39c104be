//! Charts of characters: bars for shares, and columns for what changes over time.

/// Eighths of a cell, from below and from the left.
const FROM_BELOW: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const FROM_LEFT: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// A bar that fills `share` of `width` cells; what is not nothing is seen.
pub fn bar(share: f64, width: usize) -> String {
    let eighths = if width > 0 { eighths(share, width) } else { 0 };
    let full = std::iter::repeat_n(FROM_LEFT[8], eighths / 8);
    full.chain((!eighths.is_multiple_of(8)).then(|| FROM_LEFT[eighths % 8])).collect()
}

/// Columns that fill shares of `height` lines, the upper line first.
pub fn columns(shares: &[f64], height: usize) -> Vec<String> {
    let filled: Vec<_> = shares.iter().map(|&share| eighths(share, height)).collect();
    let cell = |filled: usize, below: usize| FROM_BELOW[filled.saturating_sub(8 * below).min(8)];
    let line = |below: usize| filled.iter().map(|&filled| cell(filled, below)).collect::<String>();
    (0..height).rev().map(|below| line(below).trim_end().to_owned()).collect()
}

/// A chart of one line.
pub fn sparkline(shares: &[f64]) -> String {
    shares.iter().map(|&share| FROM_BELOW[eighths(share, 1)]).collect()
}

fn eighths(share: f64, cells: usize) -> usize {
    let all = 8.0 * cells as f64;
    let filled = (share.clamp(0.0, 1.0) * all).round();
    if share > 0.0 { filled.max(1.0) as usize } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_shares() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(1e-9, 3), "▏");
        assert_eq!(bar(1.0, 0), "");
        assert_eq!(bar(0.0, 3), "");
        assert_eq!(bar(7.0, 2), "██");
        assert_eq!(bar(f64::NAN, 2), "");
    }

    #[test]
    fn columns_stand_on_the_lowest_line() {
        assert_eq!(columns(&[0.0, 0.25, 0.5, 1.0], 2), ["   █", " ▄██"]);
        assert_eq!(sparkline(&[0.0, 0.001, 0.5, 1.0]), " ▁▄█");
    }
}
