//! The machine's own types of objects: the low bits of an object's first word. \[UNSAFE\]
//!
//! Their numbers, `ruby_value_type` in the machine's public headers, are the same in all versions since 2.7.

use crate::symbols::Value;

/// The bits.
pub(crate) const MASK: Value = 0x1f;
pub(crate) const CLASS: Value = 0x02;
pub(crate) const MODULE: Value = 0x03;
pub(crate) const DATA: Value = 0x0c;
/// What the machine has for itself, of several sorts.
pub(crate) const INTERNAL: Value = 0x1a;
const NONE: Value = 0x00;
const ZOMBIE: Value = 0x1d;
const MOVED: Value = 0x1e;
const OBJECT: Value = 0x01;
const STRING: Value = 0x05;
const ARRAY: Value = 0x07;
const HASH: Value = 0x08;
const STRUCT: Value = 0x09;
const BIGNUM: Value = 0x0a;
const FIRST_INTERNAL: Value = INTERNAL;

/// What `ObjectSpace.count_objects` calls them; by their numbers, up to [`FIRST_INTERNAL`] and beyond.
const NAMES: [&str; 32] = [
    "T_NONE",
    "T_OBJECT",
    "T_CLASS",
    "T_MODULE",
    "T_FLOAT",
    "T_STRING",
    "T_REGEXP",
    "T_ARRAY",
    "T_HASH",
    "T_STRUCT",
    "T_BIGNUM",
    "T_FILE",
    "T_DATA",
    "T_MATCH",
    "T_COMPLEX",
    "T_RATIONAL",
    "",
    "T_NIL",
    "T_TRUE",
    "T_FALSE",
    "T_SYMBOL",
    "T_FIXNUM",
    "T_UNDEF",
    "",
    "",
    "",
    "T_IMEMO",
    "T_NODE",
    "T_ICLASS",
    "T_ZOMBIE",
    "T_MOVED",
    "",
];

/// The number of an object's type.
///
/// # Safety
/// An object, which begins with its flags.
#[inline(always)]
pub(crate) unsafe fn of(object: Value) -> Value {
    // SAFETY: by contract.
    unsafe { (object as *const Value).read() & MASK }
}

/// Whether an object is of the type `T_DATA`.
///
/// # Safety
/// As [`of`].
#[inline(always)]
pub(crate) unsafe fn is_data(object: Value) -> bool {
    // SAFETY: by contract.
    unsafe { of(object) == DATA }
}

/// Whether an object is a class.
///
/// # Safety
/// As [`of`].
pub(crate) unsafe fn is_class(object: Value) -> bool {
    // SAFETY: by contract.
    unsafe { of(object) == CLASS }
}

/// Whether objects with these flags are of a type that programs do not see, and have something else in the place of their
/// class.
pub(crate) fn are_internal(flags: Value) -> bool {
    flags & MASK >= FIRST_INTERNAL
}

/// Whether a slot with these flags has no object.
pub(crate) fn are_absent(flags: Value) -> bool {
    matches!(flags & MASK, NONE | MOVED)
}

/// Whether a slot with these flags has no object, or what is left of one that is freed but for its finaliser.
pub(crate) fn are_freed(flags: Value) -> bool {
    are_absent(flags) || flags & MASK == ZOMBIE
}

/// Whether objects with these flags are of a type whose size the machine reads in them alone, so that it can be asked for
/// when they are about to be freed.
pub(crate) fn are_plain(flags: Value) -> bool {
    matches!(flags & MASK, OBJECT | STRING | ARRAY | HASH | STRUCT | BIGNUM)
}

/// What a type is called.
pub(crate) fn name(number: u32) -> &'static str {
    NAMES.get(number as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_called_as_programs_know_them() {
        let names = [CLASS, DATA, FIRST_INTERNAL, 5, 20, 28].map(|it| name(it as u32));
        assert_eq!(names, ["T_CLASS", "T_DATA", "T_IMEMO", "T_STRING", "T_SYMBOL", "T_ICLASS"]);
        assert_eq!(name(99), "");
    }

    #[test]
    fn flags_above_the_type_do_not_matter() {
        let object = [0xffff_ff00_usize | 0x60 | CLASS, 0];
        let address = object.as_ptr() as Value;
        // SAFETY: words of flags.
        assert!(unsafe { is_class(address) && !is_data(address) });
        assert!(are_plain(0x60 | STRING) && !are_plain(DATA) && !are_plain(CLASS));
        assert!(are_internal(0x60 | FIRST_INTERNAL) && !are_internal(0x60 | DATA));
        assert!(are_absent(0) && are_absent(0x60 | MOVED) && !are_absent(0x60 | ZOMBIE));
        assert!(are_freed(0x60 | ZOMBIE) && are_freed(0) && !are_freed(0x60 | STRING));
    }
}
