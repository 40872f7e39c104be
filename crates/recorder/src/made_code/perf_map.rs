//! `/tmp/perf-<pid>.map`: node with `--perf-basic-prof`, Java with an agent or `jcmd Compiler.perfmap`,
//! .NET, LuaJIT and others.
//!
//! A line is an address and a length, both in hexadecimal, and a name. Lines that make no sense are
//! passed over.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Program;
use super::names::Names;

/// So much is read at once.
const CHUNK: usize = 1 << 16;

/// A line that is longer has no name that anybody could read.
const LONGEST_LINE: usize = 1 << 14;

/// A file that is read as it grows.
#[derive(Debug)]
pub(super) struct PerfMap {
    file: File,
    /// How far it has been read.
    read: u64,
    /// A line that is not whole yet.
    rest: Vec<u8>,
}

/// A process's file.
pub(super) fn open(program: &Program) -> Option<File> {
    program.open(Path::new(&format!("/tmp/perf-{}.map", program.own_number?)))
}

impl PerfMap {
    pub(super) fn new(file: File) -> PerfMap {
        PerfMap { file, read: 0, rest: Vec::new() }
    }

    /// Takes what there is by now.
    pub(super) fn read_on(&mut self, names: &mut Names) {
        if self.file.metadata().is_ok_and(|metadata| metadata.len() <= self.read) {
            return;
        }
        let mut chunk = vec![0; CHUNK];
        while let Ok(length @ 1..) = self.file.read_at(&mut chunk, self.read) {
            self.read += length as u64;
            self.rest.extend_from_slice(&chunk[..length]);
            self.take_lines(names);
        }
    }

    fn take_lines(&mut self, names: &mut Names) {
        let whole = self.rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        for line in self.rest[..whole].split(|&byte| byte == b'\n') {
            take(line, names);
        }
        self.rest.drain(..whole);
        if self.rest.len() > LONGEST_LINE {
            self.rest.clear();
        }
    }
}

fn take(line: &[u8], names: &mut Names) {
    let line = String::from_utf8_lossy(line);
    if let Some((start, length, name)) = parse(&line) {
        names.insert(start, length, name);
    }
}

/// Address, length and name.
fn parse(line: &str) -> Option<(u64, u64, &str)> {
    let (start, rest) = line.split_once(' ')?;
    let (length, name) = rest.split_once(' ')?;
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let (start, length) = (number(start)?, number(length)?);
    let is_sound = length > 0 && start.checked_add(length).is_some() && !name.trim().is_empty();
    is_sound.then_some((start, length, name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn names(text: &str) -> Names {
        let mut names = Names::default();
        text.lines().for_each(|line| take(line.as_bytes(), &mut names));
        names
    }

    #[test]
    fn a_later_line_takes_the_place_of_earlier_ones() {
        let names = names("1000 100 a\n1100 80 b\n0x1080 0x90 c d\nzork\n1 2\n10 0 e\n20 30  \n");
        for (address, expected) in [
            (0xfff, None),
            (0x1000, Some("a")),
            (0x107f, Some("a")),
            (0x1080, Some("c d")),
            (0x110f, Some("c d")),
            (0x1110, None),
            (0x20, None),
        ] {
            assert_eq!(names.find(address), expected, "{address:x}");
        }
    }

    #[test]
    fn a_file_is_read_on_as_it_grows() {
        let mut file = tempfile::tempfile().unwrap();
        let mut map = PerfMap::new(file.try_clone().unwrap());
        let mut names = Names::default();
        let mut located = |address| {
            map.read_on(&mut names);
            names.find(address).map(str::to_owned)
        };
        assert_eq!(located(0x1000), None);
        write!(file, "1000 10 first\n2000 10 sec").unwrap();
        assert_eq!(located(0x1000).as_deref(), Some("first"));
        assert_eq!(located(0x2000), None);
        writeln!(file, "ond").unwrap();
        assert_eq!(located(0x2000).as_deref(), Some("second"));
    }

    proptest! {
        #[test]
        fn whatever_there_is_names_do_not_overlap(
            lines in prop::collection::vec("[0-9a-fx]{1,3} [0-9a-f]{1,3} [a-zA-Z:*/ 0-9]{0,12}|.*", 0..60),
        ) {
            let names = names(&lines.join("\n"));
            names.check();
        }
    }
}
