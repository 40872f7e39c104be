//! Names found in programs that are compiled here, with their debug information in various places.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};

use super::*;
use crate::notice::Unread;
use crate::view::View;

const C_SOURCE: &str = "\
static inline __attribute__((always_inline)) int inner(volatile int *p) {
    return *p + 1;
}
__attribute__((noinline)) int outer(volatile int *p) {
    return inner(p);
}
int main(void) {
    volatile int i = 0;
    return outer(&i);
}
";

const SPLIT_SOURCE: &str = "\
__attribute__((cold, noinline)) void rare(volatile int *p) { *p = 1; }
__attribute__((noinline)) int split(volatile int *p) {
    if (__builtin_expect(*p, 0)) { rare(p); *p = 3; rare(p); *p = 4; rare(p); }
    return *p + 1;
}
int main(void) {
    volatile int i = 0;
    return split(&i);
}
";

const CPP_SOURCE: &str = "\
namespace zoo {
template <typename T> struct Cage { __attribute__((noinline)) T open(T key) { return key + 1; } };
}
int main(int argc, char **) { return zoo::Cage<int>().open(argc); }
";

const RUST_SOURCE: &str = "\
pub mod zoo {
    #[inline(never)]
    pub fn feed<T: std::fmt::Debug>(food: T) -> String { format!(\"{food:?}\") }
}
fn main() { println!(\"{}\", zoo::feed(7)); }
";

struct Workshop {
    directory: tempfile::TempDir,
}

impl Workshop {
    fn new() -> Workshop {
        Workshop { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles `source` to a file named `program`.
    fn compile(&self, compiler: &str, suffix: &str, source: &str, options: &[&str]) -> PathBuf {
        let input = self.path(&format!("source.{suffix}"));
        std::fs::write(&input, source).unwrap();
        let program = self.path("program");
        let arguments = [OsStr::new("-o"), program.as_os_str(), input.as_os_str()];
        run(Command::new(compiler).args(options).args(arguments));
        program
    }

    fn objcopy(&self, arguments: &[&str]) {
        run(Command::new("objcopy").args(arguments).current_dir(self.directory.path()));
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn read_build_id(program: &Path) -> Vec<u8> {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&bytes[..]).unwrap();
    file.build_id().unwrap().unwrap_or_default().to_vec()
}

/// The address of the symbol of that name, or of the first whose name contains it, plus `offset`.
fn address_of(program: &Path, part: &str, offset: u64) -> FileAddress {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&bytes[..]).unwrap();
    let named = |matches: &dyn Fn(&str) -> bool| {
        file.symbols().find(|symbol| symbol.name().is_ok_and(matches))
    };
    let found = named(&|name| name == part).or_else(|| named(&|name| name.contains(part)));
    FileAddress(found.unwrap_or_else(|| panic!("no {part} in {program:?}")).address() + offset)
}

fn look_up(program: &Path, build_id: &[u8], address: FileAddress) -> Vec<(String, String, u32)> {
    let symbolizer = Symbolizer::start().unwrap();
    let process = ProcessImage::read(rustix::process::getpid());
    let object = symbolizer.object(program.as_os_str().as_encoded_bytes(), build_id, &process);
    let locations = symbolizer.locations(&object, address);
    let base_name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let triple = |location: &Location| {
        (location.defname.to_string(), base_name(&location.filename), location.line)
    };
    locations.iter().map(triple).collect()
}

fn check(found: &[(String, String, u32)], expected: &[(&str, &str, u32)]) {
    let found: Vec<_> = found.iter().map(|(a, b, line)| (a.as_str(), b.as_str(), *line)).collect();
    assert_eq!(found, expected);
}

const WITH_LINES: &[(&str, &str, u32)] = &[("outer", "source.c", 5), ("inner", "source.c", 2)];

#[test]
fn a_c_program_with_debug_information() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", "c", C_SOURCE, &["-g", "-O1"]);
    let found = look_up(&program, &read_build_id(&program), address_of(&program, "outer", 0));
    check(&found, WITH_LINES);
}

#[test]
fn a_function_in_two_pieces() {
    let workshop = Workshop::new();
    let options = ["-g", "-O2", "-freorder-blocks-and-partition"];
    let program = workshop.compile("cc", "c", SPLIT_SOURCE, &options);
    let build_id = read_build_id(&program);
    for piece in ["split", "split.cold"] {
        let found = look_up(&program, &build_id, address_of(&program, piece, 0));
        let [(name, file, line)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((name.as_str(), file.as_str()), ("split", "source.c"));
        assert!((2..=4).contains(line), "{piece}: {line}");
    }
}

#[test]
fn debug_information_behind_a_link() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", "c", C_SOURCE, &["-g", "-O1"]);
    let address = address_of(&program, "outer", 0);
    workshop.objcopy(&["--only-keep-debug", "program", "program.debug"]);
    workshop.objcopy(&["--strip-all", "--add-gnu-debuglink=program.debug", "program"]);
    let build_id = read_build_id(&program);
    check(&look_up(&program, &build_id, address), WITH_LINES);
    std::fs::remove_file(workshop.path("program.debug")).unwrap();
    let expected = format!("program+{:#x}", address.0);
    check(&look_up(&program, &build_id, address), &[(&expected, "program", 0)]);
}

#[test]
fn a_symbol_table_without_debug_information() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", "c", C_SOURCE, &["-O1"]);
    let found = look_up(&program, &read_build_id(&program), address_of(&program, "outer", 2));
    check(&found, &[("outer", "program", 0)]);
}

#[test]
fn an_address_that_no_symbol_covers() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", "c", C_SOURCE, &["-O1"]);
    let found = look_up(&program, &read_build_id(&program), FileAddress(0x7fff_0000));
    check(&found, &[("program+0x7fff0000", "program", 0)]);
}

#[test]
fn a_file_with_another_build_id_is_not_trusted() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", "c", C_SOURCE, &["-g", "-O1"]);
    let address = address_of(&program, "outer", 0);
    let expected = format!("program+{:#x}", address.0);
    for build_id in [&b"another"[..], b""] {
        check(&look_up(&program, build_id, address), &[(&expected, "program", 0)]);
    }
}

#[test]
fn files_that_are_none() {
    let workshop = Workshop::new();
    std::fs::write(workshop.path("text"), "potato").unwrap();
    check(&look_up(&workshop.path("text"), b"", FileAddress(16)), &[("text+0x10", "text", 0)]);
    check(
        &look_up(Path::new("/no/such.so"), b"", FileAddress(16)),
        &[("such.so+0x10", "such.so", 0)],
    );
    check(&look_up(Path::new("/dev/zero"), b"", FileAddress(1)), &[("zero+0x1", "zero", 0)]);
    check(
        &look_up(Path::new("linux-vdso.so.1"), b"x", FileAddress(1)),
        &[("linux-vdso.so.1+0x1", "linux-vdso.so.1", 0)],
    );
}

#[test]
fn cpp_names() {
    let workshop = Workshop::new();
    for (options, file, line) in [(&["-g", "-O1"][..], "source.cpp", 2), (&["-O1"], "program", 0)] {
        let program = workshop.compile("c++", "cpp", CPP_SOURCE, options);
        let found = look_up(&program, &read_build_id(&program), address_of(&program, "4open", 0));
        check(&found, &[("zoo::Cage<int>::open(int)", file, line)]);
    }
}

#[test]
fn rust_names() {
    let workshop = Workshop::new();
    for mangling in ["-Csymbol-mangling-version=v0", "-Cdebuginfo=0"] {
        let program = workshop.compile("rustc", "rs", RUST_SOURCE, &[mangling]);
        let found = look_up(&program, &read_build_id(&program), address_of(&program, "4feed", 0));
        let [(name, ..)] = &found[..] else { panic!("{found:?}") };
        assert!(
            name.starts_with("program::zoo::feed") || name.starts_with("source::zoo::feed"),
            "{name}"
        );
        assert!(!name.contains("::h"), "{name}");
    }
}

#[test]
fn the_running_program_itself_by_its_empty_name() {
    let program = std::env::current_exe().unwrap();
    let symbolizer = Symbolizer::start().unwrap();
    let process = ProcessImage::read(rustix::process::getpid());
    let object = symbolizer.object(b"", &read_build_id(&program), &process);
    assert_eq!(object.name(), program.to_str().unwrap());
    assert!(object.sources().count() > 0);
}

#[test]
fn a_file_deleted_after_its_module_was_loaded() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", "c", C_SOURCE, &["-g", "-O1"]);
    let address = address_of(&program, "outer", 0);
    let symbolizer = Symbolizer::start().unwrap();
    let process = ProcessImage::read(rustix::process::getpid());
    let name = program.as_os_str().as_encoded_bytes();
    let object = symbolizer.object(name, &read_build_id(&program), &process);
    std::fs::remove_file(&program).unwrap();
    assert_eq!(&*symbolizer.locations(&object, address)[0].defname, "outer");
}

