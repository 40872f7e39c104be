//! The dynamic linker's list of modules (`link.h`, `r_debug` and `link_map`). \[UNSAFE\]
//!
//! It is what debuggers read. Each C library has it, with the same first fields.

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use super::image::{Access, Image};
use super::symbols;
use crate::sys;

const DT_DEBUG: u64 = 21;

/// Nobody loads so many.
const MANY: usize = 1 << 16;

/// The last module that was there at the start: it and those before it are never unloaded.
static LAST_AT_START: AtomicU64 = AtomicU64::new(0);

/// A module in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where the dynamic linker keeps what it knows of it.
    pub node: u64,
    /// From an address in its file to one in memory.
    pub bias: u64,
    /// Whether it is the program itself.
    pub is_program: bool,
    name: u64,
    dynamic: u64,
    access: Access,
}

impl Entry {
    /// Whether it was there at the start, and so will stay.
    pub fn stays(&self) -> bool {
        self.access == Access::Direct
    }

    /// Its program headers; `None` if they are not at its beginning.
    pub fn image(&self) -> Option<Image> {
        if self.is_program {
            Image::of_program(self.bias)
        } else {
            Image::at(self.bias, self.access)
        }
    }

    /// What it defines under this name.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        symbols::find(self.bias, self.dynamic, name, self.access)
    }

    /// Where a variable of each thread's that it defines under this name is, from the beginning of these.
    pub fn symbol_of_threads(&self, name: &CStr) -> Option<u64> {
        symbols::find_of_threads(self.bias, self.dynamic, name, self.access)
    }

    /// The bytes of its path, as the dynamic linker has it: empty for the program.
    pub fn path(&self) -> impl Iterator<Item = u8> {
        path(self.name, self.access)
    }
}

/// To be called at the start, while the process has a single thread.
pub fn take_note_of_start() {
    let last = walk(Access::Direct, 0).last();
    LAST_AT_START.store(last.map_or(0, |entry| entry.node), Ordering::Relaxed);
}

/// As [`take_note_of_start`], in a process that runs: modules may have been loaded since its start, and they come after
/// the dynamic linker. Where that is not among them, the program alone is taken to stay.
pub fn take_note_of_late_start() {
    let linker = sys::auxiliary(libc::AT_BASE).filter(|&base| base != 0);
    let first = the_list().map_or(0, |list| list.first);
    let mut node = first;
    for _ in 0..MANY {
        let Some([bias, _, _, next]) = Access::Probed.read::<[u64; 4]>(node) else { break };
        if Some(bias) == linker {
            return LAST_AT_START.store(node, Ordering::Relaxed);
        }
        node = next;
    }
    LAST_AT_START.store(first, Ordering::Relaxed);
}

/// All modules, in the order in which symbols are looked up. Where the list is not in order just now, those
/// that were there at the start.
pub fn entries() -> impl Iterator<Item = Entry> {
    walk(Access::Probed, LAST_AT_START.load(Ordering::Relaxed))
}

/// The path of the module that the dynamic linker keeps at `node`.
pub fn path_of(node: u64) -> impl Iterator<Item = u8> {
    let name = Access::Probed.read::<[u64; 2]>(node).map_or(0, |[_, name]| name);
    path(name, Access::Probed)
}

fn path(name: u64, access: Access) -> impl Iterator<Item = u8> {
    const LONGEST: u64 = 4096;
    let bytes = (0..LONGEST).map_while(move |index| access.read::<u8>(name + index));
    bytes.take_while(move |byte| name != 0 && *byte != 0)
}

/// The list, read directly up to `last`, and afterwards by `access`.
fn walk(access: Access, last: u64) -> impl Iterator<Item = Entry> {
    const RT_CONSISTENT: u32 = 0;
    let list = the_list();
    let first = list.map_or(0, |list| list.first);
    let (mut node, mut now) = (first, if last == 0 { access } else { Access::Direct });
    let entries = core::iter::from_fn(move || {
        if node == 0 || now == Access::Probed && list?.state()? != RT_CONSISTENT {
            return None;
        }
        let [bias, name, dynamic, next] = now.read(node)?;
        let entry = Entry { node, bias, is_program: node == first, name, dynamic, access: now };
        if node == last {
            now = access;
        }
        node = next;
        Some(entry)
    });
    entries.take(MANY)
}

/// Whether no module comes after the one at `node`, which may be gone.
pub fn is_last(node: u64) -> bool {
    let read = Access::Probed.read::<[u64; 4]>(node);
    read.is_some_and(|[.., next]| next == 0)
}

/// The program, also if it has no dynamic linker.
pub fn program() -> Option<Image> {
    const ELF_HEADER: u64 = 64;
    let headers = sys::auxiliary(libc::AT_PHDR)?;
    match Image::of_program(0)?.header(libc::PT_PHDR) {
        Some(own) => Image::of_program(headers.wrapping_sub(own.p_vaddr)),
        None => Image::at(headers.checked_sub(ELF_HEADER)?, Access::Probed),
    }
}

/// `r_debug`.
#[derive(Clone, Copy)]
struct List {
    place: u64,
    first: u64,
}

impl List {
    /// What the dynamic linker is doing with it.
    fn state(self) -> Option<u32> {
        const STATE: u64 = 24;
        Access::Direct.read(self.place + STATE)
    }
}

/// By the program's own dynamic section, else by the dynamic linker's symbols.
fn the_list() -> Option<List> {
    let of = |place: u64| {
        let [_, first]: [u64; 2] = Access::Direct.read(place)?;
        (first != 0).then_some(List { place, first })
    };
    debug_entry().and_then(of).or_else(|| {
        let linker = Image::at(sys::auxiliary(libc::AT_BASE)?, Access::Direct)?;
        let dynamic = linker.dynamic()?;
        let found = symbols::find(linker.bias, dynamic, c"_r_debug", Access::Direct)?;
        of(found.as_ptr() as u64)
    })
}

fn debug_entry() -> Option<u64> {
    let place = symbols::entry(program()?.dynamic()?, DT_DEBUG, Access::Direct)?;
    (place != 0).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn the_list_has_what_is_mapped() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let entries: Vec<Entry> = entries().collect();
        assert!(entries[0].is_program && entries[0].path().next().is_none());
        for entry in &entries[1..] {
            let path: Vec<u8> = entry.path().collect();
            let path = std::string::String::from_utf8(path).unwrap();
            let name = path.rsplit('/').next().unwrap();
            assert!(maps.contains(name) || name.starts_with("linux-vdso"), "{path}");
            assert_eq!(path_of(entry.node).collect::<Vec<_>>(), path.as_bytes());
            let image = entry.image().unwrap();
            assert_eq!((image.bias, image.dynamic()), (entry.bias, Some(entry.dynamic)), "{path}");
        }
        let here = the_list as *const () as u64;
        assert!(entries[0].image().unwrap().contains(here));
    }
}
