//! The names of allocators' functions that files have of one another.

use std::fs::File;

use super::families::{is_of_one_allocator, is_of_own_heap};
use super::symbols::{Names, each_exchanged};

/// Functions that give and take blocks, but for those that C and C++ have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Imports {
    /// Those of other files.
    pub(super) wanted: Names,
    /// Those that others can have of this one.
    pub(super) offered: Names,
    /// It wants blocks out of heaps that a program makes itself, which are not hooked.
    pub(super) wants_own_heap: bool,
}

impl Imports {
    pub(super) fn of(file: &File) -> Imports {
        let mut imports = Imports::default();
        each_exchanged(file, |name, is_wanted| {
            if is_of_one_allocator(name) {
                let names = if is_wanted { &mut imports.wanted } else { &mut imports.offered };
                names.insert(name.into());
            }
            imports.wants_own_heap |= is_wanted && is_of_own_heap(name);
        });
        imports
    }
}
