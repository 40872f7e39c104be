//! What the kernel tells about a process, read while its agent waits for our welcome.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifetrace_trace::ids::Bytes;
use rustix::process::{Pid, getpid};

use crate::called;
use crate::container;
use crate::linker;
use crate::mapped_files::{MappedCode, mapped_files};
use crate::observe::kilobytes;
use crate::stat::Stat;
use crate::view::View;

/// A process image at the moment of its hello. Whatever `/proc` would not tell is empty.
#[derive(Debug)]
pub(crate) struct ProcessImage {
    pub(crate) pid: Pid,
    pub(crate) parent: u32,
    pub(crate) called: Called,
    /// What the kernel tells as its arguments.
    pub(crate) words: Vec<u8>,
    /// The program's file; not the dynamic linker's, where that was started to run it.
    pub(crate) executable: PathBuf,
    /// Open for reading even if the path is removed or replaced later.
    pub(crate) executable_file: Option<File>,
    /// The files that it sees.
    pub(crate) view: View,
    /// Id of its container.
    pub(crate) container: String,
    /// Memory that is of no file.
    pub(crate) anonymous: Bytes,
    /// Time since its start.
    pub(crate) age: Option<Duration>,
}

/// What a process was run as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Called {
    /// The program's name.
    pub(crate) name: String,
    /// The program's name first.
    pub(crate) arguments: Vec<String>,
}

impl ProcessImage {
    pub(crate) fn read(pid: Pid) -> ProcessImage {
        let directory = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
        let told = fs::read(directory.join("cmdline")).unwrap_or_default();
        let words = words(&told);
        let executable = executable(&directory);
        let image = ProcessImage {
            pid,
            parent: parent(&directory).unwrap_or(0),
            called: Called {
                name: called::name(&executable, &words, &kernels_name(&directory)),
                arguments: words.iter().map(|word| text(word)).collect(),
            },
            words: told.clone(),
            executable,
            executable_file: File::open(directory.join("exe")).ok(),
            view: View::of(&directory),
            container: container(&directory),
            anonymous: anonymous(&directory).unwrap_or(Bytes(0)),
            age: Stat::read(pid).and_then(|stat| stat.age()),
        };
        image.behind_linker(&directory, &words)
    }

    /// The program instead of the dynamic linker that was started to run it.
    fn behind_linker(mut self, directory: &Path, words: &[&[u8]]) -> ProcessImage {
        if self.executable_file.as_ref().is_some_and(linker::is_linker)
            && let Some(at) = linker::program(words)
            && let Some((path, file)) = linker::loaded(directory, words[at])
        {
            let Called { name, arguments } = &mut self.called;
            *name = called::of_word(words[at]).map_or(mem::take(name), text);
            arguments.drain(..at);
            self.executable = path;
            self.executable_file = Some(file);
        }
        self
    }

    /// The files of which code is mapped now, but for deleted ones.
    pub(crate) fn libraries(&self) -> Vec<File> {
        self.mapped_code().into_iter().map(|(_, file)| file).collect()
    }

    /// As [`libraries`](Self::libraries), and where the first code of each is.
    pub(crate) fn mapped_code(&self) -> Vec<(MappedCode, File)> {
        mapped_files(Path::new(&format!("/proc/{}", self.pid.as_raw_nonzero())))
    }

    /// The arguments joined by spaces, quoted where a shell would need it.
    pub(crate) fn command_line(&self) -> String {
        let quoted: Vec<String> = self.called.arguments.iter().map(|word| quote(word)).collect();
        quoted.join(" ")
    }
}

/// What this process was run as.
pub fn own_name() -> String {
    ProcessImage::read(getpid()).called.name
}

fn executable(directory: &Path) -> PathBuf {
    undeleted(&fs::read_link(directory.join("exe")).unwrap_or_default()).to_owned()
}

/// The path that a file had: the kernel marks those of files that are gone.
pub(crate) fn undeleted(path: &Path) -> &Path {
    match path.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
        Some(name) if !path.exists() => Path::new(OsStr::from_bytes(name)),
        _ => path,
    }
}

/// The parent of a process, if it has one that we can see.
pub(crate) fn parent_of(pid: Pid) -> Option<Pid> {
    let directory = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    Pid::from_raw(i32::try_from(parent(&directory)?).ok()?)
}

fn parent(directory: &Path) -> Option<u32> {
    let status = fs::read_to_string(directory.join("status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

fn anonymous(directory: &Path) -> Option<Bytes> {
    kilobytes(&fs::read(directory.join("status")).ok()?, "RssAnon:")
}

/// The arguments. A program that writes a title in their place fills the rest of it with zeros.
fn words(told: &[u8]) -> Vec<&[u8]> {
    let padding = told.iter().rev().take_while(|&&byte| byte == 0).count();
    // A single empty argument at the end is one.
    let rest = if padding > 2 { padding } else { padding.min(1) };
    let words = &told[..told.len() - rest];
    words.split(|&byte| byte == 0).filter(|_| !told.is_empty()).collect()
}

fn kernels_name(directory: &Path) -> Vec<u8> {
    let name = fs::read(directory.join("comm")).unwrap_or_default();
    name.strip_suffix(b"\n").map(<[u8]>::to_vec).unwrap_or(name)
}

fn text(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

fn container(directory: &Path) -> String {
    let groups = fs::read_to_string(directory.join("cgroup")).unwrap_or_default();
    container::id(&groups).to_owned()
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_image() {
        let image = ProcessImage::read(rustix::process::getpid());
        assert_eq!(image.executable, std::env::current_exe().unwrap());
        assert!(image.executable_file.is_some());
        assert_eq!(
            Some(image.parent),
            rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get() as u32)
        );
        assert!(image.command_line().contains("recorder"), "{}", image.command_line());
    }

    #[test]
    fn libraries_are_what_has_code() {
        use std::os::unix::fs::MetadataExt;
        let inode = |file: &File| file.metadata().unwrap().ino();
        let image = ProcessImage::read(rustix::process::getpid());
        let mapped: Vec<u64> = image.libraries().iter().map(inode).collect();
        assert!(mapped.contains(&inode(image.executable_file.as_ref().unwrap())));
        assert!(mapped.len() > 1, "no C library: {mapped:?}");
    }

    #[test]
    fn the_mark_of_the_deleted_is_no_part_of_a_name() {
        assert_eq!(undeleted(Path::new("/no/such (deleted)")), Path::new("/no/such"));
        assert_eq!(undeleted(Path::new("/no/such")), Path::new("/no/such"));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("odd (deleted)");
        fs::write(&path, "").unwrap();
        assert_eq!(undeleted(&path), path);
    }

    #[test]
    fn a_title_ends_where_it_ends() {
        let title: &[u8] = b"redis-server *:7711\0\0\0\0\0\0";
        assert_eq!(words(title), [b"redis-server *:7711"]);
        assert_eq!(words(b"a\0b\0"), [b"a", b"b"]);
        assert_eq!(words(b"a\0\0"), [&b"a"[..], b""]);
        assert!(words(b"").is_empty());
    }

    #[test]
    fn words_are_quoted_as_for_a_shell() {
        for (word, expected) in
            [("ls", "ls"), ("a b", "'a b'"), ("", "''"), ("it's", r"'it'\''s'"), ("--x=1", "--x=1")]
        {
            assert_eq!(quote(word), expected);
        }
    }
}
