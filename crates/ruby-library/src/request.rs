//! What a program wants, in the recorder's terms.

use std::ffi::{CStr, OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use lifetrace_recorder::heap::Heap;
use lifetrace_recorder::{
    CollectorOptions, Format, Introduction, Output, Rate, Rates, Schedule, SnapshotPlan,
    SourceChoice, SourceName,
};

/// What `lifetrace record` does if nothing is said.
const COUNTERS: Duration = Duration::from_millis(100);
const STACK_LIMIT: u32 = 8192;

/// What is to be recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// As `lifetrace record -o` has it; empty if there is to be no file.
    pub(crate) output: &'a CStr,
    pub(crate) overwrites: bool,
    /// Probability that an object is hit.
    pub(crate) rate: f64,
    /// Lines of a key, a tab, and a value.
    pub(crate) labels: &'a str,
    /// Greatest length of the trace, in bytes; 0 is none.
    pub(crate) max_size: u64,
}

impl Request<'_> {
    /// A recording of this process alone, and of its objects alone.
    ///
    /// # Errors
    /// If the rate is none.
    pub(crate) fn options(&self, heap: &Heap) -> Result<CollectorOptions, String> {
        let rate = Rate::from_probability_per_word(self.rate).ok_or_else(|| {
            format!("the rate {} is no probability above 0 and at most 1", self.rate)
        })?;
        let template = OsStr::from_bytes(self.output.to_bytes());
        Ok(CollectorOptions {
            format: Format::of_name(template).unwrap_or_default(),
            output: output(template, heap.clone()),
            overwrite: self.overwrites,
            sources: SourceChoice::Linked(SourceName::new("ruby")),
            rates: Rates::all(rate),
            stack_limit: STACK_LIMIT,
            seed: RandomState::new().hash_one(std::process::id()),
            follow_children: false,
            schedule: Schedule::default(),
            max_size: Some(self.max_size).filter(|&bytes| bytes > 0),
            counters: Some(COUNTERS),
            labels: self.labels.lines().filter_map(label).collect(),
            keep_empty: true,
            native_frames: false,
            small_objects: true,
            snapshots: SnapshotPlan::default(),
            looks_for_lost: false,
            standing: None,
            introduction: Introduction::default(),
        })
    }
}

fn output(template: &OsStr, heap: Heap) -> Output {
    match template.is_empty() {
        true => Output::Heap(heap),
        false => Output::Both(OsString::from(template), heap),
    }
}

fn label(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once('\t')?;
    Some((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Request<'_> =
        Request { output: c"", overwrites: false, rate: 0.5, labels: "", max_size: 0 };

    #[test]
    fn labels_are_lines() {
        let request = Request { labels: "a\tb c\nd\t\nnothing", ..REQUEST };
        let options = request.options(&Heap::new()).unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(options.labels, [pair("a", "b c"), pair("d", "")]);
    }

    #[test]
    fn there_is_a_file_if_it_has_a_name() {
        let template = |output| {
            let options = Request { output, ..REQUEST }.options(&Heap::new()).unwrap();
            options.output.template().map(OsStr::to_owned)
        };
        assert_eq!((template(c""), template(c"x.%p.lt")), (None, Some("x.%p.lt".into())));
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for rate in [0.0, -1.0, 1.5, f64::NAN] {
            let error = Request { rate, ..REQUEST }.options(&Heap::new()).unwrap_err();
            assert!(error.contains("no probability"), "{error}");
        }
    }
}