#[test]
fn the_same_file_is_one_object() {
    let symbolizer = Symbolizer::start().unwrap();
    let process = ProcessImage::read(rustix::process::getpid());
    let first = symbolizer.object(b"", b"x", &process);
    let second = symbolizer.object(b"", b"x", &process);
    assert!(Arc::ptr_eq(&first, &second));
}

/// A process that has ended, and had `root` as its root.
fn ended(root: &Path, executable: &Path) -> ProcessImage {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    child.wait().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root, folder.path().join("root")).unwrap();
    let view = View::of(folder.path());
    let executable_file = std::fs::File::open(executable).ok();
    let executable = executable.to_owned();
    ProcessImage { view, executable, executable_file, ..ProcessImage::read(pid) }
}

#[test]
fn a_library_in_the_root_of_a_process_that_has_ended() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", "c", C_SOURCE, &["-g", "-O1"]);
    let (build_id, address) = (read_build_id(&program), address_of(&program, "outer", 0));
    let symbolizer = Symbolizer::start().unwrap();
    let process = ended(workshop.directory.path(), Path::new("/no/such"));
    let object = symbolizer.object(b"/program", &build_id, &process);
    assert_eq!(&*symbolizer.locations(&object, address)[0].defname, "outer");
    assert_eq!(object.unread(), None);
}

