//! What a process had mapped, as Linux lists it in `/proc/PID/maps`: which file an address is in.

use std::collections::BTreeMap;

use super::super::naming::Spot;

/// All that was mapped from files.
#[derive(Debug, Default)]
pub struct Maps {
    by_start: BTreeMap<u64, Mapping>,
    /// In the order in which they come first, with where their beginnings are.
    pub files: Vec<MappedFile>,
}

/// A file, somewhere in the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedFile {
    pub path: String,
    /// From the lowest to the highest address, with whatever is in between.
    pub start: u64,
    pub end: u64,
    /// Where the beginning of the file is, if it is anywhere.
    pub beginning: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    end: u64,
    offset: u64,
    file: usize,
}

/// The range, the place in the file and its path, of a line.
type Row<'a> = (u64, u64, u64, &'a str);

impl Maps {
    /// Takes a line.
    ///
    /// # Errors
    /// If it is none of a list of mappings.
    pub fn take(&mut self, line: &str) -> Result<(), ()> {
        let (start, end, offset, path) = row(line).ok_or(())?;
        if path.starts_with('/') && start < end {
            let path = path.strip_suffix(" (deleted)").unwrap_or(path);
            let file = self.file(path, start);
            let known = &mut self.files[file];
            (known.start, known.end) = (known.start.min(start), known.end.max(end));
            if offset == 0 {
                known.beginning.get_or_insert(start);
            }
            self.by_start.insert(start, Mapping { end, offset, file });
        }
        Ok(())
    }

    /// Mappings of a file stand together, so the last is looked at first.
    fn file(&mut self, path: &str, start: u64) -> usize {
        let known = self.files.iter().rposition(|file| file.path == path);
        known.unwrap_or_else(|| {
            let path = path.to_owned();
            self.files.push(MappedFile { path, start, end: start, beginning: None });
            self.files.len() - 1
        })
    }

    /// The file that an address is in, by its index, and where in it.
    pub fn find(&self, address: u64) -> Option<(usize, Spot<'_>)> {
        let (start, mapping) = self.by_start.range(..=address).next_back()?;
        let inside = address - start;
        let file = &self.files[mapping.file];
        let spot = Spot {
            path: &file.path,
            build_id: &[],
            offset: mapping.offset.wrapping_add(inside),
            address,
            is_stated: false,
            start: file.beginning,
        };
        (address < mapping.end).then_some((mapping.file, spot))
    }
}

/// `55cc3626e000-55cc3626f000 r-xp 00001000 fe:00 10010799    /path`, where the path may be missing and
/// have spaces in it.
fn row(line: &str) -> Option<Row<'_>> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut rest = line;
    let mut word = || {
        let (word, after) = rest.trim_ascii_start().split_once(' ').unwrap_or((rest.trim(), ""));
        rest = after;
        word
    };
    let (start, end) = word().split_once('-')?;
    let permissions = word();
    let offset = word();
    let (_device, inode) = (word(), word());
    let is_row = permissions.len() == 4 && inode.bytes().all(|byte| byte.is_ascii_digit());
    let row = (number(start)?, number(end)?, number(offset)?, rest.trim_ascii());
    is_row.then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_file_around_it() {
        let mut maps = Maps::default();
        for line in [
            "1000-2000 r--p 00000000 fe:00 77                   /bin/with space",
            "2000-3000 r-xp 00001000 fe:00 77                   /bin/with space",
            "4000-5000 rw-p 00000000 00:00 0 ",
            "6000-7000 r-xp 00000000 00:00 0                    [vdso]",
            "8000-9000 r-xp 00003000 fe:00 78                   /lib/x.so (deleted)",
        ] {
            maps.take(line).unwrap();
        }
        let (file, spot) = maps.find(0x2abc).unwrap();
        assert_eq!((file, spot.path, spot.offset), (0, "/bin/with space", 0x1abc));
        assert_eq!((spot.address, spot.start), (0x2abc, Some(0x1000)));
        let (_, spot) = maps.find(0x8000).unwrap();
        assert_eq!((spot.path, spot.offset, spot.start), ("/lib/x.so", 0x3000, None));
        for address in [0, 0xfff, 0x3000, 0x4000, 0x6000, 0x9000, u64::MAX] {
            assert!(maps.find(address).is_none(), "{address:x}");
        }
        assert_eq!((maps.files[0].start, maps.files[0].end), (0x1000, 0x3000));
    }

    #[test]
    fn other_lines_are_none() {
        for line in ["", "hello", "1000-2000", "x-y r-xp 0 0:0 0", "1000 2000 r-xp 0 0:0 0 /x"] {
            assert!(Maps::default().take(line).is_err(), "{line}");
        }
    }
}
