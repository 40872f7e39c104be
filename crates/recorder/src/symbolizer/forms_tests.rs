//! One program with its debug information in all forms that addr2line of the GNU binutils reads: the
//! same names, files and lines are found in each.

use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSymbol};

use super::*;
use crate::notice::Unread;

const HEADER: &str = "\
#include <string>
namespace zoo {
struct Cage {
    int bars;
    int close(volatile int *p);
    inline __attribute__((always_inline)) int key(volatile int *p) {
        return *p + bars;
    }
};
}
";

const SOURCE: &str = "\
#include \"cage.h\"
static inline __attribute__((always_inline)) int inner(volatile int *p) {
    return *p + 1;
}
namespace zoo {
__attribute__((noinline)) int Cage::close(volatile int *p) {
    int sum = inner(p) * 3;
    *p = sum;
    return sum + key(p);
}
}
int main(int count, char **) {
    volatile int i = count;
    return zoo::Cage{3}.close(&i);
}
";

/// The compiler's flags without which nothing is right, then what is done with the program.
const COMPILE: &str = "g++ -O1 -g";

/// A place in which programs are made, and the one that they are compared with.
struct Workshop {
    directory: tempfile::TempDir,
}

/// What is found at each address of the function.
type Found = Vec<Vec<Location>>;

impl Workshop {
    fn new() -> Workshop {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("cage.h"), HEADER).unwrap();
        std::fs::write(directory.path().join("a.cpp"), SOURCE).unwrap();
        Workshop { directory }
    }

    fn run(&self, script: &str) -> String {
        let output =
            Command::new("sh").args(["-ec", script]).current_dir(self.directory.path()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What is found in `program`, and what of it could not be read.
    fn found(&self, program: &str) -> (Found, Option<Unread>) {
        let path = self.directory.path().join(program);
        let symbolizer = Symbolizer::start().unwrap();
        let process = ProcessImage::read(rustix::process::getpid());
        let object =
            symbolizer.object(path.as_os_str().as_encoded_bytes(), &build_id(&path), &process);
        // The layout is the same however debug information is.
        let addresses = self.addresses("plain");
        let found = addresses.map(|address| symbolizer.locations(&object, FileAddress(address)));
        (found.map(|locations| locations.to_vec()).collect(), object.unread())
    }

    fn addresses(&self, program: &str) -> std::ops::Range<u64> {
        let bytes = std::fs::read(self.directory.path().join(program)).unwrap();
        let file = object::File::parse(&bytes[..]).unwrap();
        let is_it = |name: &str| name.contains("Cage5close");
        let symbol = file.symbols().find(|symbol| symbol.name().is_ok_and(is_it)).unwrap();
        symbol.address()..symbol.address() + symbol.size()
    }

    /// Makes `plain` and, by `script`, `other`, and compares them.
    fn check(&self, script: &str) {
        self.run(&format!("{COMPILE} a.cpp -o plain; {script}"));
        let plain = self.found("plain");
        assert_eq!(plain.1, None);
        assert!(plain.0.iter().any(|it| it.len() == 2 && &*it[1].defname == "inner"), "{plain:?}");
        let found = self.found("other");
        for (found, plain) in found.0.iter().zip(&plain.0) {
            assert_eq!(found, plain, "{script}");
        }
        assert_eq!(found.1, None, "{script}");
    }

    /// Makes `other` by `script`, of which something cannot be read.
    fn check_unread(&self, script: &str, expected: Unread) {
        self.run(&format!("{COMPILE} a.cpp -o plain; {script}"));
        let (found, unread) = self.found("other");
        assert_eq!(unread, Some(expected), "{script}");
        let names = found.iter().map(|it| &*it[0].defname);
        assert!(names.clone().all(|name| name == "zoo::Cage::close(int volatile*)"), "{found:?}");
    }
}

fn build_id(program: &Path) -> Vec<u8> {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&bytes[..]).unwrap();
    file.build_id().unwrap().unwrap_or_default().to_vec()
}

#[test]
fn compressed_sections() {
    for how in ["zlib", "zlib-gnu", "zstd"] {
        let script = format!("objcopy --compress-debug-sections={how} plain other");
        Workshop::new().check(&script);
    }
}

#[test]
fn versions_and_types_apart() {
    for options in [
        "-gdwarf-4",
        "-gdwarf-5",
        "-gdwarf-4 -fdebug-types-section",
        "-gdwarf-5 -fdebug-types-section",
    ] {
        Workshop::new().check(&format!("{COMPILE} {options} a.cpp -o other"));
    }
}

