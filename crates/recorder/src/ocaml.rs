//! What of OCaml a program has, told by its file and its libraries, and what is sampled of it therefore.
//!
//! The linker exports the whole runtime from every OCaml executable (`-Wl,-E`), stripped ones included.
//! So a few names decide, looked up while the process's agent waits. A library exports them, too: the
//! libraries that are mapped by then are looked at if the program's own names do not settle it. What is
//! loaded later comes too late. A program that has a runtime and exports none of it is found by a string
//! that each runtime has, which takes longer, and is done later.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lifetrace_transport::segment::Sources;
use rustc_hash::FxHashMap;

use crate::exports::Elf;
use crate::notice::Notice;

/// What the user wants to be sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceChoice {
    /// The OCaml heap of programs that have one, else malloc.
    #[default]
    Auto,
    /// Malloc and its like.
    Native,
    /// The OCaml heap.
    OCaml,
    /// Malloc, and the OCaml heap of programs that have one.
    All,
    /// The OCaml heap of a program that has the agent linked in, and so knows that it has one.
    Linked,
}

/// The OCaml heap of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heap {
    /// It has none that it tells of.
    None,
    /// One that can be sampled.
    Sampled,
    /// Of a version without a sampler: 4.10 and older, 5.0 to 5.2.
    Unsampled,
    /// That of an interpreter of bytecode.
    Bytecode,
}

/// In all runtimes since 4.11, those without a sampler included.
const SAMPLER: &str = "caml_memprof_start";
/// In native programs only.
const NATIVE: &str = "caml_frametable";
/// In all runtimes.
const ANY: &str = "caml_alloc_shr";
const FROM_5_0: &str = "caml_get_domain_state";
/// The first with a sampler again.
const FROM_5_3: &str = "caml_process_pending_actions_res";

/// Those that decide.
const NAMES: [&str; 5] = [NATIVE, SAMPLER, ANY, FROM_5_0, FROM_5_3];

/// Linked in from Memtrace's library.
const MEMTRACE: [&str; 3] =
    ["camlMemtrace", "caml_startup__camlMemtrace", "camlMemtrace__code_begin"];

/// The variable that each runtime looks for, as it is in its file.
const MARK: &[u8] = b"OCAMLRUNPARAM";

/// No more of a program is searched for that, in bytes.
const MOST_SEARCHED: u64 = 16 << 20;

/// Programs and libraries that are remembered.
const MOST_KNOWN: usize = 1 << 12;

/// What is known of programs and libraries, which are often loaded again and again.
#[derive(Debug, Default)]
pub(crate) struct Programs(Mutex<FxHashMap<Identity, Known>>);

/// What tells a file from others, and from itself before it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

#[derive(Clone, Copy, Debug)]
struct Known {
    exported: Exported,
    /// `None` before anybody has asked.
    is_hidden: Option<bool>,
}

/// Which of [`NAMES`] are exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Exported([bool; NAMES.len()]);

impl Programs {
    /// What `program` tells of its heap, together with the `libraries` that are loaded with it.
    pub(crate) fn heap(&self, program: &File, libraries: impl FnOnce() -> Vec<File>) -> Heap {
        let own = self.known(program).exported;
        if own.heap() == Heap::Sampled {
            return Heap::Sampled;
        }
        let all = libraries().into_iter().map(|library| self.known(&library).exported);
        all.fold(own, Exported::and).heap()
    }

    /// Whether `program` has a runtime of which it tells nothing. May take some milliseconds.
    pub(crate) fn hides_heap(&self, program: &File) -> bool {
        let known = self.known(program);
        if known.exported.heap() != Heap::None {
            return false;
        }
        known.is_hidden.unwrap_or_else(|| {
            let is_hidden = mentions_runtime(program);
            self.keep(program, Known { is_hidden: Some(is_hidden), ..known });
            is_hidden
        })
    }

    fn known(&self, program: &File) -> Known {
        let known = identity(program).and_then(|key| self.table().get(&key).copied());
        known.unwrap_or_else(|| {
            let known = Known { exported: Exported::by(program), is_hidden: None };
            self.keep(program, known);
            known
        })
    }

    fn keep(&self, program: &File, known: Known) {
        let Some(key) = identity(program) else { return };
        let mut table = self.table();
        if table.len() >= MOST_KNOWN {
            table.clear();
        }
        table.insert(key, known);
    }

    fn table(&self) -> MutexGuard<'_, FxHashMap<Identity, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exported {
    fn by(file: &File) -> Exported {
        let elf = Elf::open(file);
        let exports = elf.as_ref().and_then(Elf::exports);
        exports
            .map_or_else(Exported::default, |exports| Exported(NAMES.map(|name| exports.has(name))))
    }

