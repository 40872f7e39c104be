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

use lifetrace_transport::patch::{Fixup, Patch, Shape};
use rustc_hash::FxHashMap;

use self::found::{Found, Kind};
use self::imports::Imports;
use self::symbols::Names;
use crate::mapped_files::MappedCode;
use crate::process::ProcessImage;
use crate::program_file::{Identity, identity, mentions, mentions_any};

/// Files that are remembered.
const MOST_KNOWN: usize = 1 << 12;

/// What is known of files' allocators.
#[derive(Debug, Default)]
pub(crate) struct Allocators(Mutex<FxHashMap<Identity, Arc<Known>>>);

/// What has been asked of a file.
#[derive(Debug, Default)]
struct Known {
    found: OnceLock<Found>,
    /// As the allocator of a whole process.
    found_whole: OnceLock<Found>,
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

/// What is asked of a process that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    /// Where the `malloc` is that it calls.
    pub(crate) malloc: u64,
    /// Where the C library's `prctl` is.
    pub(crate) prctl: u64,
    /// Whether mappings are to be heard.
    pub(crate) hears_mappings: bool,
}

/// What of the C library is patched beside malloc.
#[derive(Debug, Default)]
struct OfLibc {
    prctl: Option<Patch>,
    mappings: Vec<Patch>,
}

/// Why a process's malloc cannot be heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unheard {
    /// The file with it is not the one that was loaded.
    #[error("the library that has its malloc has been replaced or removed since it was loaded")]
    Replaced,
    /// Its first instructions cannot be moved.
    #[error("the first instructions of its malloc or free cannot be moved")]
    Stuck,
    /// The first instructions of the C library's functions for mappings can't.
    #[error(
        "the first instructions of its mmap, or of one of its like, cannot be moved; without mmap among --sources it can be \
         recorded"
    )]
    Mappings,
    /// There are not so many hooks.
    #[error("its allocators have too many functions")]
    Many,
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

    /// For a process that runs and has had no agent: its program's, those of libraries that are wanted by their own
    /// names, the library's that has the `malloc` which it calls, and the C library's `prctl`, and what it has for mappings.
    /// The latter is there whether it is heard this time or not, as what leads to hooks is made once.
    ///
    /// # Errors
    /// [`Unheard`]; then nothing can be heard, or mappings can't, which are to be.
    pub(crate) fn late_patches(
        &self,
        process: &ProcessImage,
        Late { malloc, prctl, hears_mappings }: Late,
    ) -> Result<Patches, Unheard> {
        let (program, libraries) = (self.of_program(process), self.of_libraries(process));
        let (mut list, mut lacks) = (program.list, false);
        if !list.iter().any(|it| it.is_at(malloc)) {
            let library = self.of_library_at(process, malloc)?;
            list.extend(library.list);
            lacks = library.is_unhooked;
        }
        // The one that has malloc may be wanted by its own names, too.
        let is_new = |it: &Patch| list.iter().all(|other| other.address != it.address);
        let others: Vec<Patch> = libraries.list.into_iter().filter(is_new).collect();
        list.extend(others);
        let libc = self.of_libc(process, prctl);
        list.extend(libc.prctl);
        let with_mappings = [&list[..], &libc.mappings].concat();
        match found::has_room(&with_mappings) {
            true => list = with_mappings,
            false if hears_mappings => return Err(Unheard::Many),
            false => {}
        }
        if hears_mappings && libc.mappings.is_empty() {
            return Err(Unheard::Mappings);
        }
        list.sort_by_key(|it| it.address);
        if !found::has_room(&list) {
            return Err(Unheard::Many);
        }
        let is_unhooked = program.is_unhooked || libraries.is_unhooked || lacks;
        Ok(Patches { list, is_unhooked })
    }

    /// All of the library's that has code there. What it has under names of its own may be left out.
    fn of_library_at(&self, process: &ProcessImage, malloc: u64) -> Result<Patches, Unheard> {
        let library = self.library_at(process, malloc).ok_or(Unheard::Replaced)?;
        let found = library.known.found_whole(&library.file);
        let list = found.at(place::library_bias(&found.code, &library.mapped)).list;
        let has = |shape| list.iter().any(|it| it.shape == shape);
        if !list.iter().any(|it| it.is_at(malloc)) || !has(Shape::Free) {
            let is_odd = !found.stuck.is_empty();
            return Err(if is_odd { Unheard::Stuck } else { Unheard::Replaced });
        }
        let is_unhooked = found.stuck.iter().any(|name| !families::is_of_one_allocator(name));
        Ok(Patches { list, is_unhooked })
    }

    /// The C library's, which has its `prctl` there; of those for mappings all that matter, or none.
    fn of_libc(&self, process: &ProcessImage, prctl: u64) -> OfLibc {
        let found = || {
            let library = self.library_at(process, prctl)?;
            let found = library.known.found_whole(&library.file);
            let bias = place::library_bias(&found.code, &library.mapped)?;
            let own = found.prctl.as_ref().map(|patch| shifted(patch, bias));
            let own = own.filter(|it| it.is_at(prctl))?;
            let mappings: Vec<Patch> =
                found.mappings.iter().map(|patch| shifted(patch, bias)).collect();
            let has = |shape: &Shape| mappings.iter().any(|it| it.shape == *shape);
            let has_all = families::ALL_OF_MAPPINGS.iter().all(has);
            let mappings = if has_all { mappings } else { Vec::new() };
            Some(OfLibc { prctl: Some(own), mappings })
        };
        found().unwrap_or_default()
    }

    /// The file that has code there, if it is the one that was loaded.
    fn library_at(&self, process: &ProcessImage, address: u64) -> Option<Library> {
        let libraries = self.libraries(process);
        let below = libraries.into_iter().filter(|it| it.mapped.start <= address);
        below.max_by_key(|it| it.mapped.start)
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
            && *known.is_hidden.get_or_init(|| {
                mentions_any(program, &families::MARKS) && !mentions(program, families::IDLE)
            })
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
        self.found.get_or_init(|| found::find(file, Kind::Program))
    }

    fn found_whole(&self, file: &File) -> &Found {
        self.found_whole.get_or_init(|| found::find(file, Kind::Library))
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
