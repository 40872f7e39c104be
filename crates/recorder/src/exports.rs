//! Whether a program exports a symbol, by its hash table: some ten short reads, however many there are.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// A walk along a chain of the table that is longer is one in a damaged file.
const LONGEST_CHAIN: u32 = 1 << 16;

/// Most segments and dynamic entries that are looked at.
const MOST_ENTRIES: u64 = 1 << 10;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PF_W: u32 = 2;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

/// A 64-bit little-endian ELF file.
#[derive(Debug)]
pub(crate) struct Elf<'a> {
    file: &'a File,
    loaded: Vec<Segment>,
    dynamic: Option<Segment>,
}

/// A part of the file, and where it is in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) is_writable: bool,
    address: u64,
}

/// The dynamic symbols of a file.
#[derive(Debug)]
pub(crate) struct Exports<'a> {
    elf: &'a Elf<'a>,
    symbols: u64,
    strings: u64,
    table: Table,
}

/// Where it is in the file.
#[derive(Clone, Copy, Debug)]
enum Table {
    Gnu(u64),
    SystemV(u64),
}

impl<'a> Elf<'a> {
    /// `None` of other files.
    pub(crate) fn open(file: &'a File) -> Option<Elf<'a>> {
        let header: [u8; 64] = read(file, 0)?;
        if !header.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let mut elf = Elf { file, loaded: Vec::new(), dynamic: None };
        let (table, size) = (word(&header, 32), u64::from(half(&header, 54)));
        for index in 0..u64::from(half(&header, 56)).min(MOST_ENTRIES) {
            let entry: [u8; 56] = read(file, table.checked_add(index * size)?)?;
            let segment = Segment {
                offset: word(&entry, 8),
                length: word(&entry, 32),
                is_writable: small(&entry, 4) & PF_W != 0,
                address: word(&entry, 16),
            };
            match small(&entry, 0) {
                PT_LOAD => elf.loaded.push(segment),
                PT_DYNAMIC => elf.dynamic = Some(segment),
                _ => {}
            }
        }
        Some(elf)
    }

    /// What is loaded, in the order of addresses.
    pub(crate) fn loaded(&self) -> &[Segment] {
        &self.loaded
    }

    /// `None` where there are none, as in a static program.
    pub(crate) fn exports(&self) -> Option<Exports<'_>> {
        let dynamic = self.dynamic?;
        let (mut symbols, mut strings, mut gnu, mut system_v) = (None, None, None, None);
        for index in 0..(dynamic.length / 16).min(MOST_ENTRIES) {
            let entry: [u8; 16] = read(self.file, dynamic.offset.checked_add(index * 16)?)?;
            let place = self.place(word(&entry, 8));
            match word(&entry, 0) {
                DT_SYMTAB => symbols = place,
                DT_STRTAB => strings = place,
                DT_GNU_HASH => gnu = place.map(Table::Gnu),
                DT_HASH => system_v = place.map(Table::SystemV),
                _ => {}
            }
        }
        Some(Exports { elf: self, symbols: symbols?, strings: strings?, table: gnu.or(system_v)? })
    }

    /// Where in the file an address is.
    fn place(&self, address: u64) -> Option<u64> {
        let holds =
            |it: &&Segment| address.checked_sub(it.address).is_some_and(|at| at < it.length);
        let segment = self.loaded.iter().find(holds)?;
        segment.offset.checked_add(address - segment.address)
    }
}