    /// By one or the other.
    fn and(self, other: Exported) -> Exported {
        Exported(std::array::from_fn(|index| self.0[index] || other.0[index]))
    }

    fn heap(self) -> Heap {
        let Exported([native, sampler, any, from_5_0, from_5_3]) = self;
        match (native, sampler) {
            (false, false) if !any => Heap::None,
            (false, _) => Heap::Bytecode,
            (true, true) if !from_5_0 || from_5_3 => Heap::Sampled,
            (true, _) => Heap::Unsampled,
        }
    }
}

impl SourceChoice {
    /// Whether anybody wants to know what the program has.
    pub(crate) fn depends_on_program(self) -> bool {
        !matches!(self, Self::Native | Self::Linked)
    }

    /// What is sampled of a program, and what its user should know about that.
    pub(crate) fn settle(self, heap: Heap) -> (Sources, Option<Notice>) {
        let (native, ocaml) = (Sources::NATIVE, Sources::OCAML);
        let notice = match (self, heap) {
            (Self::Native | Self::Linked, _) | (_, Heap::Sampled) => None,
            (_, Heap::Unsampled) => Some(Notice::UnknownOCaml),
            (_, Heap::Bytecode) => Some(Notice::Bytecode),
            (Self::OCaml, Heap::None) => Some(Notice::NoOCaml),
            (Self::Auto | Self::All, Heap::None) => None,
        };
        let sources = match (self, heap) {
            (Self::Native, _) => native,
            // Of a runtime that is loaded later the agent hears itself.
            (Self::OCaml | Self::Linked, _) | (Self::Auto, Heap::Sampled) => ocaml,
            (Self::All, Heap::Sampled) => native.and(ocaml),
            (Self::Auto | Self::All, _) => native,
        };
        (sources, notice)
    }
}

/// Whether a program has Memtrace linked in.
pub(crate) fn has_memtrace(program: &File) -> bool {
    let elf = Elf::open(program);
    let exports = elf.as_ref().and_then(Elf::exports);
    exports.is_some_and(|exports| MEMTRACE.into_iter().any(|name| exports.has(name)))
}

/// Whether the [`MARK`] is in what a program loads and does not write to.
pub(crate) fn mentions_runtime(program: &File) -> bool {
    mentions(program, MARK)
}

/// Whether a string is there.
pub(crate) fn mentions(program: &File, mark: &[u8]) -> bool {
    mentions_any(program, &[mark])
}

/// Whether one of some strings is there.
pub(crate) fn mentions_any(program: &File, marks: &[&[u8]]) -> bool {
    let Some(elf) = Elf::open(program) else { return false };
    let mut left = MOST_SEARCHED;
    elf.loaded().iter().filter(|segment| !segment.is_writable).any(|segment| {
        let length = segment.length.min(left);
        left -= length;
        has_string(program, marks, segment.offset, length)
    })
}

/// Whether a part of a file has one of the marks as a string of its own.
fn has_string(file: &File, marks: &[&[u8]], mut offset: u64, length: u64) -> bool {
    let end = offset.saturating_add(length);
    let longest = marks.iter().map(|mark| mark.len()).max().unwrap_or(0);
    let mut buffer = vec![0; 64 << 10];
    // What comes before the string may be in the part before.
    let mut kept = 0;
    while offset < end {
        let wanted = (buffer.len() - kept).min(usize::try_from(end - offset).unwrap_or(usize::MAX));
        let Ok(count @ 1..) = file.read_at(&mut buffer[kept..kept + wanted], offset) else { break };
        let filled = kept + count;
        if buffer[..filled].split(|&byte| byte == 0).any(|string| marks.contains(&string)) {
            return true;
        }
        offset += count as u64;
        kept = filled.min(longest + 1);
        buffer.copy_within(filled - kept..filled, 0);
    }
    false
}

