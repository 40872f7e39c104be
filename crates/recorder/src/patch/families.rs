//! The allocators that are known, by the names of their functions.

use lifetrace_transport::patch::Shape;

use Shape::{
    Allocate, AllocateAligned, AllocateArray, Free, New, PosixMemalign, Reallocate, ReallocateArray,
};

/// What a function's name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is to be patched.
    Hooked(Shape),
    /// It is asked how large blocks are.
    UsableSize,
}

/// A function that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Common to the functions of one allocator: they take each other's blocks.
    pub(super) family: u8,
    pub(super) role: Role,
    /// The name is an ordinary word, which a program may have for something else of its own.
    pub(super) is_common: bool,
}

/// Before the names of C's functions and jemalloc's; the first is of a program that defines malloc.
const PREFIXES: [&str; 3] = ["", "_rjem_", "je_"];

const TCMALLOC: u8 = PREFIXES.len() as u8;
const MIMALLOC: u8 = TCMALLOC + 1;
const RPMALLOC: u8 = MIMALLOC + 1;

/// How many allocators are told apart.
pub(super) const FAMILIES: usize = RPMALLOC as usize + 1;

/// Whether functions of this family are also what programs call wrappers of the C library's.
pub(super) fn may_wrap(family: usize) -> bool {
    matches!(PREFIXES.get(family), Some(&"" | &"je_"))
}

/// Whether a function with this name gives or takes blocks, and is not C's or C++'s but of one allocator.
pub(super) fn is_of_one_allocator(name: &[u8]) -> bool {
    let is_hooked = |known: Known| matches!(known.role, Role::Hooked(_));
    !name.starts_with(b"_Z") && find(name).is_some_and(|it| !it.is_common && is_hooked(it))
}

/// Whether a function with this name gives blocks out of a heap that the program makes itself, which are not
/// hooked.
pub(super) fn is_of_own_heap(name: &[u8]) -> bool {
    name.starts_with(b"mi_heap_") && name.windows(5).any(|part| part == b"alloc")
}

/// C's, and jemalloc's.
const C: &[(&str, Role)] = &[
    ("malloc", Role::Hooked(Allocate)),
    ("free", Role::Hooked(Free)),
    ("calloc", Role::Hooked(AllocateArray)),
    ("realloc", Role::Hooked(Reallocate)),
    ("reallocarray", Role::Hooked(ReallocateArray)),
    ("posix_memalign", Role::Hooked(PosixMemalign)),
    ("aligned_alloc", Role::Hooked(AllocateAligned)),
    ("memalign", Role::Hooked(AllocateAligned)),
    ("valloc", Role::Hooked(Allocate)),
    ("pvalloc", Role::Hooked(Allocate)),
    ("cfree", Role::Hooked(Free)),
    ("free_sized", Role::Hooked(Free)),
    ("free_aligned_sized", Role::Hooked(Free)),
    ("mallocx", Role::Hooked(Allocate)),
    ("rallocx", Role::Hooked(Reallocate)),
    ("dallocx", Role::Hooked(Free)),
    ("sdallocx", Role::Hooked(Free)),
    ("malloc_usable_size", Role::UsableSize),
    ("malloc_size", Role::UsableSize),
];

/// What a function of the C library's with this name does by which a program maps memory itself.
pub(super) fn of_mappings(name: &[u8]) -> Option<Shape> {
    Some(match name {
        b"mmap" | b"mmap64" => Shape::Mmap,
        b"munmap" => Shape::Munmap,
        b"mremap" => Shape::Mremap,
        b"mprotect" => Shape::Mprotect,
        b"pkey_mprotect" => Shape::PkeyMprotect,
        b"brk" => Shape::Brk,
        b"sbrk" => Shape::Sbrk,
        _ => return None,
    })
}

/// Those without which one would not know what is mapped.
pub(super) const ALL_OF_MAPPINGS: [Shape; 6] =
    [Shape::Mmap, Shape::Munmap, Shape::Mremap, Shape::Mprotect, Shape::Brk, Shape::Sbrk];

