//! Which runtimes a program has, told by its file and its libraries.
//!
//! A few names decide, looked up while the process's agent waits: of the program, and of the libraries that are mapped
//! by then if its own names do not settle it. What is loaded later comes too late. A program that has a runtime and
//! exports none of it is found by a string that each program with it has, which takes longer, and is done later.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::{ManagedHeap, RUNTIMES, Runtime};
use crate::exports::Elf;
use crate::program_file::{Identity, identity, mentions};

/// Programs and libraries that are remembered.
const MOST_KNOWN: usize = 1 << 12;

/// What is known of programs and libraries, which are often loaded again and again.
#[derive(Debug, Default)]
pub(crate) struct Programs(Mutex<FxHashMap<Identity, Known>>);

/// What is known of a file, for each of the [`RUNTIMES`].
type Known = [OfRuntime; RUNTIMES.len()];

#[derive(Clone, Copy, Debug, Default)]
struct OfRuntime {
    exported: Exported,
    /// `None` before anybody has asked.
    is_hidden: Option<bool>,
}

/// Which of a runtime's symbols are exported, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Exported(u32);

/// The heaps of a program, in the order of the [`RUNTIMES`].
pub(crate) type Heaps = [ManagedHeap; RUNTIMES.len()];

impl Programs {
    /// What `program` tells of its heaps, together with the `libraries` that are loaded with it.
    pub(crate) fn heaps(&self, program: &File, libraries: impl FnOnce() -> Vec<File>) -> Heaps {
        let mut exported = self.known(program).map(|known| known.exported);
        let own = heaps(&exported);
        if own.iter().any(|heap| heap.is_sampled()) {
            return own;
        }
        for library in libraries() {
            let more = self.known(&library);
            exported = std::array::from_fn(|at| exported[at].and(more[at].exported));
        }
        heaps(&exported)
    }

    /// The first of the wanted runtimes that `program` has and tells nothing of. May take some milliseconds.
    pub(crate) fn hidden(
        &self,
        program: &File,
        is_wanted: impl Fn(&dyn Runtime) -> bool,
    ) -> Option<&'static dyn Runtime> {
        let wanted = RUNTIMES.iter().enumerate().filter(|(_, runtime)| is_wanted(**runtime));
        wanted
            .map(|(at, runtime)| (at, *runtime))
            .find(|it| self.hides(program, *it))
            .map(|it| it.1)
    }

    fn hides(&self, program: &File, (at, runtime): (usize, &dyn Runtime)) -> bool {
        let mut known = self.known(program);
        if known[at].exported.heap(runtime) != ManagedHeap::None {
            return false;
        }
        known[at].is_hidden.unwrap_or_else(|| {
            let is_hidden = mentions(program, runtime.mark());
            known[at].is_hidden = Some(is_hidden);
            self.keep(program, known);
            is_hidden
        })
    }

    fn known(&self, program: &File) -> Known {
        let known = identity(program).and_then(|key| self.table().get(&key).copied());
        known.unwrap_or_else(|| {
            let known = look_up(program);
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

fn heaps(exported: &[Exported; RUNTIMES.len()]) -> Heaps {
    std::array::from_fn(|at| exported[at].heap(RUNTIMES[at]))
}

fn look_up(file: &File) -> Known {
    let elf = Elf::open(file);
    let exports = elf.as_ref().and_then(Elf::exports);
    std::array::from_fn(|at| {
        let symbols = RUNTIMES[at].symbols().iter().zip(0..u32::BITS);
        let exported = symbols
            .filter(|(name, _)| exports.as_ref().is_some_and(|exports| exports.has(name)))
            .fold(0, |bits, (_, bit)| bits | 1 << bit);
        OfRuntime { exported: Exported(exported), is_hidden: None }
    })
}

impl Exported {
    /// By one or the other.
    fn and(self, other: Exported) -> Exported {
        Exported(self.0 | other.0)
    }

    fn heap(self, runtime: &dyn Runtime) -> ManagedHeap {
        runtime.heap(&|name| {
            let mut symbols = runtime.symbols().iter().zip(0..u32::BITS);
            symbols.any(|(symbol, bit)| *symbol == name && self.0 >> bit & 1 != 0)
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::program_file::mentions;
    use crate::runtimes::Language as _;
    use crate::runtimes::ocaml::OCaml;
    use std::path::Path;
    use std::process::Command;

    const SYMBOLS: [&str; 3] = ["caml_frametable", "caml_memprof_start", "caml_alloc_shr"];

    /// A program that has these functions and variables, linked with these options.
    pub(crate) fn program(names: &[&str], options: &[&str]) -> File {
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

    /// A program with libraries, each of which has these names.
    fn check(names: &[&str], libraries: &[&[&str]], is_expected: impl Fn(ManagedHeap) -> bool) {
        let exporting = |names: &&[&str]| program(names, &["-rdynamic"]);
        let (program, libraries) =
            (exporting(&names), || libraries.iter().map(exporting).collect());
        let [heap, rest @ ..] = Programs::default().heaps(&program, libraries);
        assert!(is_expected(heap), "{names:?}: {heap:?}");
        assert!(rest.iter().all(|heap| *heap == ManagedHeap::None));
    }

    #[test]
    fn a_runtime_is_found_in_the_libraries_too() {
        let is = |expected| move |heap: ManagedHeap| heap == expected;
        let is_unsampled = |heap| matches!(heap, ManagedHeap::Unsampled(_));
        let [native, sampler, any] = SYMBOLS;
        check(&[], &[&[], &[native, sampler, any]], is(ManagedHeap::Sampled));
        check(&[], &[&[sampler, any]], is_unsampled);
        // The runtime alone is shared.
        check(&[native], &[&[sampler, any]], is(ManagedHeap::Sampled));
        check(&[], &[&[], &[]], is(ManagedHeap::None));
        let whole = program(&[native, sampler], &["-rdynamic"]);
        let unread = || panic!("the program has settled it");
        assert_eq!(Programs::default().heaps(&whole, unread)[0], ManagedHeap::Sampled);
    }

    #[test]
    fn a_runtime_that_is_not_exported_is_found_by_its_string() {
        let [native, sampler, _] = SYMBOLS;
        let programs = Programs::default();
        let hidden = program(&[native, sampler], &["-s"]);
        let found =
            |program: &File| programs.hidden(program, |_| true).map(|runtime| runtime.name());
        for _ in 0..2 {
            assert_eq!(programs.heaps(&hidden, Vec::new)[0], ManagedHeap::None);
            assert_eq!(found(&hidden), Some(OCaml.name()));
            assert!(programs.hidden(&hidden, |runtime| runtime.name() != OCaml.name()).is_none());
        }
        let open = program(&[native, sampler], &["-rdynamic"]);
        assert_eq!(found(&open), None);
        assert_eq!(found(&File::open("/bin/sh").unwrap()), None);
        let is_static = program(&[native], &["-static"]);
        assert!(mentions(&is_static, OCaml.mark()));
    }
}
