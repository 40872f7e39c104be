//! What is to be recorded.

use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::PathBuf;
use std::time::Duration;

use lifetrace_recorder::heap::Heap;
use lifetrace_recorder::{
    CollectorOptions, Format, Introduction, Output, Rates, Schedule, SnapshotPlan, SourceChoice,
};

use crate::density::Density;
use crate::error::Error;
use crate::listening::{Audience, follow};
use crate::session::{self, Session};
use crate::tracker::Tracker;

/// What `lifetrace record` does if nothing is said.
const INTERVAL: u64 = 512 << 10;
const COUNTERS: Duration = Duration::from_millis(100);

/// A session to be: where its trace goes, how densely it samples, what it says of itself.
///
/// ```no_run
/// let session = lifetrace::Recording::new("server.%p.lt")
///     .interval(256 << 10)
///     .label("version", env!("CARGO_PKG_VERSION"))
///     .start()?;
/// # Ok::<(), lifetrace::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is recorded before `start`"]
pub struct Recording {
    /// None: in memory alone.
    output: Option<OsString>,
    overwrite: bool,
    density: Density,
    seed: Option<u64>,
    labels: Vec<(String, String)>,
    counters: Option<Duration>,
    max_size: Option<u64>,
    audience: Option<Audience>,
}

// It is done with whole, and panics of the trackers in it end where they are called.
impl UnwindSafe for Recording {}
impl RefUnwindSafe for Recording {}

impl Recording {
    /// A session that writes its trace to `output`. In the name, `%p` is the process id, `%e` the program's
    /// base name, and `%%` a percent sign. It is our own format, unless the name ends in `.ctf`, Memtrace's.
    pub fn new(output: impl Into<PathBuf>) -> Recording {
        Recording { output: Some(output.into().into_os_string()), ..Recording::live() }
    }

    /// A session without a file: what is live can be looked at ([`Session::snapshot`]), for as long as the
    /// program runs. Its memory is bounded by what is live and by the distinct backtraces.
    pub fn live() -> Recording {
        Recording {
            output: None,
            overwrite: false,
            density: Density::Interval(INTERVAL),
            seed: None,
            labels: Vec::new(),
            counters: Some(COUNTERS),
            max_size: None,
            audience: None,
        }
    }

    /// A session that tells `tracker` of samples and keeps nothing itself: no file, no snapshots.
    pub fn only(tracker: impl Tracker) -> Recording {
        Recording { audience: audience(tracker, false, false), ..Recording::live() }
    }

    /// A session that tells a [deferred](Recording::deferred_tracker) `tracker` of samples and keeps nothing itself.
    pub fn only_deferred(tracker: impl Tracker) -> Recording {
        Recording { audience: audience(tracker, true, false), ..Recording::live() }
    }

    /// Tells `tracker` of samples as well, on the thread that allocates or frees: see
    /// [`tracker`](crate::tracker) for what it may do. There is one at a time; of several, make a pair.
    pub fn tracker(self, tracker: impl Tracker) -> Recording {
        Recording { audience: audience(tracker, false, true), ..self }
    }

    /// Tells `tracker` of samples as well, on a thread of its own.
    pub fn deferred_tracker(self, tracker: impl Tracker) -> Recording {
        Recording { audience: audience(tracker, true, true), ..self }
    }

    /// One sample for so many bytes, on average; 512 KiB if nothing is said. 1 samples everything, so that
    /// the trace is exact.
    pub fn interval(mut self, bytes: u64) -> Recording {
        self.density = Density::Interval(bytes);
        self
    }

    /// The sampling rate, as the probability that a byte is sampled; 1.0 samples everything.
    pub fn rate(mut self, per_byte: f64) -> Recording {
        self.density = Density::PerByte(per_byte);
        self
    }

    /// Of the sampler's random numbers, which are others at each run if nothing is said.
    pub fn seed(mut self, seed: u64) -> Recording {
        self.seed = Some(seed);
        self
    }

    /// Something that the trace says of itself.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Recording {
        self.labels.push((key.into(), value.into()));
        self
    }

    /// Whether a file of that name may be overwritten; not, if nothing is said.
    pub fn overwrite(mut self, may_overwrite: bool) -> Recording {
        self.overwrite = may_overwrite;
        self
    }

    /// How often the process's memory is noted, `None` for never; ten times a second if nothing is said.
    pub fn counters(mut self, every: Option<Duration>) -> Recording {
        self.counters = every;
        self
    }

    /// Greatest length of the trace, in bytes: one that would exceed it ends before.
    pub fn max_size(mut self, bytes: u64) -> Recording {
        self.max_size = Some(bytes);
        self
    }

    /// Starts.
    ///
    /// # Errors
    /// If there is a session, if the trace's file is there or can't be made, if the global allocator is not
    /// an [`Alloc`](crate::Alloc): each [`Error`] says what to do. Then nothing is recorded.
    pub fn start(self) -> Result<Session, Error> {
        let audience = self.audience.clone();
        session::start(&self.options()?, audience)
    }

    fn options(self) -> Result<CollectorOptions, Error> {
        let rate = self.density.rate()?;
        Ok(CollectorOptions {
            format: self.output.as_deref().and_then(Format::of_name).unwrap_or_default(),
            output: match self.output {
                Some(template) => Output::Both(template, Heap::new()),
                None => Output::Heap(Heap::new()),
            },
            overwrite: self.overwrite,
            sources: SourceChoice::Native,
            rates: Rates::all(rate),
            stack_limit: lifetrace_recorder::MOST_FRAMES,
            seed: self.seed.unwrap_or_else(random_seed),
            follow_children: false,
            schedule: Schedule::default(),
            max_size: self.max_size,
            counters: self.counters,
            keep_empty: true,
            native_frames: false,
            small_objects: true,
            labels: self.labels,
            snapshots: SnapshotPlan::default(),
            looks_for_lost: false,
            standing: None,
            introduction: Introduction::default(),
        })
    }
}

fn audience(tracker: impl Tracker, is_deferred: bool, is_recorded: bool) -> Option<Audience> {
    Some(Audience { follower: follow(tracker), is_deferred, is_recorded })
}

/// Different at each call.
fn random_seed() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use lifetrace_recorder::Rate;

    use super::*;

    #[test]
    fn what_is_no_rate_is_refused() {
        for recording in [
            Recording::new("x").interval(0),
            Recording::new("x").rate(0.0),
            Recording::new("x").rate(1.5),
            Recording::new("x").rate(f64::NAN),
        ] {
            let error = recording.options().unwrap_err();
            assert!(error.to_string().contains("at least 1 byte"), "{error}");
        }
    }

    #[test]
    fn rates_and_intervals_are_the_same_thing() {
        let rate = |recording: Recording| recording.options().unwrap().rates.malloc;
        assert_eq!(rate(Recording::new("x").interval(1)), Rate::EXACT);
        assert_eq!(rate(Recording::new("x").rate(1.0)), Rate::EXACT);
        let default = rate(Recording::new("x"));
        assert_eq!(default, rate(Recording::new("x").rate(1.0 / (512 << 10) as f64)));
    }

    #[test]
    fn the_name_says_the_format() {
        let format = |name: &str| Recording::new(name).options().unwrap().format;
        assert_eq!(
            (format("x.lt"), format("x"), format("x.ctf")),
            (Format::Lt, Format::Lt, Format::Memtrace)
        );
    }
}
