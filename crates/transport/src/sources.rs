//! What is sampled in a session: malloc, the heap of a managed runtime, and anonymous mappings, which are all told.
//!
//! No runtime is known here. Its agent and the recorder's file about it call it by the same name, and whatever
//! else refers to it goes by that.

use core::fmt::{self, Write as _};

/// What a source is called by both sides, in traces and by users: `malloc`, or a runtime's name. At most eight bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct SourceName(u64);

impl SourceName {
    /// The malloc family.
    pub const MALLOC: SourceName = SourceName::new("malloc");

    /// Anonymous memory that a program has from the system itself.
    pub const MAPPINGS: SourceName = SourceName::new("mmap");

    /// The longest name, in bytes.
    pub const MOST: usize = 8;

    /// From a name of ASCII letters, digits and hyphens; what comes after [`MOST`](Self::MOST) bytes is cut off.
    pub const fn new(name: &str) -> SourceName {
        let name = name.as_bytes();
        let mut bytes = [0; SourceName::MOST];
        let mut at = 0;
        while at < name.len() && at < bytes.len() {
            bytes[at] = name[at];
            at += 1;
        }
        SourceName(u64::from_le_bytes(bytes))
    }

    /// The word that messages have for it.
    pub const fn word(self) -> u64 {
        self.0
    }

    /// What [`word`](Self::word) has given; from a broken agent this may be no name.
    pub const fn of_word(word: u64) -> SourceName {
        SourceName(word)
    }

    /// Whether it is a managed runtime's.
    pub fn is_managed(self) -> bool {
        ![SourceName::MALLOC, SourceName::MAPPINGS, SourceName::default()].contains(&self)
    }
}

/// The name itself; what is none, as one.
impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.to_le_bytes();
        let letters = bytes.into_iter().take_while(|&byte| byte != 0);
        letters.map(char::from).filter(char::is_ascii_graphic).try_for_each(|it| f.write_char(it))
    }
}

/// What a sampler hits or misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Unit(u32);

impl Unit {
    /// Each byte of a block.
    pub const BYTE: Unit = Unit(0);
    /// Each word of 8 bytes of a block; of a managed block its header word, too.
    pub const WORD: Unit = Unit(1);
    /// A block as a whole.
    pub const OBJECT: Unit = Unit(2);
}

/// Something that allocates, and how densely that is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Source {
    /// Whose.
    pub name: SourceName,
    /// Probability that a unit is hit, in (0, 1]; 1 is exact.
    pub rate: f64,
    /// What is hit.
    pub unit: Unit,
}

impl Source {
    const NONE: Source = Source { name: SourceName(0), rate: 0.0, unit: Unit::BYTE };

    /// The malloc family, whose 8-byte words are hit with this probability.
    pub const fn malloc(rate: f64) -> Source {
        Source { name: SourceName::MALLOC, rate, unit: Unit::WORD }
    }

    /// Anonymous mappings, all of them.
    pub const fn mappings() -> Source {
        Source { name: SourceName::MAPPINGS, rate: 1.0, unit: Unit::BYTE }
    }
}

/// The table of a session's sources. The recorder has looked at the program, so that `auto` has been settled.
///
/// A block says whether it is malloc's or a managed heap's and not whose, so there is one of each at most. Mappings are
/// told in messages of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Sources {
    malloc: Source,
    managed: Source,
    mappings: Source,
}

impl Sources {
    /// Nothing.
    pub const NONE: Sources =
        Sources { malloc: Source::NONE, managed: Source::NONE, mappings: Source::NONE };

    /// Also this one, in the place of another of its kind.
    #[must_use]
    pub const fn with(self, source: Source) -> Sources {
        const MALLOC: u64 = SourceName::MALLOC.0;
        const MAPPINGS: u64 = SourceName::MAPPINGS.0;
        match source.name.0 {
            MALLOC => Sources { malloc: source, ..self },
            MAPPINGS => Sources { mappings: source, ..self },
            _ => Sources { managed: source, ..self },
        }
    }

    /// Malloc, if it is sampled.
    pub fn malloc(&self) -> Option<&Source> {
        self.has_malloc().then_some(&self.malloc)
    }

    /// Whether malloc is sampled.
    pub fn has_malloc(&self) -> bool {
        self.malloc.name.0 != 0
    }

    /// Whether anonymous mappings are told.
    pub fn has_mappings(&self) -> bool {
        self.mappings.name.0 != 0
    }

    /// The managed heap that is sampled.
    pub fn managed(&self) -> Option<&Source> {
        Some(&self.managed).filter(|source| source.name.0 != 0)
    }

    /// Whether everything of one of them is sampled.
    pub fn any_exact(&self) -> bool {
        self.malloc.rate >= 1.0 || self.managed.rate >= 1.0 || self.has_mappings()
    }

    /// The source of that name, if it is sampled.
    pub fn of(&self, name: SourceName) -> Option<&Source> {
        self.iter().find(|source| source.name == name)
    }

    /// Malloc first, mappings last.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        let mappings = self.has_mappings().then_some(&self.mappings);
        self.malloc().into_iter().chain(self.managed()).chain(mappings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUBY: Source = Source { name: SourceName::new("ruby"), rate: 0.25, unit: Unit::OBJECT };

    #[test]
    fn a_name_is_a_word() {
        let ruby = SourceName::new("ruby");
        assert_eq!(ruby.word().to_le_bytes(), *b"ruby\0\0\0\0");
        assert_eq!(SourceName::of_word(ruby.word()), ruby);
        assert_eq!(SourceName::new("longer-than-that"), SourceName::new("longer-t"));
        assert!(ruby.is_managed());
        assert!(!SourceName::MALLOC.is_managed() && !SourceName::default().is_managed());
    }

    #[test]
    fn sources_are_found_by_name() {
        let malloc = Source::malloc(0.5);
        let both = Sources::NONE.with(RUBY).with(malloc);
        assert!(both.iter().eq([&malloc, &RUBY]));
        assert_eq!((both.malloc(), both.managed()), (Some(&malloc), Some(&RUBY)));
        assert_eq!(both.of(RUBY.name), Some(&RUBY));
        assert_eq!(both.of(SourceName::new("ocaml")), None);
        let alone = Sources::NONE.with(RUBY);
        assert!(!alone.has_malloc() && alone.malloc().is_none() && alone.iter().eq([&RUBY]));
        assert_eq!(Sources::NONE.iter().count(), 0);
        let all = both.with(Source::mappings());
        assert!(all.has_mappings() && all.any_exact() && !both.any_exact());
        assert!(all.iter().eq([&malloc, &RUBY, &Source::mappings()]));
        assert!(!SourceName::MAPPINGS.is_managed());
    }
}
