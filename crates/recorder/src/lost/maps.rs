//! What a process has mapped, as `/proc/<pid>/maps` tells it.

use std::fs;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use rustix::process::Pid;

/// A part of a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) range: Range<u64>,
    pub(super) is_readable: bool,
    pub(super) is_writable: bool,
    pub(super) is_executable: bool,
    pub(super) is_shared: bool,
    /// Where it begins in its file.
    pub(super) offset: u64,
    /// The file's path, or what the kernel calls it; empty where it is of no file and has no name.
    pub(super) name: Arc<str>,
}

/// Of a session's shared memory.
const OURS: &str = "/memfd:lifetrace";

/// Larger ones that nobody may read are reserved for later, and empty.
const MOST_HIDDEN: u64 = 1 << 30;

impl Mapping {
    /// Of a file, or of memory that is called like one.
    pub(super) fn is_of_file(&self) -> bool {
        self.name.starts_with('/')
    }

    /// Whether the program may have left pointers in it.
    pub(super) fn may_hold_pointers(&self) -> bool {
        let is_kernels = self.name.starts_with("[v");
        let is_written = self.is_writable || !self.is_shared;
        let is_reserved = !self.is_readable && self.length() > MOST_HIDDEN;
        is_written && !is_kernels && !is_reserved && !self.name.starts_with(OURS)
    }

    pub(super) fn length(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn parse(line: &str) -> Option<Mapping> {
        let mut fields = line.splitn(6, ' ');
        let (range, access, offset) = (fields.next()?, fields.next()?, fields.next()?);
        let (start, end) = range.split_once('-')?;
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        Some(Mapping {
            range: number(start)?..number(end)?,
            is_readable: access.contains('r'),
            is_writable: access.contains('w'),
            is_executable: access.contains('x'),
            is_shared: access.ends_with('s'),
            offset: number(offset)?,
            name: fields.nth(2).unwrap_or_default().trim_start().into(),
        })
    }
}

/// All that a process has mapped, in order of address.
pub(super) fn read(process: Pid) -> io::Result<Vec<Mapping>> {
    let text = fs::read(format!("/proc/{}/maps", process.as_raw_nonzero()))?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(Mapping::parse).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let line = "7f01a000-7f01b000 rw-p 00002000 fd:01 1234                 /lib/a b.so";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!(mapping.range, 0x7f01_a000..0x7f01_b000);
        assert_eq!((mapping.offset, &*mapping.name), (0x2000, "/lib/a b.so"));
        assert!(mapping.is_writable && !mapping.is_executable && mapping.may_hold_pointers());
        let bare = Mapping::parse("7f00-8000 rw-s 00000000 00:00 0").unwrap();
        assert!(bare.is_shared && bare.name.is_empty() && bare.may_hold_pointers());
        let kernels = Mapping::parse("7f00-8000 r--p 00000000 00:00 0    [vvar]").unwrap();
        assert!(!kernels.may_hold_pointers());
        let ours = "7f00-8000 rw-s 00000000 00:01 9    /memfd:lifetrace (deleted)";
        assert!(!Mapping::parse(ours).unwrap().may_hold_pointers());
    }
}
