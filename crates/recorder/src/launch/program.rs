//! Which file a command names, and whether the agent could be loaded into it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lifetrace_transport::handshake::JOINS_MARK;
use rustix::fs::{Access, StatVfsMountFlags, access, getxattr, statvfs};
use rustix::io::Errno;

use super::elf::{self, Image};
use super::{LaunchError, Untraceable};
use crate::called;
use crate::linker;
use crate::mapped_files::open_regular;
use crate::program_file::mentions;
use crate::runtimes;

/// An executable that has been looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// What to execute.
    pub(crate) path: PathBuf,
    /// The ELF file that will run: `path` itself, its interpreter, or the program that a dynamic
    /// linker is told to run.
    pub(crate) image: PathBuf,
}

const SCRIPT_DEPTH: usize = 4;
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl Program {
    /// Finds and checks what a command names by its first word. If that is a dynamic linker, the
    /// program that the others have it run is checked, too.
    ///
    /// # Errors
    /// Any [`LaunchError`] but `Spawn`.
    pub(crate) fn of(command: &[OsString], search: Option<&OsStr>) -> Result<Program, LaunchError> {
        let name = command.first().ok_or(LaunchError::Empty)?;
        let program = Program::find(name, search)?;
        match behind_linker(&program.path, command) {
            // What is not there, or no program, the linker tells itself.
            Some(image) if is_elf(&image) => {
                check_machine_and_linking(&image)?;
                Ok(Program { image, ..program })
            }
            _ => Ok(program),
        }
    }

    /// Finds and checks the program of this name.
    ///
    /// # Errors
    /// Any [`LaunchError`] but `Spawn`.
    pub(crate) fn find(name: &OsStr, search: Option<&OsStr>) -> Result<Program, LaunchError> {
        let path = locate(name, search.unwrap_or(OsStr::new(DEFAULT_PATH)))?;
        let image = image_of(&path, SCRIPT_DEPTH)?;
        Ok(Program { path, image })
    }

    /// What it is called when it is run by this command.
    pub(crate) fn called(&self, command: &[OsString]) -> String {
        let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
        let path = self.path.file_name().unwrap_or_default().as_bytes();
        match self.image == self.path {
            true => called::name(&self.path, &words, path),
            false => called::name(&self.image, &[b""; 0], b""),
        }
    }
}

/// What a dynamic linker is to run. One without a folder is looked for among the libraries, and is not
/// known before.
fn behind_linker(path: &Path, command: &[OsString]) -> Option<PathBuf> {
    File::open(path).ok().filter(linker::is_linker)?;
    let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
    let program = &command[linker::program(&words)?];
    program.as_bytes().contains(&b'/').then(|| PathBuf::from(program))
}

fn is_elf(path: &Path) -> bool {
    let mut start = [0; 4];
    let file = open_regular(path);
    file.is_some_and(|mut file| file.read_exact(&mut start).is_ok()) && start == *b"\x7fELF"
}

fn locate(name: &OsStr, search: &OsStr) -> Result<PathBuf, LaunchError> {
    if name.as_bytes().contains(&b'/') {
        return executable(Path::new(name)).map(|()| name.into());
    }
    let mut refused = LaunchError::NotFound(name.into());
    for directory in std::env::split_paths(search).filter(|_| !name.is_empty()) {
        // An empty entry is the current directory.
        let path = if directory.as_os_str().is_empty() {
            Path::new(".").join(name)
        } else {
            directory.join(name)
        };
        match executable(&path) {
            Ok(()) => return Ok(path),
            Err(error @ LaunchError::NotExecutable { .. }) => refused = error,
            Err(_) => {}
        }
    }
    Err(refused)
}

