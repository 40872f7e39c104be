//! The symbols that Fedora's programs have for those without debug information (`.gnu_debugdata`): a
//! file of its own, compressed by xz.

use std::fs::File;
use std::io::{self, Read};

use object::read::ReadCache;
use object::{Object, ObjectSection};
use rustix::fs::{MemfdFlags, memfd_create};

/// No more is unpacked, in bytes.
const LARGEST: u64 = 256 << 20;

/// That file of `file`, unpacked into memory, if it has one and no symbol table besides.
pub(super) fn symbols(file: &File) -> Option<File> {
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    if object.symbol_table().is_some() {
        return None;
    }
    let packed = object.section_by_name(".gnu_debugdata")?.data().ok()?;
    unpacked(packed).ok()
}

fn unpacked(packed: &[u8]) -> io::Result<File> {
    let mut unpacked = lzma_rust2::XzReader::new(packed, true).take(LARGEST);
    let mut file = File::from(memfd_create("symbols", MemfdFlags::CLOEXEC)?);
    io::copy(&mut unpacked, &mut file)?;
    Ok(file)
}
