//! What the profiler was told, as far as it changes what its numbers mean.

/// Options, from the line `desc:`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// How many percent of the peak may be missing.
    pub peak_inaccuracy: f64,
    /// Backtraces have no more frames.
    pub depth: usize,
    /// Pages are counted, not blocks.
    pub pages_as_heap: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { peak_inaccuracy: 1.0, depth: 30, pages_as_heap: false }
    }
}

impl Options {
    /// Those that are not in the line have their usual values.
    pub fn parse(line: &str) -> Self {
        let mut options = Self::default();
        let pairs = line.split_ascii_whitespace().filter_map(|word| word.split_once('='));
        for (name, value) in pairs {
            match name {
                "--peak-inaccuracy" => {
                    options.peak_inaccuracy = value.parse().unwrap_or(options.peak_inaccuracy);
                }
                "--depth" => options.depth = value.parse().unwrap_or(options.depth),
                "--pages-as-heap" => options.pages_as_heap = value == "yes",
                _ => {}
            }
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_counts() {
        assert_eq!(Options::parse("(none)"), Options::default());
        assert_eq!(
            Options::parse(
                "--massif-out-file=x --depth=7 --peak-inaccuracy=0.0 --pages-as-heap=yes"
            ),
            Options { peak_inaccuracy: 0.0, depth: 7, pages_as_heap: true }
        );
        assert_eq!(Options::parse("--depth=x --pages-as-heap=no"), Options::default());
    }
}