fn executable(path: &Path) -> Result<(), LaunchError> {
    let refuse =
        |reason: &str| Err(LaunchError::NotExecutable { path: path.into(), reason: reason.into() });
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => refuse("is a directory"),
        Ok(metadata) if !metadata.is_file() => refuse("is not a regular file"),
        Ok(_) => access(path, Access::EXEC_OK).or_else(|_| refuse("is not executable (chmod +x)")),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            refuse("permission denied")
        }
        Err(_) => Err(LaunchError::NotFound(path.into())),
    }
}

/// The ELF file behind `path`, through at most `depth` scripts; checked for traceability.
fn image_of(path: &Path, depth: usize) -> Result<PathBuf, LaunchError> {
    let refuse = |reason: String| LaunchError::NotExecutable { path: path.into(), reason };
    let mut start = Vec::new();
    // A file that can be executed but not read is the kernel's business.
    let Ok(file) = File::open(path) else { return Ok(path.into()) };
    file.take(256).read_to_end(&mut start).map_err(|error| refuse(error.to_string()))?;
    match start.as_slice() {
        [0x7f, b'E', b'L', b'F', ..] => check_elf(path).map(|()| path.into()),
        [b'#', b'!', ..] if depth == 0 => Err(refuse("too many nested scripts".into())),
        [b'#', b'!', line @ ..] => {
            let interpreter =
                interpreter(line).ok_or_else(|| refuse("has an empty #! line".into()))?;
            executable(&interpreter)
                .map_err(|error| refuse(format!("its #! line names {error}")))?;
            image_of(&interpreter, depth - 1)
        }
        _ => Err(refuse(
            "is neither an ELF program nor a script with a #! line; \
             if it is a shell script, trace `sh` with it as its argument"
                .into(),
        )),
    }
}

fn interpreter(line: &[u8]) -> Option<PathBuf> {
    let line = line.split(|&byte| byte == b'\n').next()?;
    let mut words =
        line.split(|&byte| byte == b' ' || byte == b'\t').filter(|word| !word.is_empty());
    words.next().map(|word| PathBuf::from(OsStr::from_bytes(word)))
}

fn check_elf(path: &Path) -> Result<(), LaunchError> {
    check_machine_and_linking(path)?;
    match gains_privileges(path) {
        Some(reason) => Err(LaunchError::Untraceable { path: path.into(), reason }),
        None => Ok(()),
    }
}

/// Who executes a program in what way is another matter.
fn check_machine_and_linking(path: &Path) -> Result<(), LaunchError> {
    let untraceable = |reason| LaunchError::Untraceable { path: path.into(), reason };
    let refuse = |reason: String| LaunchError::NotExecutable { path: path.into(), reason };
    let file = File::open(path).map_err(|error| refuse(error.to_string()))?;
    match elf::image(&file) {
        Ok(Image::Dynamic | Image::Linker) => Ok(()),
        // It comes to us by itself.
        Ok(Image::Untraceable(Untraceable::Static)) if mentions(&file, JOINS_MARK) => Ok(()),
        Ok(Image::Untraceable(Untraceable::Static)) => Err(untraceable(why_static(&file))),
        Ok(Image::Untraceable(reason)) => Err(untraceable(reason)),
        Err(reason) => Err(refuse(reason)),
    }
}

fn why_static(file: &File) -> Untraceable {
    if elf::is_of_go(file) {
        return Untraceable::Go;
    }
    let runtime = runtimes::in_static_program(file);
    runtime.map_or(Untraceable::Static, |it| Untraceable::StaticRuntime(it.of_static_program()))
}

/// Why no agent could be in a program of this file; none is known of what is no program.
pub(crate) fn obstacle(file: &File) -> Option<Untraceable> {
    match elf::image(file) {
        Ok(Image::Untraceable(Untraceable::Static)) if mentions(file, JOINS_MARK) => None,
        Ok(Image::Untraceable(reason)) => Some(reason),
        Ok(Image::Dynamic | Image::Linker) | Err(_) => None,
    }
}

