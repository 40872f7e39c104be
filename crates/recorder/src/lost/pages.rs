//! Which pages of a process are there, as `/proc/<pid>/pagemap` tells it: no others are read, as that would make them.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::process::Pid;

pub(super) const PAGE: u64 = 4096;

/// Entries that are read at a time.
const AT_ONCE: usize = 1 << 14;

const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
/// Of a file, or shared: never written to by this process alone.
const OF_FILE: u64 = 1 << 61;

/// Which pages are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All that are there, be it elsewhere than in memory.
    There,
    /// Those that are in memory.
    Resident,
    /// Those that are the process's own: pages of a file that it has written to once.
    Own,
}

/// A process's pages.
pub(crate) struct Pages {
    map: File,
    entries: Vec<u8>,
    page: u64,
}

impl Pages {
    pub(crate) fn of(process: Pid) -> io::Result<Pages> {
        let map = File::open(format!("/proc/{}/pagemap", process.as_raw_nonzero()))?;
        let page = rustix::param::page_size() as u64;
        Ok(Pages { map, entries: vec![0; 8 * AT_ONCE], page })
    }

    /// Gives the parts of a range that are there to `see`, in order.
    pub(crate) fn each(
        &mut self,
        range: Range<u64>,
        wanted: Wanted,
        mut see: impl FnMut(Range<u64>),
    ) -> io::Result<()> {
        let mut run: Option<Range<u64>> = None;
        let mut at = range.start / self.page;
        let end = range.end.div_ceil(self.page);
        while at < end {
            let count = (end - at).min(AT_ONCE as u64) as usize;
            let entries = &mut self.entries[..8 * count];
            let read = self.map.read_at(entries, at * 8)? / 8;
            if read == 0 {
                break;
            }
            for entry in entries[..8 * read].chunks_exact(8) {
                let page = at * self.page..(at + 1) * self.page;
                at += 1;
                match (is_wanted(entry, wanted), &mut run) {
                    (true, Some(run)) => run.end = page.end,
                    (true, None) => run = Some(page),
                    (false, _) => run.take().into_iter().for_each(|run| see(within(run, &range))),
                }
            }
        }
        run.into_iter().for_each(|run| see(within(run, &range)));
        Ok(())
    }
}

fn is_wanted(entry: &[u8], wanted: Wanted) -> bool {
    let entry = entry.try_into().map_or(0, u64::from_le_bytes);
    match wanted {
        Wanted::Resident => entry & PRESENT != 0,
        _ if entry & SWAPPED != 0 => true,
        Wanted::There => entry & PRESENT != 0,
        Wanted::Own => entry & PRESENT != 0 && entry & OF_FILE == 0,
    }
}

fn within(run: Range<u64>, range: &Range<u64>) -> Range<u64> {
    run.start.max(range.start)..run.end.min(range.end)
}
