//! The target's address space over time: which object file an address belongs to.
//!
//! Every object file ever seen has a [`ModuleId`], which is never reused: what was unloaded keeps
//! its id and its name, and another file that is loaded at the same place gets another id. The same
//! file loaded again (same path and build id) is the same module, wherever it lands.

use std::collections::BTreeMap;
use std::ops::Range;

use lifetrace_transport::message::Module;
use rustc_hash::{FxHashMap, FxHashSet};

/// An object file, unique within a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ModuleId(pub(crate) u32);

/// An address as stated in an object file (a "virtual address" of ELF).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileAddress(pub(crate) u64);

/// What is mapped now.
#[derive(Debug, Default)]
pub(crate) struct AddressSpace {
    by_start: BTreeMap<u64, Mapping>,
    known: FxHashMap<(Vec<u8>, Vec<u8>), ModuleId>,
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    end: u64,
    bias: u64,
    id: ModuleId,
}

/// A module's id, and whether this is the first time it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loaded {
    New(ModuleId),
    Again(ModuleId),
}

impl AddressSpace {
    /// Notes a mapping. What it overlaps has been unmapped without a word, and is forgotten.
    pub(crate) fn load(&mut self, module: &Module<'_>) -> Loaded {
        self.forget(module.start..module.end);
        let (id, loaded) = self.identify(module);
        let mapping = Mapping { end: module.end, bias: module.bias, id };
        self.by_start.insert(module.start, mapping);
        loaded
    }

    /// Notes that the mapping that begins at `start` is gone, and returns where it was.
    pub(crate) fn unload(&mut self, start: u64) -> Option<Range<u64>> {
        self.by_start.remove(&start).map(|mapping| start..mapping.end)
    }

    /// The module that is mapped at `address` now, and where in its file that is.
    pub(crate) fn find(&self, address: u64) -> Option<(ModuleId, FileAddress)> {
        let (_, mapping) = self.by_start.range(..=address).next_back()?;
        (address < mapping.end)
            .then(|| (mapping.id, FileAddress(address.wrapping_sub(mapping.bias))))
    }

    /// The modules that are mapped now; one in several places comes several times.
    pub(crate) fn mapped(&self) -> impl Iterator<Item = ModuleId> {
        self.by_start.values().map(|mapping| mapping.id)
    }

    /// All modules that are known by their paths.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&[u8], ModuleId)> {
        self.known.iter().map(|((path, _), id)| (&**path, *id))
    }

    /// Forgets all modules but these. A file that is loaded again then gets another id.
    pub(crate) fn forget_others(&mut self, kept: &FxHashSet<ModuleId>) {
        self.known.retain(|_, id| kept.contains(id));
        self.known.shrink_to_fit();
    }

    fn forget(&mut self, range: Range<u64>) {
        let before = self.by_start.range(..range.start).next_back();
        let overlapping: Vec<u64> = before
            .filter(|(_, mapping)| mapping.end > range.start)
            .into_iter()
            .chain(self.by_start.range(range.start..range.end.max(range.start)))
            .map(|(&start, _)| start)
            .collect();
        for start in overlapping {
            self.by_start.remove(&start);
        }
    }

    /// A file without a build id may have been replaced by another of that name.
    fn identify(&mut self, module: &Module<'_>) -> (ModuleId, Loaded) {
        let key = (module.path.to_vec(), module.build_id.to_vec());
        if let Some(&id) = self.known.get(&key).filter(|_| !module.build_id.is_empty()) {
            return (id, Loaded::Again(id));
        }
        let id = ModuleId(self.count);
        self.count += 1;
        self.known.insert(key, id);
        (id, Loaded::New(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module<'a>(start: u64, end: u64, build_id: &'a [u8], path: &'a str) -> Module<'a> {
        Module { bias: start - 0x100, start, end, build_id, path: path.as_bytes() }
    }

    #[test]
    fn an_address_is_in_the_module_around_it() {
        let mut space = AddressSpace::default();
        space.load(&module(0x1000, 0x2000, b"a", "liba"));
        space.load(&module(0x3000, 0x4000, b"b", "libb"));
        assert_eq!(space.find(0xfff), None);
        assert_eq!(space.find(0x1000), Some((ModuleId(0), FileAddress(0x100))));
        assert_eq!(space.find(0x1fff), Some((ModuleId(0), FileAddress(0x10ff))));
        assert_eq!(space.find(0x2000), None);
        assert_eq!(space.find(0x3001), Some((ModuleId(1), FileAddress(0x101))));
    }

    #[test]
    fn another_file_at_the_same_place_is_another_module() {
        let mut space = AddressSpace::default();
        space.load(&module(0x1000, 0x2000, b"a", "liba"));
        assert_eq!(space.unload(0x1000), Some(0x1000..0x2000));
        assert_eq!(space.find(0x1000), None);
        assert_eq!(space.load(&module(0x1000, 0x2000, b"b", "libb")), Loaded::New(ModuleId(1)));
        space.unload(0x1000);
        assert_eq!(space.load(&module(0x1000, 0x2000, b"a2", "liba")), Loaded::New(ModuleId(2)));
    }

    #[test]
    fn the_same_file_elsewhere_is_the_same_module() {
        let mut space = AddressSpace::default();
        space.load(&module(0x1000, 0x2000, b"a", "liba"));
        space.unload(0x1000);
        assert_eq!(space.load(&module(0x7000, 0x8000, b"a", "liba")), Loaded::Again(ModuleId(0)));
        assert_eq!(space.find(0x7000), Some((ModuleId(0), FileAddress(0x100))));
    }

    #[test]
    fn without_a_build_id_the_name_proves_nothing() {
        let mut space = AddressSpace::default();
        space.load(&module(0x1000, 0x2000, b"", "liba"));
        space.unload(0x1000);
        assert_eq!(space.load(&module(0x1000, 0x2000, b"", "liba")), Loaded::New(ModuleId(1)));
    }

    #[test]
    fn what_is_overlapped_is_gone() {
        let mut space = AddressSpace::default();
        space.load(&module(0x1000, 0x3000, b"a", "liba"));
        space.load(&module(0x4000, 0x5000, b"b", "libb"));
        space.load(&module(0x2000, 0x4800, b"c", "libc"));
        assert_eq!(space.find(0x1500), None);
        assert_eq!(space.find(0x4900), None);
        assert_eq!(space.find(0x4000), Some((ModuleId(2), FileAddress(0x2100))));
        assert_eq!(space.unload(0x9999), None);
    }

    #[test]
    fn a_forgotten_file_is_another_when_it_comes_back() {
        let mut space = AddressSpace::default();
        space.load(&module(0x1000, 0x2000, b"a", "liba"));
        space.load(&module(0x3000, 0x4000, b"b", "libb"));
        space.unload(0x3000);
        let kept = space.mapped().collect();
        space.forget_others(&kept);
        assert_eq!(space.load(&module(0x5000, 0x6000, b"a", "liba")), Loaded::Again(ModuleId(0)));
        assert_eq!(space.load(&module(0x7000, 0x8000, b"b", "libb")), Loaded::New(ModuleId(2)));
    }

    #[test]
    fn impossible_ranges_do_no_harm() {
        let mut space = AddressSpace::default();
        space.load(&Module { bias: 9, start: 8, end: 2, build_id: b"", path: b"" });
        assert_eq!(space.find(8), None);
        assert_eq!(space.find(u64::MAX), None);
    }
}
