//! Why backtraces lack their outermost frames, by where they end. That is written in the end, with counts.

use std::sync::Arc;

use lifetrace_transport::codec::MAX_FRAMES;
use rustc_hash::FxHashMap;

/// Files that are named, those at which most backtraces end.
const MOST_FILES: usize = 8;

/// Files that are counted.
const MOST_COUNTED: usize = 1024;

/// Where a backtrace that is cut off ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// At code of no file: it was made at run time.
    AtMadeCode,
    /// At code of this file, which says nothing of its frames there, or on a stack that could not be
    /// read.
    AtFile(Arc<str>),
    /// It is as deep as any can be.
    TooDeep,
}

/// How many end where. Those of which nothing is known are not counted.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    at_made_code: u64,
    at_file: FxHashMap<Arc<str>, u64>,
    too_deep: u64,
}

impl Cuts {
    pub(crate) fn count(&mut self, cut: Cut) {
        match cut {
            Cut::AtMadeCode => self.at_made_code += 1,
            Cut::TooDeep => self.too_deep += 1,
            Cut::AtFile(file) => {
                if self.at_file.len() < MOST_COUNTED || self.at_file.contains_key(&file) {
                    *self.at_file.entry(file).or_default() += 1;
                }
            }
        }
    }

    /// As traces have it: what it is, how many, and the file.
    pub(crate) fn codes(&self) -> Vec<String> {
        let plain = [("cut-at-made-code", self.at_made_code), ("cut-too-deep", self.too_deep)];
        let plain = plain.into_iter().filter(|(_, count)| *count > 0);
        let plain = plain.map(|(code, count)| format!("{code}:{count}"));
        let mut files: Vec<_> = self.at_file.iter().collect();
        files.sort_by_key(|&(file, &count)| (std::cmp::Reverse(count), file));
        let files = files.into_iter().take(MOST_FILES);
        plain.chain(files.map(|(file, count)| format!("cut-at-file:{count}:{file}"))).collect()
    }
}

/// Whether a backtrace of so many frames has no room for more.
pub(crate) fn is_full(frames: usize) -> bool {
    frames >= MAX_FRAMES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_with_its_count() {
        let mut cuts = Cuts::default();
        assert!(cuts.codes().is_empty());
        for cut in [Cut::AtMadeCode, Cut::TooDeep, Cut::AtFile("/a.so".into())] {
            cuts.count(cut);
        }
        cuts.count(Cut::AtFile("/b.so".into()));
        cuts.count(Cut::AtFile("/b.so".into()));
        let expected =
            ["cut-at-made-code:1", "cut-too-deep:1", "cut-at-file:2:/b.so", "cut-at-file:1:/a.so"];
        assert_eq!(cuts.codes(), expected);
    }

    #[test]
    fn of_very_many_files_a_few_are_told() {
        let mut cuts = Cuts::default();
        for number in 0..2 * MOST_COUNTED {
            cuts.count(Cut::AtFile(format!("{number}").into()));
        }
        assert_eq!((cuts.at_file.len(), cuts.codes().len()), (MOST_COUNTED, MOST_FILES));
        assert!(is_full(MAX_FRAMES) && !is_full(MAX_FRAMES - 1));
    }
}