/// `None` of a file that is not to be had any more.
pub(crate) fn identity(program: &File) -> Option<Identity> {
    let metadata = program.metadata().ok()?;
    Some(Identity {
        device: metadata.dev(),
        inode: metadata.ino(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::path::Path;
    use std::process::Command;

    /// A program that has these functions and variables, linked with these options.
    fn program(names: &[&str], options: &[&str]) -> File {
        let directory = tempfile::tempdir().unwrap();
        let mut source: String = names.iter().map(|name| format!("int {name} = 1;\n")).collect();
        source.push_str(
            "#include <stdlib.h>\nint main() { return getenv(\"OCAMLRUNPARAM\") != 0; }\n",
        );
        build(directory.path(), &source, options)
    }

    fn build(directory: &Path, source: &str, options: &[&str]) -> File {
        std::fs::write(directory.join("a.c"), source).unwrap();
        let mut command = Command::new("cc");
        command.args(["-o", "a.out", "a.c"]).args(options).current_dir(directory);
        assert!(command.status().unwrap().success());
        File::open(directory.join("a.out")).unwrap()
    }

    fn check(names: &[&str], expected: Heap) {
        check_with(names, &[], expected);
    }

    /// A program with libraries, each of which has these names.
    fn check_with(names: &[&str], libraries: &[&[&str]], expected: Heap) {
        let exporting = |names: &&[&str]| program(names, &["-rdynamic"]);
        let (program, libraries) =
            (exporting(&names), || libraries.iter().map(exporting).collect());
        let heap = Programs::default().heap(&program, libraries);
        assert_eq!(heap, expected, "{names:?}");
    }

    #[test]
    fn a_program_is_known_by_what_it_exports() {
        check(&[], Heap::None);
        check(&[NATIVE, SAMPLER, ANY], Heap::Sampled);
        check(&[NATIVE, ANY], Heap::Unsampled);
        check(&[SAMPLER, ANY], Heap::Bytecode);
        check(&[ANY], Heap::Bytecode);
        check(&[NATIVE, SAMPLER, FROM_5_0], Heap::Unsampled);
        check(&[NATIVE, SAMPLER, FROM_5_0, FROM_5_3], Heap::Sampled);
    }

    #[test]
    fn a_runtime_is_found_in_the_libraries_too() {
        check_with(&[], &[&[], &[NATIVE, SAMPLER, ANY]], Heap::Sampled);
        check_with(&[], &[&[SAMPLER, ANY]], Heap::Bytecode);
        // The runtime alone is shared.
        check_with(&[NATIVE], &[&[SAMPLER, ANY]], Heap::Sampled);
        check_with(&[], &[&[], &[]], Heap::None);
        let whole = program(&[NATIVE, SAMPLER], &["-rdynamic"]);
        let unread = || panic!("the program has settled it");
        assert_eq!(Programs::default().heap(&whole, unread), Heap::Sampled);
    }

    #[test]
    fn a_runtime_that_is_not_exported_is_found_by_its_string() {
        let programs = Programs::default();
        let hidden = program(&[NATIVE, SAMPLER], &["-s"]);
        for _ in 0..2 {
            assert_eq!(programs.heap(&hidden, Vec::new), Heap::None);
            assert!(programs.hides_heap(&hidden));
        }
        let open = program(&[NATIVE, SAMPLER], &["-rdynamic"]);
        assert!(!programs.hides_heap(&open));
        assert!(!programs.hides_heap(&File::open("/bin/sh").unwrap()));
        let is_static = program(&[NATIVE], &["-static"]);
        assert!(mentions_runtime(&is_static));
    }

    #[test]
    fn a_string_is_found_wherever_it_lies_and_only_whole() {
        let check = |at: usize, before: &[u8], after: &[u8], expected| {
            let mut file = tempfile::tempfile().unwrap();
            let mut bytes = vec![b'x'; at];
            bytes.extend([before, MARK, after].concat());
            bytes.resize(200_000, b'y');
            file.write_all(&bytes).unwrap();
            assert_eq!(has_string(&file, &[MARK], 0, 200_000), expected, "{at}");
        };
        for at in [0, 1, 65_520, 65_530, 65_535, 65_536, 131_070, 199_900] {
            check(at, b"\0", b"\0", true);
            check(at, b"=", b"\0", false);
            check(at, b"\0", b"=s", false);
        }
    }

    #[test]
    fn memtrace_is_known_by_its_module() {
        assert!(has_memtrace(&program(&[MEMTRACE[2]], &["-rdynamic"])));
        assert!(!has_memtrace(&program(&[NATIVE], &["-rdynamic"])));
    }

    #[test]
    fn each_choice_for_each_program() {
        let (native, ocaml) = (Sources::NATIVE, Sources::OCAML);
        let both = native.and(ocaml);
        let check = |choice: SourceChoice, expected: [(Sources, Option<Notice>); 4]| {
            let heaps = [Heap::None, Heap::Sampled, Heap::Unsampled, Heap::Bytecode];
            assert_eq!(heaps.map(|heap| choice.settle(heap)), expected, "{choice:?}");
        };
        let unknown = || Some(Notice::UnknownOCaml);
        let bytecode = || Some(Notice::Bytecode);
        check(SourceChoice::Native, [(); 4].map(|()| (native, None)));
        check(
            SourceChoice::Auto,
            [(native, None), (ocaml, None), (native, unknown()), (native, bytecode())],
        );
        check(
            SourceChoice::All,
            [(native, None), (both, None), (native, unknown()), (native, bytecode())],
        );
        check(
            SourceChoice::OCaml,
            [
                (ocaml, Some(Notice::NoOCaml)),
                (ocaml, None),
                (ocaml, unknown()),
                (ocaml, bytecode()),
            ],
        );
    }
}
