//! Memory and page faults of one process.
//!
//! `/proc/<pid>/stat` costs a few microseconds. Its resident memory is the kernel's own running sum,
//! which may lag by some dozens of pages for each processor. The proportional share, from
//! `smaps_rollup`, costs a walk over all page tables, some milliseconds a gigabyte during which the
//! process can map nothing new; so it is read at most every [`LEAST_APART`], and more rarely the longer
//! it takes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use lifetrace_trace::fact::Counters;
use lifetrace_trace::ids::Bytes;
use rustix::process::Pid;

use crate::stat::Stat;

/// The proportional share is read no more often.
const LEAST_APART: Duration = Duration::from_secs(1);

/// Reading it takes at most this part of the time.
const BUDGET: u32 = 1000;

/// The files stay open: opening them costs more than reading.
pub(super) struct ProcessFigures {
    stat: File,
    status: Option<File>,
    peak: Option<Bytes>,
    anonymous: Option<Bytes>,
    rollup: Option<File>,
    rollup_due: Instant,
    last: Counters,
}

impl ProcessFigures {
    /// `None` when the process is gone.
    pub(super) fn open(pid: Pid) -> Option<ProcessFigures> {
        let directory = format!("/proc/{}", pid.as_raw_nonzero());
        let stat = File::open(format!("{directory}/stat")).ok()?;
        let status = File::open(format!("{directory}/status")).ok();
        // Who has become another user may not be looked into.
        let rollup = File::open(format!("{directory}/smaps_rollup")).ok();
        let rollup_due = Instant::now() + LEAST_APART;
        Some(ProcessFigures {
            stat,
            status,
            peak: None,
            anonymous: None,
            rollup,
            rollup_due,
            last: Counters::default(),
        })
    }

    /// The figures now, and whether they differ from the last ones; `None` when the process is gone.
    pub(super) fn read(&mut self) -> Option<(Counters, bool)> {
        let mut buffer = [0; 1024];
        let length = self.stat.read_at(&mut buffer, 0).ok()?;
        let counters = counters_of(&Stat::parse(&buffer[..length])?)?;
        let moved = counters != self.last;
        self.last = counters;
        if moved {
            self.read_status();
        }
        let proportional = if moved { self.proportional() } else { None };
        Some((Counters { proportional, most_resident: self.peak, ..counters }, moved))
    }

    /// The most resident memory that the program has had, as of the last [`read`](Self::read).
    pub(super) fn peak(&self) -> Option<Bytes> {
        self.peak
    }

    /// The memory that is of no file, as of the last [`read`](Self::read).
    pub(super) fn anonymous(&self) -> Option<Bytes> {
        self.anonymous
    }

    fn read_status(&mut self) {
        let mut buffer = [0; 4096];
        let read = self.status.as_ref().and_then(|status| status.read_at(&mut buffer, 0).ok());
        let text = &buffer[..read.unwrap_or(0)];
        self.peak = kilobytes(text, "VmHWM:");
        self.anonymous = kilobytes(text, "RssAnon:");
    }

    fn proportional(&mut self) -> Option<Bytes> {
        let begun = Instant::now();
        if begun < self.rollup_due {
            return None;
        }
        let mut buffer = [0; 2048];
        let length = self.rollup.as_ref()?.read_at(&mut buffer, 0).ok()?;
        self.rollup_due = begun + LEAST_APART.max(begun.elapsed() * BUDGET);
        kilobytes(&buffer[..length], "Pss:")
    }
}

fn counters_of(stat: &Stat) -> Option<Counters> {
    let page = rustix::param::page_size() as u64;
    Some(Counters {
        resident: Some(Bytes(stat.number(24)? * page)).filter(|resident| resident.0 > 0),
        minor_faults: stat.number(10),
        major_faults: stat.number(12),
        ..Counters::default()
    })
}

/// The value of a line that begins with `name`.
pub(crate) fn kilobytes(text: &[u8], name: &str) -> Option<Bytes> {
    // A program's name may hold anything.
    let text = String::from_utf8_lossy(text);
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kilobytes * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_missing() {
        let fields: Vec<String> = (3..=52).map(|number| number.to_string()).collect();
        assert_eq!(counters_of(&Stat::parse(b"7 (a) S 1 2 3").unwrap()), None);
        let text = format!("7 (x) 1 2) {}\n", fields.join(" "));
        let counters = counters_of(&Stat::parse(text.as_bytes()).unwrap()).unwrap();
        let page = rustix::param::page_size() as u64;
        assert_eq!(counters.resident, Some(Bytes(24 * page)));
        assert_eq!((counters.minor_faults, counters.major_faults), (Some(10), Some(12)));
    }

    #[test]
    fn our_own() {
        let mut figures = ProcessFigures::open(rustix::process::getpid()).unwrap();
        figures.rollup_due = Instant::now();
        let (counters, moved) = figures.read().unwrap();
        let (resident, proportional) = (counters.resident.unwrap(), counters.proportional.unwrap());
        assert!(moved && resident.0 > 1 << 16 && counters.minor_faults.unwrap() > 0);
        assert!(proportional.0 > 0 && proportional.0 <= 2 * resident.0);
        // So large that it is fresh from the kernel, whatever other tests have freed.
        let _touched = std::hint::black_box(vec![1u8; 40 << 20]);
        let (later, _) = figures.read().unwrap();
        assert!(later.minor_faults > counters.minor_faults);
        assert_eq!(later.proportional, None);
        assert!(figures.peak().unwrap().0 > 8 << 20);
        assert!(figures.anonymous().unwrap().0 > 40 << 20);
    }

    #[test]
    fn lines_of_kilobytes() {
        let text = b"Name:\t\xff\nRss: 7 kB\nPss:\t  12 kB\nPss_Dirty: 1 kB";
        assert_eq!(kilobytes(text, "Pss:"), Some(Bytes(12 << 10)));
        assert_eq!(kilobytes(text, "VmHWM:"), None);
        assert_eq!(kilobytes(b"Pss: many kB", "Pss:"), None);
    }
}