#[test]
fn split_into_files_beside() {
    // That of binutils knows no later version than 4.
    for (version, package) in [(4, "dwp"), (5, "llvm-dwp")] {
        let split = format!("{COMPILE} -gdwarf-{version} -gsplit-dwarf a.cpp -c -o a.o");
        Workshop::new().check(&format!("{split}; g++ a.o -o other"));
        let link = format!("g++ a.o -o other; {package} -e other -o other.dwp; rm *.dwo");
        Workshop::new().check(&format!("{split}; {link}"));
        let missing = format!("{split}; g++ a.o -o other; rm *.dwo");
        Workshop::new().check_unread(&missing, Unread::Split);
    }
}

#[test]
fn shared_between_files() {
    // Each is large enough to be worth it.
    let two = format!(
        "{COMPILE} -gdwarf-4 a.cpp -o other; {COMPILE} -gdwarf-4 a.cpp -o another; \
         dwz -m common.debug other another"
    );
    Workshop::new().check(&two);
    Workshop::new().check(&format!("{two}; objcopy --compress-debug-sections=zstd other"));
    Workshop::new().check(&format!("{COMPILE} -gdwarf-4 a.cpp -o other; dwz other"));
    Workshop::new().check_unread(&format!("{two}; rm common.debug"), Unread::Shared);
}

#[test]
fn behind_a_link() {
    for how in ["none", "zlib", "zlib-gnu", "zstd"] {
        for options in ["-Wl,--build-id=sha1", "-Wl,--build-id=none"] {
            Workshop::new().check(&format!(
                "{COMPILE} {options} a.cpp -o other; mkdir .debug; \
                 objcopy --only-keep-debug --compress-debug-sections={how} other .debug/far; \
                 cd .debug; objcopy --strip-all --add-gnu-debuglink=far ../other"
            ));
        }
    }
}

/// Names without lines.
#[test]
fn symbols_in_a_compressed_file_inside() {
    let workshop = Workshop::new();
    workshop.run(&format!(
        "{COMPILE} a.cpp -o plain; objcopy --only-keep-debug plain mini; \
         objcopy --strip-debug --remove-section .comment mini; xz mini; \
         objcopy --strip-all --add-section .gnu_debugdata=mini.xz plain other"
    ));
    let (found, unread) = workshop.found("other");
    assert_eq!(unread, None);
    let expected = |it: &Vec<Location>| {
        let [only] = &it[..] else { return false };
        &*only.defname == "zoo::Cage::close(int volatile*)" && only.line == 0
    };
    assert!(found.iter().all(expected), "{found:?}");
}

#[test]
fn what_cannot_be_read_is_told() {
    // A compression of number 9, at the start of the section as it is in a 64-bit file.
    let seal = "objcopy --compress-debug-sections=zlib plain other; \
         at=$(readelf -WS other | sed -n 's/.* [.]debug_info *[^ ]* *[^ ]* *\\([^ ]*\\) .*/\\1/p'); \
         printf '\\011' | dd of=other bs=1 seek=$((0x$at)) conv=notrunc status=none";
    Workshop::new().check_unread(seal, Unread::Compressed);
    let damage = "objcopy --compress-debug-sections=zstd plain other; \
         at=$(readelf -WS other | sed -n 's/.* [.]debug_info *[^ ]* *[^ ]* *\\([^ ]*\\) .*/\\1/p'); \
         dd if=/dev/zero of=other bs=1 count=20 seek=$((0x$at + 24)) conv=notrunc status=none";
    Workshop::new().check_unread(damage, Unread::Damaged);
}

/// What there is is what addr2line says, but for the columns and the function of the innermost lines,
/// for which binutils prefers the name that the symbol table has.
#[test]
fn the_same_as_addr2line() {
    let workshop = Workshop::new();
    workshop.check("objcopy --compress-debug-sections=zstd plain other");
    let (found, _) = workshop.found("other");
    for (address, locations) in workshop.addresses("other").zip(&found) {
        // Outwards, a line with the function and one with the place for each.
        let told = workshop.run(&format!("addr2line -Cfie other {address:#x}"));
        let places = told.lines().skip(1).step_by(2);
        let places: Vec<_> =
            places.map(|it| it.split(" (discriminator").next().unwrap_or_default()).collect();
        let ours = locations.iter().rev();
        let ours: Vec<_> = ours.map(|it| format!("{}:{}", it.filename, it.line)).collect();
        assert_eq!(ours, places, "{address:#x}");
        // It writes `volatile` before the type, or behind.
        let function = told.lines().rev().nth(1).unwrap().replace("volatile int*", "int volatile*");
        assert_eq!(function, *locations[0].defname, "{address:#x}");
    }
}
