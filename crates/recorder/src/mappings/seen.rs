//! Anonymous memory that a process has, as the system tells it: where it is, and how much of it is resident.

use std::fs;
use std::io;
use std::ops::Range;

use rustix::process::Pid;

use crate::lost::pages::{Pages, Wanted};
use crate::maps::Mapping;

/// Of more address space than this it is not asked which pages are there, in bytes: that would take long.
const MOST_ASKED: u64 = 128 << 30;

/// More parts than these are not kept.
const MOST_PARTS: usize = 1 << 20;

/// What is mapped in one piece, as the system has it: neighbours are one, whoever has mapped them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) range: Range<u64>,
    /// Bytes that are resident.
    pub(crate) resident: u64,
    pub(crate) is_accessible: bool,
    /// Where pages are, in order.
    present: Vec<Range<u64>>,
}

/// All anonymous memory of a process, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen(pub(crate) Vec<Region>);

impl Region {
    #[cfg(test)]
    pub(super) fn new(range: Range<u64>, resident: u64, present: &[Range<u64>]) -> Region {
        Region { range, resident, is_accessible: true, present: present.to_vec() }
    }

    pub(crate) fn length(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Bytes of pages that are there, in a part of it.
    pub(crate) fn present_in(&self, part: &Range<u64>) -> u64 {
        let first = self.present.partition_point(|it| it.end <= part.start);
        let parts = self.present[first..].iter().take_while(|it| it.start < part.end);
        parts.map(|it| it.end.min(part.end) - it.start.max(part.start)).sum()
    }
}

impl Seen {
    /// Asks; `None` if that is not permitted, or too much to be told. May take a second of a large process.
    pub(crate) fn read(process: Pid) -> Option<Seen> {
        let text = fs::read(format!("/proc/{}/smaps", process.as_raw_nonzero())).ok()?;
        let mut regions = regions(&text);
        let is_asked = |it: &&mut Region| it.resident > 0 && it.resident < it.length();
        let asked: u64 = regions.iter_mut().filter(is_asked).map(|it| it.length()).sum();
        if asked > MOST_ASKED {
            return None;
        }
        let (mut pages, mut parts) = (Pages::of(process).ok()?, 0);
        for region in regions.iter_mut().filter(is_asked) {
            region.present = present(&mut pages, &region.range).ok()?;
            parts += region.present.len();
            if parts > MOST_PARTS {
                return None;
            }
        }
        Some(Seen(regions))
    }
}

fn present(pages: &mut Pages, range: &Range<u64>) -> io::Result<Vec<Range<u64>>> {
    let mut present = Vec::new();
    pages.each(range.clone(), Wanted::Resident, |part| present.push(part))?;
    Ok(present)
}

/// What `/proc/<pid>/smaps` has of anonymous memory. What is there wholly or not at all needs no more questions.
fn regions(text: &[u8]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    let mut is_in_region = false;
    for line in text.split(|&byte| byte == b'\n') {
        if let Some(mapping) = Mapping::parse(line) {
            is_in_region = mapping.is_anonymous();
            regions.extend(is_in_region.then(|| Region {
                is_accessible: mapping.is_readable || mapping.is_writable || mapping.is_executable,
                range: mapping.range,
                resident: 0,
                present: Vec::new(),
            }));
        } else if let Some(region) = regions.last_mut().filter(|_| is_in_region) {
            region.resident += resident_of(line);
        }
    }
    for region in regions.iter_mut().filter(|it| it.resident >= it.length()) {
        region.present = vec![region.range.clone()];
    }
    regions
}

/// The bytes of a line that tells of resident memory; huge pages that are asked for as such are told by themselves.
fn resident_of(line: &[u8]) -> u64 {
    const LINES: [&str; 3] = ["Rss:", "Private_Hugetlb:", "Shared_Hugetlb:"];
    let line = str::from_utf8(line).unwrap_or_default();
    let value = LINES.iter().find_map(|name| line.strip_prefix(name));
    let kilobytes = value.and_then(|it| it.trim().strip_suffix(" kB")?.parse().ok());
    kilobytes.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    const SMAPS: &str = "\
55550000-55552000 r-xp 00000000 fd:01 12 /usr/bin/x
Size:                  8 kB
Rss:                   8 kB
7f000000-7f004000 rw-p 00000000 00:00 0 
Size:                 16 kB
Rss:                  16 kB
Private_Hugetlb:       0 kB
VmFlags: rd wr mr mw me ac sd
7f010000-7f020000 ---p 00000000 00:00 0 
Rss:                   0 kB
7f020000-7f022000 rw-s 00000000 00:01 7 /dev/zero (deleted)
Rss:                   4 kB
7ffe0000-7ffe4000 rw-p 00000000 00:00 0 [stack]
Rss:                  16 kB
";

    #[test]
    fn what_is_anonymous_is_found() {
        let regions = regions(SMAPS.as_bytes());
        let told: Vec<_> =
            regions.iter().map(|it| (it.range.start, it.resident, it.is_accessible)).collect();
        let expected =
            [(0x7f00_0000, 16384, true), (0x7f01_0000, 0, false), (0x7f02_0000, 4096, true)];
        assert_eq!(told, expected);
        assert_eq!(regions[0].present_in(&(0x7f00_1000..0x8000_0000)), 3 * PAGE);
        assert_eq!(regions[1].present_in(&(0..u64::MAX)), 0);
    }

    /// More than malloc ever takes from memory that it has already: new pages, none of which is there.
    #[test]
    fn pages_that_were_written_to_are_there() {
        const PAGES: u64 = 1 << 14;
        let mut block = vec![0u8; (PAGES * PAGE) as usize];
        for page in [3, 4, 9000] {
            block[(page * PAGE) as usize] = 1;
        }
        let start = block.as_ptr() as u64;
        let seen = Seen::read(rustix::process::getpid()).unwrap();
        let present =
            |part: Range<u64>| -> u64 { seen.0.iter().map(|it| it.present_in(&part)).sum() };
        for page in [3, 4, 9000] {
            let written = start + page * PAGE;
            assert!(present(written..written + 1) == 1, "page {page}");
        }
        // Around each there may be a huge one.
        assert!(present(start..start + PAGES * PAGE) < PAGES / 2 * PAGE);
        assert!(std::hint::black_box(block)[1] == 0);
    }
}
