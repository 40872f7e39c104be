//! Allocators that programs have in themselves, such as a Rust program's mimalloc or a malloc of its own:
//! how they can be heard, found out while the process's agent waits.
//!
//! ```text
//! symbols ─ families ─> found ─ mover ─> patches in the file ─ place ─> patches in the process
//! ```
//!
//! What cannot be heard is told: then the trace says nothing of how much memory lives.

mod families;
mod found;
mod mover;
mod place;
mod symbols;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lifetrace_transport::patch::{Fixup, Patch};
use rustc_hash::FxHashMap;

use self::found::Found;
use crate::ocaml::{Identity, identity, mentions_any};
use crate::process::ProcessImage;

/// Programs that are remembered.
const MOST_KNOWN: usize = 1 << 10;

/// What is known of programs' allocators.
#[derive(Debug, Default)]
pub(crate) struct Allocators(Mutex<FxHashMap<Identity, Known>>);

#[derive(Clone, Debug)]
struct Known {
    found: Arc<Found>,
    /// `None` before anybody has asked.
    is_hidden: Option<bool>,
}

/// How a process's own allocator is heard.
#[derive(Debug, Default)]
pub(crate) struct Patches {
    /// With the addresses of the process.
    pub(crate) list: Vec<Patch>,
    /// It has one that cannot be heard.
    pub(crate) is_unheard: bool,
}

impl Allocators {
    /// For a process that has just begun; its agent waits.
    pub(crate) fn patches(&self, process: &ProcessImage) -> Patches {
        let Some(program) = &process.executable_file else { return Patches::default() };
        let found = self.known(program).found;
        if found.is_stuck || found.patches.is_empty() {
            return Patches { list: Vec::new(), is_unheard: found.is_told() };
        }
        let bias = place::bias(process.pid, found.entry);
        let is_here = cfg!(target_arch = "x86_64") && place::has_one_thread(process.pid);
        match bias.filter(|_| is_here) {
            Some(bias) => {
                let list = found.patches.iter().map(|patch| shifted(patch, bias)).collect();
                Patches { list, is_unheard: false }
            }
            None => Patches { list: Vec::new(), is_unheard: true },
        }
    }

    /// Whether a program has an allocator of which it does not tell. May take some milliseconds.
    pub(crate) fn is_hidden(&self, program: &File) -> bool {
        let known = self.known(program);
        if known.found.is_told() || !known.found.patches.is_empty() {
            return false;
        }
        known.is_hidden.unwrap_or_else(|| {
            let is_hidden = mentions_any(program, &families::MARKS);
            self.keep(program, &Known { is_hidden: Some(is_hidden), ..known });
            is_hidden
        })
    }

    fn known(&self, program: &File) -> Known {
        let known = identity(program).and_then(|key| self.table().get(&key).cloned());
        known.unwrap_or_else(|| {
            let known = Known { found: Arc::new(found::find(program)), is_hidden: None };
            self.keep(program, &known);
            known
        })
    }

    fn keep(&self, program: &File, known: &Known) {
        let Some(key) = identity(program) else { return };
        let mut table = self.table();
        if table.len() >= MOST_KNOWN {
            table.clear();
        }
        table.insert(key, known.clone());
    }

    fn table(&self) -> MutexGuard<'_, FxHashMap<Identity, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Found {
    /// Whether it surely has an allocator that cannot be heard.
    fn is_told(&self) -> bool {
        self.is_stuck && !self.may_wrap
    }
}

/// As it is where the file has been loaded.
fn shifted(patch: &Patch, bias: u64) -> Patch {
    let up = |address: u64| address.wrapping_add(bias);
    let fixups = patch.fixups.map(|fixup| Fixup { target: up(fixup.target), ..fixup });
    let usable_size = if patch.usable_size == 0 { 0 } else { up(patch.usable_size) };
    Patch { address: up(patch.address), usable_size, fixups, ..*patch }
}