#[test]
fn the_program_of_a_process_that_has_ended_behind_chroot() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", "c", C_SOURCE, &["-g", "-O1"]);
    let (build_id, address) = (read_build_id(&program), address_of(&program, "outer", 0));
    let symbolizer = Symbolizer::start().unwrap();
    let process = ended(Path::new("/no/such"), &program);
    let object = symbolizer.object(b"/program", &build_id, &process);
    assert_eq!(&*symbolizer.locations(&object, address)[0].defname, "outer");
}

#[test]
fn files_without_build_ids_are_not_the_program_because_they_are_called_so() {
    let workshop = Workshop::new();
    let options = ["-g", "-O1", "-Wl,--build-id=none"];
    let program = workshop.compile("cc", "c", C_SOURCE, &options);
    let symbolizer = Symbolizer::start().unwrap();
    let process = ended(Path::new("/no/such"), &program);
    let has_file = |name: &Path| {
        let name = name.as_os_str().as_encoded_bytes();
        symbolizer.object(name, b"", &process).file().is_some()
    };
    assert!(has_file(&program));
    assert!(!has_file(Path::new("/plugins/program")));
}

#[test]
fn a_file_that_is_nowhere_is_noted_once_a_name_is_asked_for() {
    let symbolizer = Symbolizer::start().unwrap();
    let process = ProcessImage::read(rustix::process::getpid());
    let object = symbolizer.object(b"/no/such.so", b"x", &process);
    assert_eq!(object.unread(), None);
    symbolizer.locations(&object, FileAddress(1));
    assert_eq!(object.unread(), Some(Unread::Unfound));
    let kernels = symbolizer.object(b"linux-vdso.so.1", b"x", &process);
    symbolizer.locations(&kernels, FileAddress(1));
    assert_eq!(kernels.unread(), None);
}
