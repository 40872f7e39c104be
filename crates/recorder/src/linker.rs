//! Programs that are started by naming their dynamic linker (`ld.so --library-path lib ./program`), as
//! bundles do that bring a C library of their own.
//!
//! The kernel takes the linker for the program: it is what `/proc/<pid>/exe` leads to, and it stands
//! first among the arguments. What it runs is its first argument that is no option.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::exports::Elf;
use crate::mapped_files::{mapped_files, open_regular};

/// What no other file exports: the state of glibc's dynamic linker.
const STATE: &str = "_rtld_global";

/// Options that take a word of their own.
const WITH_VALUE: [&[u8]; 7] = [
    b"--library-path",
    b"--glibc-hwcaps-prepend",
    b"--glibc-hwcaps-mask",
    b"--inhibit-rpath",
    b"--audit",
    b"--preload",
    b"--argv0",
];

/// Options with which nothing is run.
const RUN_NOTHING: [&[u8]; 6] =
    [b"--list", b"--verify", b"--list-tunables", b"--list-diagnostics", b"--help", b"--version"];

/// Whether a file is glibc's dynamic linker.
pub(crate) fn is_linker(file: &File) -> bool {
    let elf = Elf::open(file);
    elf.as_ref().and_then(Elf::exports).is_some_and(|exports| exports.has(STATE))
}

/// Which of a linker's arguments, its own name first, is the program; `None` if it is to run none.
pub(crate) fn program<S: AsRef<[u8]>>(arguments: &[S]) -> Option<usize> {
    let mut at = 1;
    loop {
        match arguments.get(at)?.as_ref() {
            word if RUN_NOTHING.contains(&word) => return None,
            word if WITH_VALUE.contains(&word) => at += 2,
            word if word.starts_with(b"--") => at += 1,
            _ => return Some(at),
        }
    }
}

/// The file that a linker has loaded for `word` as the program of the process in `directory` (of
/// `/proc`), and its path as the process sees it.
pub(crate) fn loaded(directory: &Path, word: &[u8]) -> Option<(PathBuf, File)> {
    let named = named(directory, Path::new(std::ffi::OsStr::from_bytes(word)));
    let named = named.and_then(|file| identity(&file));
    // A program named without a folder is looked for among the libraries.
    let is_it = |path: &Path, file: &File| match named {
        Some(named) => identity(file) == Some(named),
        None => path.file_name().is_some_and(|name| name.as_bytes() == word),
    };
    let mut files = mapped_files(directory).into_iter().map(|(mapped, file)| (mapped.path, file));
    files.find(|(path, file)| is_it(path, file))
}

/// The file of this name, seen from where the process is.
fn named(directory: &Path, name: &Path) -> Option<File> {
    let path = match name.strip_prefix("/") {
        Ok(inside) => directory.join("root").join(inside),
        Err(_) if name.as_os_str().as_bytes().contains(&b'/') => directory.join("cwd").join(name),
        Err(_) => return None,
    };
    open_regular(&path)
}

fn identity(file: &File) -> Option<(u64, u64)> {
    file.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_comes_after_the_options() {
        let program = |line: &'static str| {
            let words: Vec<&str> = line.split(' ').collect();
            program(&words).map(|at| words[at])
        };
        assert_eq!(program("ld.so ./work 1"), Some("./work"));
        assert_eq!(program("ld.so --library-path lib --argv0 x ./work --list"), Some("./work"));
        assert_eq!(program("ld.so --inhibit-cache --preload a.so:b.so work"), Some("work"));
        assert_eq!(program("ld.so --some-later-option ./work"), Some("./work"));
        for nothing in ["ld.so", "ld.so --list ./work", "ld.so --preload", "ld.so --version"] {
            assert_eq!(program(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_linker_is_no_other_file() {
        let ours = PathBuf::from("/proc/self");
        let linkers: Vec<_> = mapped_files(&ours)
            .into_iter()
            .filter(|(_, file)| is_linker(file))
            .map(|(it, _)| it.path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert!(!linkers.is_empty() && linkers.iter().all(|name| name.starts_with("ld-")));
    }

    #[test]
    fn what_is_loaded_is_found_by_its_name() {
        let ours = PathBuf::from("/proc/self");
        let executable = std::env::current_exe().unwrap();
        let found = |word: &[u8]| loaded(&ours, word).map(|(path, _)| path);
        assert_eq!(found(executable.as_os_str().as_bytes()), Some(executable.clone()));
        assert_eq!(found(executable.file_name().unwrap().as_bytes()), Some(executable));
        assert_eq!(found(b"/bin/sh"), None);
        assert_eq!(found(b"no-such"), None);
    }
}