impl Exports<'_> {
    /// Whether a symbol of this name is defined here.
    pub(crate) fn has(&self, name: &str) -> bool {
        let found = match self.table {
            Table::Gnu(table) => self.find_gnu(table, name.as_bytes()),
            Table::SystemV(table) => self.find_system_v(table, name.as_bytes()),
        };
        found.is_some()
    }

    fn find_gnu(&self, table: u64, name: &[u8]) -> Option<()> {
        let header: [u8; 16] = self.read(table)?;
        let field = |index: usize| u64::from(small(&header, index * 4));
        let (buckets, first, filters) = (field(0), field(1), field(2));
        let hash = gnu_hash(name);
        if buckets == 0 || filters == 0 {
            return None;
        }
        let filter_at = u64::from(hash / 64) % filters * 8;
        let filter = u64::from_le_bytes(self.read(table.checked_add(16 + filter_at)?)?);
        let other = hash.checked_shr(small(&header, 12)).unwrap_or(0);
        if filter >> (hash % 64) & filter >> (other % 64) & 1 == 0 {
            return None;
        }
        let buckets_at = table.checked_add(16 + filters * 8)?;
        let chains = buckets_at.checked_add(buckets * 4)?;
        let begin = u64::from(self.small(buckets_at.checked_add(u64::from(hash) % buckets * 4)?)?);
        let begin = begin.checked_sub(first).filter(|_| begin != 0)?;
        for index in (begin..).take(LONGEST_CHAIN as usize) {
            let entry = self.small(chains.checked_add(index * 4)?)?;
            if entry | 1 == hash | 1 && self.is(first + index, name) {
                return Some(());
            }
            if entry & 1 == 1 {
                break;
            }
        }
        None
    }

    fn find_system_v(&self, table: u64, name: &[u8]) -> Option<()> {
        let buckets = u64::from(self.small(table)?);
        let bucket = u64::from(system_v_hash(name)).checked_rem(buckets)?;
        let mut index = u64::from(self.small(table.checked_add(8 + bucket * 4)?)?);
        for _ in 0..LONGEST_CHAIN {
            if index == 0 {
                break;
            }
            if self.is(index, name) {
                return Some(());
            }
            index = u64::from(self.small(table.checked_add(8 + (buckets + index) * 4)?)?);
        }
        None
    }

    /// Whether the symbol is called so, and is not one that is looked for elsewhere.
    fn is(&self, index: u64, name: &[u8]) -> bool {
        let is_so = || {
            let symbol: [u8; 24] = self.read(self.symbols.checked_add(index.checked_mul(24)?)?)?;
            let string = self.strings.checked_add(u64::from(small(&symbol, 0)))?;
            let mut found = vec![0; name.len() + 1];
            self.elf.file.read_exact_at(&mut found, string).ok()?;
            Some(half(&symbol, 6) != 0 && found.strip_suffix(b"\0") == Some(name))
        };
        is_so().unwrap_or(false)
    }

    fn small(&self, offset: u64) -> Option<u32> {
        self.read(offset).map(u32::from_le_bytes)
    }

    fn read<const N: usize>(&self, offset: u64) -> Option<[u8; N]> {
        read(self.elf.file, offset)
    }
}

fn read<const N: usize>(file: &File, offset: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn small(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) | u32::from(half(bytes, at + 2)) << 16
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from(small(bytes, at)) | u64::from(small(bytes, at + 4)) << 32
}

fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

fn system_v_hash(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, &byte| {
        let hash = (hash << 4).wrapping_add(byte.into());
        (hash ^ hash >> 24 & 0xf0) & 0x0fff_ffff
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Command;

    /// A library of three hundred functions, of which one is only called.
    fn library(style: &str) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let mut source =
            "int elsewhere(void);\nint caller(void) { return elsewhere(); }\n".to_owned();
        source
            .extend((0..300).map(|index| format!("int function_{index}(void) {{ return 1; }}\n")));
        source.push_str("static __attribute__((used)) int hidden(void) { return 2; }\n");
        std::fs::write(directory.path().join("a.c"), source).unwrap();
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-o", "a.so", "a.c", &format!("-Wl,--hash-style={style}")])
            .current_dir(directory.path())
            .status()
            .unwrap();
        assert!(status.success());
        std::fs::read(directory.path().join("a.so")).unwrap()
    }

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn has(file: &File, name: &str) -> bool {
        let elf = Elf::open(file);
        elf.as_ref().and_then(Elf::exports).is_some_and(|exports| exports.has(name))
    }

    #[test]
    fn what_is_defined_is_found_by_either_table() {
        for style in ["gnu", "sysv", "both"] {
            let file = file(&library(style));
            for index in 0..300 {
                assert!(has(&file, &format!("function_{index}")), "{style} {index}");
            }
            for name in ["function_300", "function_", "function_12 ", "elsewhere", "hidden", ""] {
                assert!(!has(&file, name), "{style} {name}");
            }
        }
    }

    #[test]
    fn what_is_no_such_file_exports_nothing() {
        for bytes in [&b""[..], b"\x7fELF", b"#!/bin/sh\n", &[0x7f; 4096]] {
            assert!(!has(&file(bytes), "main"));
        }
    }

    #[test]
    fn damage_does_no_harm() {
        for style in ["gnu", "sysv"] {
            let whole = library(style);
            for length in (0..4096.min(whole.len())).step_by(61) {
                has(&file(&whole[..length]), "function_7");
            }
            // All of the headers and tables, one byte after the other.
            for at in 0..whole.len().min(12 << 10) {
                let mut bytes = whole.clone();
                bytes[at] = 0xff;
                if at % 7 == 0 || at < 700 {
                    has(&file(&bytes), "function_7");
                }
            }
        }
    }
}