/// tcmalloc's operators under its own names, without the prefix.
const TC: &[(&str, Role)] = &[
    ("new", Role::Hooked(New)),
    ("newarray", Role::Hooked(New)),
    ("new_nothrow", Role::Hooked(Allocate)),
    ("newarray_nothrow", Role::Hooked(Allocate)),
    ("new_aligned", Role::Hooked(New)),
    ("newarray_aligned", Role::Hooked(New)),
    ("new_aligned_nothrow", Role::Hooked(Allocate)),
    ("newarray_aligned_nothrow", Role::Hooked(Allocate)),
    ("delete", Role::Hooked(Free)),
    ("deletearray", Role::Hooked(Free)),
    ("delete_sized", Role::Hooked(Free)),
    ("deletearray_sized", Role::Hooked(Free)),
    ("delete_nothrow", Role::Hooked(Free)),
    ("deletearray_nothrow", Role::Hooked(Free)),
    ("delete_aligned", Role::Hooked(Free)),
    ("deletearray_aligned", Role::Hooked(Free)),
    ("delete_sized_aligned", Role::Hooked(Free)),
    ("deletearray_sized_aligned", Role::Hooked(Free)),
    ("delete_aligned_nothrow", Role::Hooked(Free)),
    ("deletearray_aligned_nothrow", Role::Hooked(Free)),
];

/// C++'s operators, which take malloc's blocks or are built on it.
const OPERATORS: &[(&str, Role)] = &[
    ("_Znwm", Role::Hooked(New)),
    ("_Znam", Role::Hooked(New)),
    ("_ZnwmRKSt9nothrow_t", Role::Hooked(Allocate)),
    ("_ZnamRKSt9nothrow_t", Role::Hooked(Allocate)),
    ("_ZnwmSt11align_val_t", Role::Hooked(New)),
    ("_ZnamSt11align_val_t", Role::Hooked(New)),
    ("_ZnwmSt11align_val_tRKSt9nothrow_t", Role::Hooked(Allocate)),
    ("_ZnamSt11align_val_tRKSt9nothrow_t", Role::Hooked(Allocate)),
    ("_ZdlPv", Role::Hooked(Free)),
    ("_ZdaPv", Role::Hooked(Free)),
    ("_ZdlPvm", Role::Hooked(Free)),
    ("_ZdaPvm", Role::Hooked(Free)),
    ("_ZdlPvRKSt9nothrow_t", Role::Hooked(Free)),
    ("_ZdaPvRKSt9nothrow_t", Role::Hooked(Free)),
    ("_ZdlPvSt11align_val_t", Role::Hooked(Free)),
    ("_ZdaPvSt11align_val_t", Role::Hooked(Free)),
    ("_ZdlPvmSt11align_val_t", Role::Hooked(Free)),
    ("_ZdaPvmSt11align_val_t", Role::Hooked(Free)),
    ("_ZdlPvSt11align_val_tRKSt9nothrow_t", Role::Hooked(Free)),
    ("_ZdaPvSt11align_val_tRKSt9nothrow_t", Role::Hooked(Free)),
];

/// mimalloc's, but for those of heaps of the program's own, which are emptied without a word.
const MI: &[(&str, Role)] = &[
    ("malloc", Role::Hooked(Allocate)),
    ("malloc_small", Role::Hooked(Allocate)),
    ("zalloc", Role::Hooked(Allocate)),
    ("zalloc_small", Role::Hooked(Allocate)),
    ("malloc_aligned", Role::Hooked(Allocate)),
    ("zalloc_aligned", Role::Hooked(Allocate)),
    ("malloc_aligned_at", Role::Hooked(Allocate)),
    ("zalloc_aligned_at", Role::Hooked(Allocate)),
    ("mallocn", Role::Hooked(AllocateArray)),
    ("calloc", Role::Hooked(AllocateArray)),
    ("calloc_aligned", Role::Hooked(AllocateArray)),
    ("calloc_aligned_at", Role::Hooked(AllocateArray)),
    ("realloc", Role::Hooked(Reallocate)),
    ("reallocf", Role::Hooked(Reallocate)),
    ("rezalloc", Role::Hooked(Reallocate)),
    ("realloc_aligned", Role::Hooked(Reallocate)),
    ("rezalloc_aligned", Role::Hooked(Reallocate)),
    ("reallocn", Role::Hooked(ReallocateArray)),
    ("recalloc", Role::Hooked(ReallocateArray)),
    ("reallocarray", Role::Hooked(ReallocateArray)),
    ("posix_memalign", Role::Hooked(PosixMemalign)),
    ("memalign", Role::Hooked(AllocateAligned)),
    ("aligned_alloc", Role::Hooked(AllocateAligned)),
    ("valloc", Role::Hooked(Allocate)),
    ("pvalloc", Role::Hooked(Allocate)),
    ("new", Role::Hooked(New)),
    ("new_aligned", Role::Hooked(New)),
    ("new_nothrow", Role::Hooked(Allocate)),
    ("new_aligned_nothrow", Role::Hooked(Allocate)),
    ("free", Role::Hooked(Free)),
    ("free_small", Role::Hooked(Free)),
    ("cfree", Role::Hooked(Free)),
    ("free_size", Role::Hooked(Free)),
    ("free_aligned", Role::Hooked(Free)),
    ("free_size_aligned", Role::Hooked(Free)),
    ("usable_size", Role::UsableSize),
    ("malloc_usable_size", Role::UsableSize),
    ("malloc_size", Role::UsableSize),
];

