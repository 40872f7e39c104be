//! What a process has mapped, as `/proc/<pid>/maps` tells it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A part of a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) range: Range<u64>,
    pub(crate) is_readable: bool,
    pub(crate) is_writable: bool,
    pub(crate) is_executable: bool,
    pub(crate) is_shared: bool,
    /// Where it begins in its file.
    pub(crate) offset: u64,
    /// The file's number in its file system; 0 if there is none.
    pub(crate) inode: u64,
    /// The file's path, or what the kernel calls it; empty where it is of no file and has no name.
    pub(crate) name: Arc<OsStr>,
}

/// Of a session's shared memory.
const OURS: &[u8] = b"/memfd:lifetrace";

/// Larger ones that nobody may read are reserved for later, and empty.
const MOST_HIDDEN: u64 = 1 << 30;

impl Mapping {
    /// Of a file, or of memory that is called like one.
    pub(crate) fn is_of_file(&self) -> bool {
        self.name.as_bytes().starts_with(b"/")
    }

    /// Where its file may be. The kernel says from where its file system begins, which for a process (a folder of `/proc`) in
    /// a container is its own root; one that has changed its root within a file system does not see what is above.
    pub(crate) fn places(&self, process: &Path) -> [PathBuf; 2] {
        let path = Path::new(&*self.name);
        let inside = path.strip_prefix("/").unwrap_or(path);
        [process.join("root").join(inside), path.to_owned()]
    }

    /// Whether the program may have left pointers in it.
    pub(crate) fn may_hold_pointers(&self) -> bool {
        let name = self.name.as_bytes();
        let is_kernels = name.starts_with(b"[v");
        let is_written = self.is_writable || !self.is_shared;
        let is_reserved = !self.is_readable && self.length() > MOST_HIDDEN;
        is_written && !is_kernels && !is_reserved && !name.starts_with(OURS)
    }

    /// Whether it is memory of no file that a program, or a library for it, has asked for.
    pub(crate) fn is_anonymous(&self) -> bool {
        /// What the system calls those that are shared, and those of huge pages.
        const SHARED: [&[u8]; 2] = [b"/dev/zero (deleted)", b"/anon_hugepage"];
        let name = self.name.as_bytes();
        let is_shared = SHARED.iter().any(|shared| name.starts_with(shared));
        name.is_empty() || name == b"[heap]" || name.starts_with(b"[anon") || is_shared
    }

    /// Whether it is the beginning of a session's shared memory.
    pub(crate) fn is_session(&self) -> bool {
        let name = self.name.as_bytes();
        let rest = name.strip_prefix(OURS).filter(|_| self.is_shared && self.offset == 0);
        matches!(rest, Some(b"" | b" (deleted)"))
    }

    pub(crate) fn length(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// A line of `/proc/<pid>/maps`, or one of `smaps` that is as those.
    pub(crate) fn parse(line: &[u8]) -> Option<Mapping> {
        let mut fields = line.splitn(6, |&byte| byte == b' ');
        let mut field = || str::from_utf8(fields.next()?).ok();
        let (range, access, offset) = (field()?, field()?, field()?);
        let (start, end) = range.split_once('-')?;
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        let inode = str::from_utf8(fields.nth(1)?).ok()?.parse().ok()?;
        Some(Mapping {
            range: number(start)?..number(end)?,
            is_readable: access.contains('r'),
            is_writable: access.contains('w'),
            is_executable: access.contains('x'),
            is_shared: access.ends_with('s'),
            offset: number(offset)?,
            inode,
            name: OsStr::from_bytes(fields.next().unwrap_or_default().trim_ascii_start()).into(),
        })
    }
}

/// All that a process (a folder of `/proc`) has mapped, in order of address.
pub(crate) fn read(process: &Path) -> io::Result<Vec<Mapping>> {
    let text = fs::read(process.join("maps"))?;
    Ok(text.split(|&byte| byte == b'\n').filter_map(Mapping::parse).collect())
}

/// Of each file that a process (a folder of `/proc`) has mapped, the first mapping that is `wanted`.
pub(crate) fn first_of_files(
    process: &Path,
    wanted: impl Fn(&Mapping) -> bool,
) -> impl Iterator<Item = Mapping> {
    let mut mapped = read(process).unwrap_or_default();
    mapped.retain(|it| it.is_of_file() && wanted(it));
    mapped.dedup_by(|next, first| next.name == first.name);
    mapped.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Mapping {
        Mapping::parse(line.as_bytes()).unwrap()
    }

    #[test]
    fn lines_are_read() {
        let line = "7f01a000-7f01b000 rw-p 00002000 fd:01 1234                 /lib/a b.so";
        let mapping = parse(line);
        assert_eq!(mapping.range, 0x7f01_a000..0x7f01_b000);
        assert_eq!((mapping.offset, &*mapping.name), (0x2000, OsStr::new("/lib/a b.so")));
        assert!(mapping.is_writable && !mapping.is_executable && mapping.may_hold_pointers());
        let places = mapping.places(Path::new("/proc/1"));
        assert_eq!(
            places.each_ref().map(|it| it.to_str().unwrap()),
            ["/proc/1/root/lib/a b.so", "/lib/a b.so"]
        );
        assert_eq!(mapping.inode, 1234);
        let bare = parse("7f00-8000 rw-s 00000000 00:00 0");
        assert!(bare.is_shared && bare.name.is_empty() && bare.may_hold_pointers());
        assert!(!parse("7f00-8000 r--p 00000000 00:00 0    [vvar]").may_hold_pointers());
        let ours = "7f00-8000 rw-s 00000000 00:01 9    /memfd:lifetrace (deleted)";
        let is_session = |line: &str| Mapping::parse(line.as_bytes()).unwrap().is_session();
        assert!(is_session(ours) && !is_session(&ours.replace("00000000", "00001000")));
        assert!(!is_session(&ours.replace("memfd:lifetrace", "memfd:lifetraced")));
        assert!(!parse(ours).may_hold_pointers());
        assert_eq!(Mapping::parse(b""), None);
        // A path is whatever bytes the system allows.
        let odd = Mapping::parse(b"7f00-8000 r-xp 00000000 fd:01 1 /lib/\xff.so").unwrap();
        assert_eq!(odd.name.as_bytes(), b"/lib/\xff.so");
    }

    #[test]
    fn a_file_comes_once() {
        let is_code = |mapping: &Mapping| mapping.is_executable;
        let own = std::env::current_exe().unwrap();
        let files: Vec<Mapping> = first_of_files(Path::new("/proc/self"), is_code).collect();
        assert_eq!(files.iter().filter(|it| *it.name == *own.as_os_str()).count(), 1);
        assert!(files.iter().all(|it| it.is_executable && it.is_of_file()));
    }
}
