//! What a program wants, in the recorder's terms.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use lifetrace_recorder::{
    CollectorOptions, Format, Introduction, Rate, Rates, Schedule, SnapshotPlan, SourceChoice,
    SourceName,
};

/// What `lifetrace record` does if nothing is said.
const COUNTERS: Duration = Duration::from_millis(100);
const STACK_LIMIT: u32 = 8192;

/// What is to be recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) output: Output<'a>,
    /// What the program says of itself; empty for its command line.
    pub(crate) context: &'a str,
    /// The runtime's.
    pub(crate) parameters: &'a str,
    /// Probability that a word is hit.
    pub(crate) rate: f64,
}

/// Where the trace goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output<'a> {
    /// As `lifetrace record -o` has it: with placeholders, and nothing is overwritten.
    Template(&'a OsStr),
    /// As Memtrace has it: this file, overwritten if it is there.
    File(&'a OsStr),
}

impl Request<'_> {
    /// A recording of this process alone, and of its OCaml heap alone.
    ///
    /// # Errors
    /// If the rate is none.
    pub(crate) fn options(&self) -> Result<CollectorOptions, String> {
        let rate = Rate::from_probability_per_word(self.rate)
            .ok_or_else(|| format!("the sampling rate {} is not between 0 and 1", self.rate))?;
        let (output, format, overwrite) = match self.output {
            Output::Template(template) => {
                (template.to_owned(), Format::of_name(template).unwrap_or_default(), false)
            }
            Output::File(path) => {
                (literal(path), Format::of_name(path).unwrap_or(Format::Memtrace), true)
            }
        };
        Ok(CollectorOptions {
            output: output.into(),
            format,
            overwrite,
            sources: SourceChoice::Linked(SourceName::new("ocaml")),
            rates: Rates::all(rate),
            stack_limit: STACK_LIMIT,
            seed: 0,
            follow_children: false,
            schedule: Schedule::default(),
            max_size: None,
            counters: Some(COUNTERS),
            labels: Vec::new(),
            keep_empty: true,
            native_frames: false,
            small_objects: true,
            snapshots: SnapshotPlan::default(),
            looks_for_lost: false,
            standing: None,
            introduction: Introduction {
                context: self.context.to_owned(),
                runtime_params: self.parameters.to_owned(),
            },
        })
    }
}

/// A template that stands for this very path.
fn literal(path: &OsStr) -> OsString {
    let doubled = path.as_bytes().iter().flat_map(|&byte| match byte {
        b'%' => vec![byte, byte],
        _ => vec![byte],
    });
    OsString::from_vec(doubled.collect())
}

#[cfg(test)]
mod tests {
    use lifetrace_inside::error::StartError;

    use super::*;

    fn options(output: Output<'_>, rate: f64) -> Result<CollectorOptions, String> {
        Request { output, context: "", parameters: "", rate }.options()
    }

    #[test]
    fn a_name_is_taken_as_lifetrace_or_as_memtrace_takes_it() {
        let of = |output| {
            let options = options(output, 0.5).unwrap();
            let check = options.check("sh");
            (
                options.format,
                options.overwrite,
                check.map_err(|error| StartError::from(error).to_string()),
            )
        };
        let [template, file] = [Output::Template, Output::File];
        assert_eq!(of(template("x.%p.ctf".as_ref())), (Format::Memtrace, false, Ok(())));
        assert_eq!(of(template("x".as_ref())), (Format::Lt, false, Ok(())));
        assert_eq!(of(file("x.lt".as_ref())), (Format::Lt, true, Ok(())));
        assert_eq!(of(file("50%".as_ref())), (Format::Memtrace, true, Ok(())));
        let (_, _, refused) = of(template("50%".as_ref()));
        assert!(refused.unwrap_err().contains("'%' means nothing"));
        assert_eq!(
            options(file("a%b%%p".as_ref()), 1.0).unwrap().output.template(),
            Some("a%%b%%%%p".as_ref())
        );
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for rate in [0.0, -1.0, 1.5, f64::NAN] {
            let error = options(Output::File("x".as_ref()), rate).unwrap_err();
            assert!(error.contains("not between 0 and 1"), "{error}");
        }
    }
}
