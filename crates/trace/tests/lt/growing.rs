//! A trace that is read while it grows tells the same as one that is read at once, wherever the input stops.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read};

use lifetrace_trace::lt::Reader;

use crate::crowd;
use crate::support::fixtures_with;

/// What is there so far of a file that grows.
struct Growing<'a> {
    file: &'a [u8],
    there: &'a Cell<usize>,
    read: usize,
}

impl Read for Growing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.file[self.read..self.there.get()];
        if rest.is_empty() && self.there.get() < self.file.len() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        Ok(count)
    }
}

/// All that a reader says until it has nothing more, for now or at all; whether that is the end.
fn take<R: Read>(reader: &mut Reader<R>, told: &mut Vec<String>) -> bool {
    loop {
        match reader.next() {
            Ok(Some((time, item))) => told.push(format!("{time:?} {item:?}")),
            Ok(None) => return true,
            Err(error) => {
                assert!(error.is_for_now(), "{error}");
                return false;
            }
        }
    }
}

/// How much a reader says of what is there so far.
fn count_so_far(file: &[u8]) -> usize {
    let mut told = Vec::new();
    take(&mut Reader::open(file).unwrap(), &mut told);
    told.len()
}

/// Reads whatever there is, each time that the file has grown by `step` bytes.
fn check(file: &[u8], step: usize) {
    let there = Cell::new(0);
    let (mut told, mut expected) = (Vec::new(), Vec::new());
    let mut reader = loop {
        there.set((there.get() + step).min(file.len()));
        match Reader::open(Growing { file, there: &there, read: 0 }) {
            Ok(reader) => break reader,
            Err(error) => assert!(error.is_for_now(), "{error}"),
        }
    };
    while !take(&mut reader, &mut told) {
        // Nothing that is there waits for more.
        if step > 1 {
            assert_eq!(told.len(), count_so_far(&file[..there.get()]));
        }
        there.set((there.get() + step).min(file.len()));
    }
    let mut at_once = Reader::open(file).unwrap();
    assert!(take(&mut at_once, &mut expected));
    assert!(told == expected, "{} and {} records", told.len(), expected.len());
    assert_eq!(reader.damages(), at_once.damages());
    assert_eq!(reader.passed(), at_once.passed());
    assert_eq!(reader.is_complete(), at_once.is_complete());
    assert_eq!(reader.end_time(), at_once.end_time());
}

#[test]
fn golden_files() {
    for path in fixtures_with("lt") {
        let file = std::fs::read(path).unwrap();
        check(&file, file.len() / 6 + 1);
    }
}

#[test]
fn byte_by_byte() {
    let file = crowd::trace();
    check(&file[..file.len().min(3000)], 1);
    check(&file, 40_009);
}
