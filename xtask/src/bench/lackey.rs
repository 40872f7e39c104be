//! Every instruction and access of a program, by valgrind's lackey, which prints them.
//!
//! ```text
//! --12-- Reading syms from /usr/lib/libc.so.6     an object, and by how much it is displaced:
//! --12--    svma 0x26380, avma 0x4990380
//! I  0017cf38,5                                   an instruction, and what it reads and writes
//!  L 1ffeffe7e0,8
//! ```

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;

/// What a line of the trace says.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// An object is about to be named with its place.
    Object(PathBuf),
    /// So much further up are the addresses of the object that was named last.
    Displaced(u64),
    /// At this address.
    Instruction(u64),
    /// Of data at this address.
    Access(u64),
    /// Anything else that valgrind or the program says.
    Other,
}

/// Where an object is in memory, and the names in it.
pub struct Object {
    /// Its file.
    pub path: PathBuf,
    bias: u64,
    end: u64,
}

impl Line {
    /// Takes a line apart.
    pub fn of(line: &str) -> Line {
        parse(line).unwrap_or(Line::Other)
    }
}

fn parse(line: &str) -> Option<Line> {
    if let Some(place) = line.strip_prefix("I  ") {
        return address(place).map(Line::Instruction);
    }
    if let Some(place) = [" L ", " S ", " M "].iter().find_map(|kind| line.strip_prefix(kind)) {
        return address(place).map(Line::Access);
    }
    let said = line.strip_prefix("--")?.split_once("-- ")?.1;
    if let Some(path) = said.strip_prefix("Reading syms from ") {
        return Some(Line::Object(path.into()));
    }
    let (linked, placed) = said.trim().strip_prefix("svma 0x")?.split_once(", avma 0x")?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    number(placed)?.checked_sub(number(linked)?).map(Line::Displaced)
}

/// Of `0017cf38,5`.
fn address(place: &str) -> Option<u64> {
    u64::from_str_radix(place.split_once(',')?.0, 16).ok()
}

impl Object {
    /// The object of that file, displaced so far.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(path: PathBuf, bias: u64) -> Result<Object> {
        let mut readelf = Command::new("readelf");
        readelf.arg("-lW").arg(&path);
        let ends = shell::output(readelf)?;
        let end = ends.lines().filter_map(segment_end).max();
        let end = bias + end.with_context(|| format!("{}: no segments", path.display()))?;
        Ok(Object { path, bias, end })
    }

    /// Whether an address is in it.
    pub fn has(&self, address: u64) -> bool {
        (self.bias..self.end).contains(&address)
    }

    /// Its symbols, with their addresses.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn symbols(&self) -> Result<Vec<(String, u64)>> {
        let mut nm = Command::new("nm");
        nm.arg(&self.path);
        let text = shell::output(nm)?;
        let symbol = |line: &str| {
            let (value, rest) = line.split_once(' ')?;
            let value = u64::from_str_radix(value, 16).ok()?;
            Some((rest.split_once(' ')?.1.to_owned(), self.bias + value))
        };
        Ok(text.lines().filter_map(symbol).collect())
    }

    /// Whether its file is called that.
    pub fn is_called(&self, name: &str) -> bool {
        self.path.file_name() == Some(OsStr::new(name))
    }
}

/// Of `LOAD offset address physical_address file_size memory_size ...`.
fn segment_end(line: &str) -> Option<u64> {
    let mut words = line.trim().strip_prefix("LOAD ")?.split_whitespace();
    let mut number =
        |skipped| u64::from_str_radix(words.nth(skipped)?.strip_prefix("0x")?, 16).ok();
    let address = number(1)?;
    Some(address + number(2)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        assert_eq!(Line::of("I  0017cf38,5"), Line::Instruction(0x17_cf38));
        assert_eq!(Line::of(" L 1ffeffe7e0,8"), Line::Access(0x1f_feff_e7e0));
        assert_eq!(Line::of(" S 10,4"), Line::Access(0x10));
        assert_eq!(Line::of(" M 10,4"), Line::Access(0x10));
        let object = Line::Object("/lib/x y.so".into());
        assert_eq!(Line::of("--1-- Reading syms from /lib/x y.so"), object);
        let displaced = Line::Displaced(0x496_a000);
        assert_eq!(Line::of("--1--    svma 0x0000026380, avma 0x0004990380"), displaced);
        for other in [
            "",
            "I  x,5",
            "==1== Lackey",
            "--1-- Reading",
            "Interesting",
            " L 10",
            "--1-- svma 0x2, avma 0x1",
        ] {
            assert_eq!(Line::of(other), Line::Other, "{other}");
        }
    }

    #[test]
    fn a_segment_ends_where_its_memory_does() {
        let line = "  LOAD           0x02ea00 0x031a00 0x031a00 0x001488 0x013564 RW  0x1000";
        assert_eq!(segment_end(line), Some(0x03_1a00 + 0x01_3564));
        assert_eq!(segment_end("  DYNAMIC        0x02e740 0x030740"), None);
    }
}
