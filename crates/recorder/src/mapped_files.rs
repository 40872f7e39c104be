//! The files of which a process runs code.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Code of a file, where a process has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MappedCode {
    pub(crate) path: PathBuf,
    pub(crate) start: u64,
    /// Where it begins in the file, in bytes.
    pub(crate) offset: u64,
}

/// The files that a process (a folder of `/proc`) has mapped to be executed, and where the first code of each is.
pub(crate) fn mapped_files(process: &Path) -> Vec<(MappedCode, File)> {
    let root = process.join("root");
    let maps = fs::read(process.join("maps")).unwrap_or_default();
    let mut mapped = mapped_code(&maps);
    mapped.dedup_by(|next, first| next.path == first.path);
    let path = |name: &Path| root.join(name.strip_prefix("/").unwrap_or(name));
    let opened = |it: MappedCode| open_regular(&path(&it.path)).map(|file| (it, file));
    mapped.into_iter().filter_map(opened).collect()
}

/// What `/proc/<pid>/maps` says of files that are mapped to be executed.
fn mapped_code(maps: &[u8]) -> Vec<MappedCode> {
    maps.split(|&byte| byte == b'\n').filter_map(code).collect()
}

/// The file of a line of `/proc/<pid>/maps`, if it is mapped there to be executed.
fn code(line: &[u8]) -> Option<MappedCode> {
    let (fields, path) = line.split_at(line.iter().position(|&byte| byte == b'/')?);
    let mut fields = str::from_utf8(fields).ok()?.split(' ');
    let (range, access, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, offset) = (number(range.split('-').next()?)?, number(offset)?);
    let path = PathBuf::from(OsStr::from_bytes(path));
    access.contains('x').then_some(MappedCode { path, start, offset })
}

/// Opening a device or a pipe could do anything.
pub(crate) fn open_regular(path: &Path) -> Option<File> {
    path.metadata().ok().filter(fs::Metadata::is_file)?;
    File::open(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_to_be_executed_has_code() {
        let line = |access: &str, path: &str| {
            code(format!("7f00-7f10 {access} 00001000 fd:01 1234    {path}").as_bytes())
        };
        let expected = MappedCode { path: "/lib/a b.so".into(), start: 0x7f00, offset: 0x1000 };
        assert_eq!(line("r-xp", "/lib/a b.so"), Some(expected));
        assert_eq!(line("r--p", "/lib/a.so"), None);
        assert_eq!(line("r-xp", "[vdso]"), None);
        assert_eq!(code(b""), None);
    }
}