/// Whether executing `path` makes the kernel set `AT_SECURE`, on which the dynamic linker ignores
/// `LD_PRELOAD`.
fn gains_privileges(path: &Path) -> Option<Untraceable> {
    let metadata = path.metadata().ok()?;
    if statvfs(path).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::NOSUID)) {
        return None;
    }
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let setuid = metadata.mode() & 0o4000 != 0 && metadata.uid() != uid;
    let setgid = metadata.mode() & 0o2010 == 0o2010 && metadata.gid() != gid;
    if setuid || setgid {
        return Some(Untraceable::SwitchesIds);
    }
    (uid != 0 && has_capabilities(path)).then_some(Untraceable::Capabilities)
}

fn has_capabilities(path: &Path) -> bool {
    let mut value = [0; 64];
    let found = getxattr(path, "security.capability", &mut value[..]);
    matches!(found, Ok(1..) | Err(Errno::RANGE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::elf::tests::tiny;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn file(directory: &Path, name: &str, content: &[u8], mode: u32) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    fn check(content: &[u8], mode: u32, expected: &str) {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "x", content, mode);
        let answer = match Program::find(path.as_os_str(), None) {
            Ok(program) => format!("runs {}", program.image.display()),
            Err(error) => error.to_string(),
        };
        assert!(answer.contains(expected), "{answer}");
    }

    #[test]
    fn programs_and_scripts() {
        let shell = fs::canonicalize("/bin/sh").unwrap();
        check(&fs::read(&shell).unwrap(), 0o755, "runs");
        check(b"#!/bin/sh\ntrue", 0o755, "runs /bin/sh");
        check(b"#! \t/usr/bin/env  sh -e\n", 0o755, "runs /usr/bin/env");
        check(b"#!/bin/sh", 0o755, "runs /bin/sh");
    }

    #[test]
    fn what_the_kernel_would_not_run() {
        check(b"true", 0o755, "is neither an ELF program nor a script");
        check(b"", 0o755, "is neither");
        check(b"#!/bin/sh\n", 0o644, "is not executable");
        check(b"#!\n", 0o755, "has an empty #! line");
        check(b"#!/no/such\n", 0o755, "its #! line names /no/such: command not found");
        check(b"\x7fELF\x02\x01", 0o755, "is a damaged ELF file");
    }

    #[test]
    fn what_cannot_be_traced() {
        check(&tiny(None), 0o755, "is statically linked");
        check(&tiny(Some("/lib/ld-musl-x86_64.so.1")), 0o755, "musl");
        let mut other = tiny(Some("/lib64/ld-linux-x86-64.so.2"));
        other[18..20].copy_from_slice(&243u16.to_le_bytes());
        check(&other, 0o755, "is built for another processor");
        other[4] = 1;
        check(&other, 0o755, "is built for another processor");
    }

    #[test]
    fn what_a_dynamic_linker_is_to_run() {
        const LINKER: &str = "/lib64/ld-linux-x86-64.so.2";
        let directory = tempfile::tempdir().unwrap();
        let unlinked = file(directory.path(), "static", &tiny(None), 0o755);
        let script = file(directory.path(), "script", b"#!/bin/sh\n", 0o755);
        let image = |words: &[&OsStr]| {
            let command =
                [LINKER.as_ref()].into_iter().chain(words.iter().copied()).map(Into::into);
            let found = Program::of(&command.collect::<Vec<OsString>>(), None);
            found.map(|program| {
                assert_eq!(program.path, Path::new(LINKER));
                program.image.display().to_string()
            })
        };
        let text = |word: &'static str| OsStr::new(word);
        assert_eq!(image(&[text("--argv0"), text("x"), text("/bin/sh")]).unwrap(), "/bin/sh");
        for words in
            [&[][..], &[text("--list"), text("/bin/sh")], &[text("sh")], &[script.as_ref()]]
        {
            assert_eq!(image(words).unwrap(), LINKER, "{words:?}");
        }
        let refusal = image(&[unlinked.as_ref()]).unwrap_err().to_string();
        assert!(refusal.contains("static: is statically linked"), "{refusal}");
    }

    #[test]
    fn a_static_program_of_ocaml() {
        let directory = tempfile::tempdir().unwrap();
        let source = "#include <stdlib.h>\nint main() { return !getenv(\"OCAMLRUNPARAM\"); }\n";
        fs::write(directory.path().join("a.c"), source).unwrap();
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-static", "a.c"]).current_dir(directory.path());
        assert!(compiler.status().unwrap().success());
        let error = Program::find(directory.path().join("a.out").as_os_str(), None).unwrap_err();
        assert!(error.to_string().contains("statically linked OCaml program"), "{error}");
    }

    /// What the linker of Go leaves in each program.
    #[test]
    fn a_static_program_of_go() {
        let directory = tempfile::tempdir().unwrap();
        let source =
            "__attribute__((section(\".go.buildinfo\"))) int info = 1;\nint main() { return 0; }\n";
        fs::write(directory.path().join("a.c"), source).unwrap();
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-static", "a.c"]).current_dir(directory.path());
        assert!(compiler.status().unwrap().success());
        let error = Program::find(directory.path().join("a.out").as_os_str(), None).unwrap_err();
        assert!(error.to_string().contains("is a statically linked Go program"), "{error}");
        assert!(error.to_string().contains("`go tool pprof`"), "{error}");
    }

    #[test]
    fn a_static_program_that_joins_by_itself() {
        let directory = tempfile::tempdir().unwrap();
        let mark = String::from_utf8(JOINS_MARK.to_vec()).unwrap();
        let source = format!("#include <stdio.h>\nint main() {{ return puts(\"{mark}\") < 0; }}\n");
        fs::write(directory.path().join("a.c"), source).unwrap();
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-static", "a.c"]).current_dir(directory.path());
        assert!(compiler.status().unwrap().success());
        assert!(Program::find(directory.path().join("a.out").as_os_str(), None).is_ok());
    }

    #[test]
    fn a_setuid_program_of_another_user() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "su", &fs::read("/bin/sh").unwrap(), 0o755);
        let other = rustix::process::getuid().as_raw() + 1;
        if std::os::unix::fs::chown(&path, Some(other), None).is_err() {
            println!("skipped: only root can give files away");
            return;
        }
        fs::set_permissions(&path, Permissions::from_mode(0o4755)).unwrap();
        let error = Program::find(path.as_os_str(), None).unwrap_err();
        assert!(error.to_string().contains("setuid"), "{error}");
    }

    #[test]
    fn the_search_path() {
        let directory = tempfile::tempdir().unwrap();
        let (a, b) = (directory.path().join("a"), directory.path().join("b"));
        fs::create_dir(&a).unwrap();
        fs::create_dir(&b).unwrap();
        let search = std::env::join_paths([&a, &b]).unwrap();
        let find = |name: &str| Program::find(name.as_ref(), Some(&search));
        assert!(matches!(find("run"), Err(LaunchError::NotFound(_))));
        file(&a, "run", b"#!/bin/sh\n", 0o644);
        assert!(matches!(find("run"), Err(LaunchError::NotExecutable { .. })));
        let path = file(&b, "run", b"#!/bin/sh\n", 0o755);
        assert_eq!(find("run").unwrap().path, path);
        assert!(matches!(find(""), Err(LaunchError::NotFound(_))));
        assert!(matches!(
            Program::find(a.as_os_str(), None),
            Err(LaunchError::NotExecutable { .. })
        ));
    }

    #[test]
    fn a_script_that_is_its_own_interpreter() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("loop");
        file(directory.path(), "loop", format!("#!{}\n", path.display()).as_bytes(), 0o755);
        let error = Program::find(path.as_os_str(), None).unwrap_err();
        assert!(error.to_string().contains("too many nested scripts"), "{error}");
    }
}