/// rpmalloc's.
const RP: &[(&str, Role)] = &[
    ("malloc", Role::Hooked(Allocate)),
    ("zalloc", Role::Hooked(Allocate)),
    ("calloc", Role::Hooked(AllocateArray)),
    ("realloc", Role::Hooked(Reallocate)),
    ("aligned_realloc", Role::Hooked(Reallocate)),
    ("aligned_alloc", Role::Hooked(AllocateAligned)),
    ("memalign", Role::Hooked(AllocateAligned)),
    ("posix_memalign", Role::Hooked(PosixMemalign)),
    ("free", Role::Hooked(Free)),
    ("malloc_usable_size", Role::UsableSize),
];

/// Strings of their own in allocators: a program that has one, and none of the functions above, brings an
/// allocator whose functions cannot be found.
pub(super) const MARKS: [&[u8]; 5] = [
    b"mimalloc: ",
    b"<jemalloc>: %s -- %.*s\n",
    b"<jemalloc>: ",
    b"TCMALLOC_TRANSFER_NUM_OBJ",
    b"TCMALLOC_SKIP_SBRK",
];

/// In programs that have such an allocator and do not use it: CPython from 3.13 on does so only if this variable says so.
pub(super) const IDLE: &[u8] = b"PYTHONMALLOC";

/// No known name is longer; most names of C++ and Rust are.
const LONGEST: usize = 40;

/// What is known of a function with this name.
pub(super) fn find(name: &[u8]) -> Option<Known> {
    let name = str::from_utf8(name).ok().filter(|name| name.len() <= LONGEST)?;
    let known = |family, role, is_common| Known { family, role, is_common };
    if let Some(rest) = name.strip_prefix("mi_") {
        return role(MI, rest).map(|role| known(MIMALLOC, role, false));
    }
    if let Some(rest) = name.strip_prefix("tc_") {
        return role(C, rest).or(role(TC, rest)).map(|role| known(TCMALLOC, role, false));
    }
    if let Some(role) = name.strip_prefix("rp").and_then(|rest| role(RP, rest)) {
        return Some(known(RPMALLOC, role, false));
    }
    if let Some(role) = role(OPERATORS, name) {
        return Some(known(0, role, false));
    }
    PREFIXES.into_iter().zip(0..TCMALLOC).rev().find_map(|(prefix, family)| {
        let role = role(C, name.strip_prefix(prefix)?)?;
        Some(known(family, role, prefix.is_empty()))
    })
}

fn role(names: &[(&str, Role)], name: &str) -> Option<Role> {
    names.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Option<(u8, Role)>) {
        let found = find(name.as_bytes()).map(|known| (known.family, known.role));
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn names_of_allocators() {
        check("malloc", Some((0, Role::Hooked(Allocate))));
        check("_ZdlPvm", Some((0, Role::Hooked(Free))));
        check("tc_newarray", Some((TCMALLOC, Role::Hooked(New))));
        check("_rjem_sdallocx", Some((1, Role::Hooked(Free))));
        check("je_realloc", Some((2, Role::Hooked(Reallocate))));
        check("mi_zalloc_aligned", Some((MIMALLOC, Role::Hooked(Allocate))));
        check("mi_usable_size", Some((MIMALLOC, Role::UsableSize)));
        check("rpfree", Some((RPMALLOC, Role::Hooked(Free))));
    }

    #[test]
    fn names_of_one_allocator() {
        for name in ["tc_malloc", "mi_free", "je_realloc", "rpmalloc", "_rjem_calloc"] {
            assert!(is_of_one_allocator(name.as_bytes()), "{name}");
        }
        for name in ["malloc", "mallocx", "_Znwm", "_ZdlPv", "mi_usable_size", "tc_mallinfo"] {
            assert!(!is_of_one_allocator(name.as_bytes()), "{name}");
        }
        assert!(is_of_own_heap(b"mi_heap_malloc") && is_of_own_heap(b"mi_heap_recalloc"));
        assert!(!is_of_own_heap(b"mi_heap_new") && !is_of_own_heap(b"mi_malloc"));
    }

    #[test]
    fn names_of_others() {
        for name in ["", "main", "mallocs", "xmalloc", "mi_heap_malloc", "_rjem_je_malloc_default"]
        {
            check(name, None);
        }
    }
}
