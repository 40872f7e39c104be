//! Allocators that are called by names of their own, such as a Rust program's mimalloc, a malloc that the
//! program defines, or a library's `tc_malloc`: how they can be hooked, found out while the process's agent
//! waits.
//!
//! ```text
//! symbols ─ families ─> found ─ mover ─> patches in the file ─ place ─> patches in the process
//!                  └──> imports: which libraries are asked at all
//! ```
//!
//! A library is only patched if something that is loaded wants its functions by such names; malloc and free
//! are hooked without. What cannot be hooked is noted: then the trace says nothing of how much memory lives.

mod families;
mod found;
mod imports;
mod mover;
mod place;
mod symbols;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lifetrace_transport::patch::{Fixup, Patch};
use rustc_hash::FxHashMap;

use self::found::Found;
use self::imports::Imports;
use self::symbols::Names;
use crate::mapped_files::MappedCode;
use crate::process::ProcessImage;
use crate::program_file::{Identity, identity, mentions_any};

/// Files that are remembered.
const MOST_KNOWN: usize = 1 << 12;

/// What is known of files' allocators.
#[derive(Debug, Default)]
pub(crate) struct Allocators(Mutex<FxHashMap<Identity, Arc<Known>>>);

/// What has been asked of a file.
#[derive(Debug, Default)]
struct Known {
    found: OnceLock<Found>,
    imports: OnceLock<Imports>,
    is_hidden: OnceLock<bool>,
}

/// How a process's own allocators are hooked.
#[derive(Debug, Default)]
pub(crate) struct Patches {
    /// With the addresses of the process.
    pub(crate) list: Vec<Patch>,
    /// It has one that cannot be hooked.
    pub(crate) is_unhooked: bool,
}

/// A file of which a process has code.
struct Library {
    mapped: MappedCode,
    file: File,
    known: Arc<Known>,
}

impl Allocators {
    /// For a process that has just begun; its agent waits.
    pub(crate) fn patches(&self, process: &ProcessImage) -> Patches {
        let is_here = cfg!(target_arch = "x86_64") && place::has_one_thread(process.pid);
        let program = self.of_program(process);
        let libraries = self.of_libraries(process);
        let is_unhooked = program.is_unhooked || libraries.is_unhooked;
        let list = [program.list, libraries.list].concat();
        if list.is_empty() || is_here && found::has_room(&list) {
            return Patches { list, is_unhooked };
        }
        Patches { list: Vec::new(), is_unhooked: true }
    }

    fn of_program(&self, process: &ProcessImage) -> Patches {
        let Some(program) = &process.executable_file else { return Patches::default() };
        let known = self.known(program);
        let found = known.found(program);
        if found.is_stuck() || found.patches.is_empty() {
            return Patches { list: Vec::new(), is_unhooked: found.is_told() };
        }
        found.at(place::program_bias(process.pid, found.entry))
    }

    /// Those of libraries that something else wants by their own names.
    fn of_libraries(&self, process: &ProcessImage) -> Patches {
        let program = process.executable_file.as_ref().and_then(identity);
        let libraries = self.libraries(process);
        let imports = || libraries.iter().map(Library::imports);
        let wanted: Names = imports().flat_map(|it| &it.wanted).cloned().collect();
        let wants_own_heap = imports().any(|it| it.wants_own_heap);
        let mut patches = Patches { list: Vec::new(), is_unhooked: wants_own_heap };
        for library in libraries.iter().filter(|it| identity(&it.file) != program) {
            if !library.imports().offered.is_disjoint(&wanted) {
                let hooked = library.patches(&wanted);
                patches.list.extend(hooked.list);
                patches.is_unhooked |= hooked.is_unhooked;
            }
        }
        patches
    }

    fn libraries(&self, process: &ProcessImage) -> Vec<Library> {
        let library = |(mapped, file)| Library { mapped, known: self.known(&file), file };
        process.mapped_code().into_iter().map(library).collect()
    }

    /// Whether a program has an allocator of which it does not tell. May take some milliseconds.
    pub(crate) fn is_hidden(&self, program: &File) -> bool {
        let known = self.known(program);
        let found = known.found(program);
        !found.is_told()
            && found.patches.is_empty()
            && *known.is_hidden.get_or_init(|| mentions_any(program, &families::MARKS))
    }

    fn known(&self, file: &File) -> Arc<Known> {
        let Some(key) = identity(file) else { return Arc::default() };
        let mut table = self.table();
        if table.len() >= MOST_KNOWN {
            table.clear();
        }
        Arc::clone(table.entry(key).or_default())
    }

    fn table(&self) -> MutexGuard<'_, FxHashMap<Identity, Arc<Known>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn found(&self, file: &File) -> &Found {
        self.found.get_or_init(|| found::find(file))
    }

    fn imports(&self, file: &File) -> &Imports {
        self.imports.get_or_init(|| Imports::of(file))
    }
}

impl Library {
    fn imports(&self) -> &Imports {
        self.known.imports(&self.file)
    }

    /// All of its functions that can be patched, unless one that is wanted can't be.
    fn patches(&self, wanted: &Names) -> Patches {
        let found = self.known.found(&self.file);
        if found.patches.is_empty() || !found.stuck.is_disjoint(wanted) {
            return Patches { list: Vec::new(), is_unhooked: true };
        }
        found.at(place::library_bias(&found.code, &self.mapped))
    }
}

impl Found {
    /// Whether it surely has an allocator that cannot be hooked.
    fn is_told(&self) -> bool {
        self.is_stuck() && !self.may_wrap
    }

    /// In a process that has the file there, if it is known where.
    fn at(&self, bias: Option<u64>) -> Patches {
        let list = bias.map(|bias| self.patches.iter().map(|it| shifted(it, bias)).collect());
        Patches { is_unhooked: list.is_none(), list: list.unwrap_or_default() }
    }
}

/// As it is where the file has been loaded.
fn shifted(patch: &Patch, bias: u64) -> Patch {
    let up = |address: u64| address.wrapping_add(bias);
    let fixups = patch.fixups.map(|fixup| Fixup { target: up(fixup.target), ..fixup });
    let usable_size = if patch.usable_size == 0 { 0 } else { up(patch.usable_size) };
    Patch { address: up(patch.address), usable_size, fixups, ..*patch }
}
