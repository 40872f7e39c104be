//! `jit-<pid>.dump`: code that a program has made, record by record, as the kernel's
//! `tools/perf/Documentation/jitdump-specification.txt` says. The program maps the file, so that profilers
//! find it among its mappings.
//!
//! A record has its kind, its length and a time, of 4, 4 and 8 bytes. One that is not whole yet waits;
//! what makes no sense ends the reading.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Program;
use super::names::Names;

const MAGIC: u32 = 0x4a69_5444;
const LOAD: u32 = 0;
const MOVE: u32 = 1;

/// Of a record.
const HEAD: u64 = 16;
/// So much of a record is read: what it has but for the code.
const MOST_READ: u64 = 4096;

/// A file that is read as it grows.
#[derive(Debug)]
pub(super) struct JitDump {
    file: File,
    /// Where the next record begins; 0 before the file's header, which says where that ends.
    next: u64,
    is_broken: bool,
}

/// The file of a process, if it has mapped one.
pub(super) fn open(program: &Program) -> Option<File> {
    let maps = fs::read(super::directory(program.pid).join("maps")).ok()?;
    let name = format!("/jit-{}.dump", program.own_number?);
    let line = maps.split(|&byte| byte == b'\n').find(|line| line.ends_with(name.as_bytes()))?;
    let at = line.iter().position(|&byte| byte == b'/')?;
    program.open(Path::new(OsStr::from_bytes(&line[at..])))
}

impl JitDump {
    pub(super) fn new(file: File) -> JitDump {
        JitDump { file, next: 0, is_broken: false }
    }

    /// Takes what there is by now.
    pub(super) fn read_on(&mut self, names: &mut Names) {
        while !self.is_broken && self.read_next(names).is_some() {}
    }

    /// `None` if there is no whole record.
    fn read_next(&mut self, names: &mut Names) -> Option<()> {
        let length = self.file.metadata().ok()?.len();
        if self.next == 0 {
            let head = self.read(0, HEAD)?;
            self.is_broken = u32_at(&head, 0)? != MAGIC || u32_at(&head, 8)? < HEAD as u32;
            self.next = u32_at(&head, 8)?.into();
            return Some(());
        }
        let head = self.read(self.next, HEAD)?;
        let (kind, size) = (u32_at(&head, 0)?, u64::from(u32_at(&head, 4)?));
        if size < HEAD {
            self.is_broken = true;
            return None;
        }
        let end = self.next.checked_add(size).filter(|end| *end <= length)?;
        if matches!(kind, LOAD | MOVE) {
            let record = self.read(self.next, size.min(MOST_READ))?;
            // One that is too short for what it is has nothing to say.
            let _ = take(kind, &record, names);
        }
        self.next = end;
        Some(())
    }

    fn read(&self, from: u64, length: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, from).ok()?;
        Some(bytes)
    }
}

fn take(kind: u32, record: &[u8], names: &mut Names) -> Option<()> {
    match kind {
        LOAD => {
            let name = record.get(56..)?;
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
            let name = String::from_utf8_lossy(&name[..end]);
            names.insert(u64_at(record, 32)?, u64_at(record, 40)?, &name);
        }
        _ => names.shift(u64_at(record, 32)?, u64_at(record, 40)?, u64_at(record, 48)?),
    }
    Some(())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn header() -> Vec<u8> {
        let words = [MAGIC, 1, 40, 62, 0, 7, 0, 0, 0, 0];
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn record(kind: u32, fields: &[u64], rest: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        let size = HEAD as usize + 8 + 8 * fields.len() + rest.len();
        bytes.extend((size as u32).to_ne_bytes());
        bytes.extend(99u64.to_ne_bytes());
        // Process and thread.
        bytes.extend([7u32, 7].iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(fields.iter().flat_map(|field| field.to_ne_bytes()));
        bytes.extend(rest);
        bytes
    }

    fn load(address: u64, length: u64, name: &str) -> Vec<u8> {
        record(LOAD, &[address, address, length, 1], &[name.as_bytes(), b"\0code"].concat())
    }

    struct Scene {
        file: File,
        dump: JitDump,
        names: Names,
    }

    impl Scene {
        fn new() -> Scene {
            let file = tempfile::tempfile().unwrap();
            let dump = JitDump::new(file.try_clone().unwrap());
            Scene { file, dump, names: Names::default() }
        }

        fn write(&mut self, bytes: &[u8]) {
            self.file.write_all(bytes).unwrap();
            self.dump.read_on(&mut self.names);
        }
    }

    #[test]
    fn code_is_loaded_moved_and_replaced() {
        let mut scene = Scene::new();
        let first = load(0x1000, 0x100, "first");
        scene.write(&header()[..20]);
        scene.write(&header()[20..]);
        scene.write(&first[..30]);
        assert_eq!(scene.names.find(0x1000), None);
        scene.write(&first[30..]);
        assert_eq!(scene.names.find(0x10ff), Some("first"));
        // A kind that is not known is passed over.
        scene.write(&record(17, &[], b"any"));
        scene.write(&record(MOVE, &[0, 0x1000, 0x2000, 0x100, 1], b""));
        assert_eq!((scene.names.find(0x1000), scene.names.find(0x2010)), (None, Some("first")));
        scene.write(&load(0x2000, 0x10, "second"));
        assert_eq!((scene.names.find(0x2000), scene.names.find(0x2010)), (Some("second"), None));
    }

    #[test]
    fn what_makes_no_sense_ends_the_reading() {
        for bytes in [&[0u8; 200][..], &[header(), vec![0; 100]].concat()] {
            let mut scene = Scene::new();
            scene.write(bytes);
            scene.write(&load(0x1000, 0x100, "late"));
            assert!(scene.dump.is_broken && scene.names.find(0x1000).is_none());
        }
    }

    proptest! {
        #[test]
        fn damage_does_no_harm(place in 0..200usize, byte in any::<u8>(), length in 0..220usize) {
            let mut bytes = header();
            bytes.extend(load(0x1000, 0x100, "one"));
            bytes.extend(load(0x2000, 0x100, "two"));
            bytes.resize(220, 0);
            bytes[place] = byte;
            let mut scene = Scene::new();
            scene.write(&bytes[..length]);
            scene.write(&bytes[length..]);
        }
    }
}
