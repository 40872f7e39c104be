//! Another process's memory, in pieces.

use std::fs::File;
use std::io::IoSliceMut;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use rustix::process::Pid;

use super::pages::PAGE;

/// A piece is not longer than this, in bytes: it is to stay in the processor's cache.
pub(super) const PIECE: u64 = 256 << 10;

/// More parts are not read at once.
pub(super) const MOST_PARTS: usize = 512;

/// The words at a piece's end are in the next one as well.
const OVERLAP: u64 = 8;

/// A process's memory, and room for a piece of it.
pub(super) struct Memory {
    process: nix::unistd::Pid,
    /// Reads what the program itself may not.
    hidden: Option<File>,
    room: Vec<u8>,
    pub(super) bytes: u64,
}

impl Memory {
    pub(super) fn of(process: Pid) -> Memory {
        let id = process.as_raw_nonzero().get();
        Memory {
            process: nix::unistd::Pid::from_raw(id),
            hidden: File::open(format!("/proc/{id}/mem")).ok(),
            room: vec![0; (PIECE + OVERLAP) as usize],
            bytes: 0,
        }
    }

    /// Gives a range to `see`, piece by piece, each with its address. What cannot be read is passed over.
    pub(super) fn each(
        &mut self,
        range: Range<u64>,
        is_hidden: bool,
        mut see: impl FnMut(u64, &[u8]),
    ) {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + PIECE + OVERLAP);
            let length = self.read(at..end, is_hidden);
            see(at, &self.room[..length]);
            at = match at + length as u64 {
                read if read >= range.end => range.end,
                read if read >= end => read - OVERLAP,
                short => (short / PAGE + 1) * PAGE,
            };
        }
    }

    /// Reads several parts, which are not longer than a piece together; nothing if one of them cannot be read.
    pub(super) fn parts(&mut self, parts: &[Range<u64>]) -> &[u8] {
        let length: u64 = parts.iter().map(|part| part.end - part.start).sum();
        let remote: Vec<_> = parts.iter().map(remote).collect();
        let room = &mut self.room[..length as usize];
        let read = process_vm_readv(self.process, &mut [IoSliceMut::new(room)], &remote);
        let is_whole = read.is_ok_and(|read| read as u64 == length);
        self.bytes += length;
        if is_whole { &self.room[..length as usize] } else { &[] }
    }

    fn read(&mut self, range: Range<u64>, is_hidden: bool) -> usize {
        let room = &mut self.room[..(range.end - range.start) as usize];
        let read = match (&self.hidden, is_hidden) {
            (Some(file), true) => file.read_at(room, range.start).unwrap_or(0),
            _ => {
                let into = &mut [IoSliceMut::new(room)];
                process_vm_readv(self.process, into, &[remote(&range)]).unwrap_or(0)
            }
        };
        self.bytes += read as u64;
        read
    }
}

fn remote(range: &Range<u64>) -> RemoteIoVec {
    RemoteIoVec { base: range.start as usize, len: (range.end - range.start) as usize }
}
