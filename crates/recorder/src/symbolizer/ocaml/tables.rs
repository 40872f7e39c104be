//! The frame tables of OCaml code, as the compiler has left them in a file.
//!
//! ```text
//! caml<Module>__frametable: count, then for each address to which a call returns
//!     return address (8; in a position-independent file a relocation says it), frame size and flags (2),
//!     number of live values (2), their offsets (2 each),
//!     [number of blocks (1), their lengths (1 each)], [to 4; offset of the place (4; or as many as blocks)], to 8
//! place: two words of 4, of which the first has the offset of the name and whether another place follows, to
//!     whose function the one before is inlined
//! name: offset of the file's name (4), [since OCaml 5.2 8 more if the second word's highest bit is set], text
//! ```
//!
//! (`asmcomp/emitaux.ml`, `runtime/backtrace_nat.c`, `runtime/caml/stack.h` of OCaml 4.11 to 5.3, for 64-bit
//! processors.) Nothing in a file is believed: what leads outside is left out.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use object::elf::{R_AARCH64_RELATIVE, R_X86_64_RELATIVE};
use object::read::{ReadCache, ReadRef};
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags};
use rustc_hash::FxHashMap;

/// The functions of a file by the addresses in their code to which calls return.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// Sorted; each with the index of a name.
    returns: Vec<(u64, u32)>,
    names: Vec<Name>,
}

/// What the runtime calls a function, and the source file that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) function: Arc<str>,
    pub(super) file: Arc<str>,
}

impl Functions {
    /// The names of the functions that the calls in a function's code are written in.
    pub(super) fn in_code(&self, code: Range<u64>) -> impl Iterator<Item = &Name> {
        // A call returns behind itself, be it the last instruction.
        let [first, end] = [code.start, code.end]
            .map(|at| self.returns.partition_point(|&(address, _)| address <= at));
        let returns = self.returns.get(first..end).unwrap_or_default();
        returns.iter().map(|&(_, name)| &self.names[name as usize])
    }
}

/// Reads the tables in `file`, which the symbols of the first of `sources` lead to that has such.
pub(super) fn read(file: &File, sources: impl Iterator<Item = PathBuf>) -> Option<Functions> {
    let tables = sources.filter_map(|path| File::open(path).ok()).find_map(|file| tables(&file))?;
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    let sections: Vec<_> = object
        .sections()
        .filter(|it| it.address().checked_add(it.size()).is_some_and(|end| end < HIGHEST))
        .filter(|section| tables.iter().any(|&at| span(section).contains(&at)))
        .filter_map(|section| {
            Some(Memory { start: section.address(), bytes: section.data().ok()? })
        })
        .collect();
    let mut found = Found::default();
    for table in tables {
        if let Some(memory) = sections.iter().find(|memory| memory.has(table)) {
            found.add_table(memory, table);
        }
    }
    Some(found.relocated(&object))
}

/// No section of a program's is beyond; so sums of addresses and offsets do not overflow.
const HIGHEST: u64 = 1 << 63;

fn span<'data>(section: &impl ObjectSection<'data>) -> Range<u64> {
    section.address()..section.address() + section.size()
}

/// Where the modules' tables are; `None` if the file has no symbols of any.
fn tables(file: &File) -> Option<Vec<u64>> {
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    let tables = object.symbols().filter(|it| it.name().is_ok_and(is_table)).map(|it| it.address());
    let tables: Vec<u64> = tables.collect();
    (!tables.is_empty()).then_some(tables)
}

fn is_table(symbol: &str) -> bool {
    super::is_ocaml(symbol) && (symbol.ends_with("__frametable") || symbol.ends_with(".frametable"))
}

/// A part of a process's memory, as the file has it.
struct Memory<'a> {
    start: u64,
    bytes: &'a [u8],
}

impl Memory<'_> {
    fn has(&self, address: u64) -> bool {
        address.checked_sub(self.start).is_some_and(|at| at < self.bytes.len() as u64)
    }

    fn at(&self, address: u64) -> Option<&[u8]> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        self.bytes.get(at..)
    }

    fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        self.at(address)?.first_chunk().copied()
    }

    fn u16(&self, address: u64) -> Option<u16> {
        self.read(address).map(u16::from_le_bytes)
    }

    fn u32(&self, address: u64) -> Option<u32> {
        self.read(address).map(u32::from_le_bytes)
    }

    fn u64(&self, address: u64) -> Option<u64> {
        self.read(address).map(u64::from_le_bytes)
    }

    fn text(&self, address: u64) -> Option<Arc<str>> {
        let bytes = self.at(address)?.split(|&byte| byte == 0).next()?;
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into())
    }
}

/// A frame of this size is none.
const CALLED_BACK: u16 = 0xffff;

/// Bits of a frame's size that are not its size.
const HAS_PLACE: u16 = 1;
const HAS_BLOCKS: u16 = 2;

/// Bits of a place's words.
const IS_FOLLOWED: u32 = 1;
const NAME_OFFSET: u32 = 0x03ff_fffc;
const IS_LONG: u32 = 1 << 31;

/// More functions than this are not inlined into one another.
const MOST_INLINED: usize = 32;

/// What the tables have.
#[derive(Default)]
struct Found {
    /// Where return addresses lie, what is written there, and indices of names.
    returns: Vec<(u64, u64, u32)>,
    names: Vec<Name>,
    /// Indices of names by where they lie.
    by_address: FxHashMap<u64, Option<u32>>,
}

impl Found {
    /// As far as it makes sense.
    fn add_table(&mut self, memory: &Memory<'_>, table: u64) -> Option<()> {
        let count = memory.u64(table)?;
        let mut at = table + 8;
        for _ in 0..count {
            at = self.add(memory, at)?;
        }
        Some(())
    }

    /// Adds the descriptor there, and says where the next one is.
    fn add(&mut self, memory: &Memory<'_>, at: u64) -> Option<u64> {
        let (size, live) = (memory.u16(at + 8)?, memory.u16(at + 10)?);
        let mut end = at + 12 + 2 * u64::from(live);
        if size == CALLED_BACK {
            return Some(end.next_multiple_of(8));
        }
        let mut places = 1;
        if size & HAS_BLOCKS != 0 {
            let [blocks] = memory.read(end)?;
            places = u64::from(blocks);
            end += 1 + places;
        }
        if size & HAS_PLACE != 0 {
            end = end.next_multiple_of(4);
            let name = (0..places).find_map(|index| self.outermost(memory, end + 4 * index));
            if let Some(name) = name {
                self.returns.push((at, memory.u64(at)?, name));
            }
            end += 4 * places;
        }
        Some(end.next_multiple_of(8))
    }

    /// The name of the function into which the others at a place are inlined, to which the word there leads.
    fn outermost(&mut self, memory: &Memory<'_>, word: u64) -> Option<u32> {
        let offset = memory.u32(word)?;
        let mut place = (offset != 0).then(|| word + u64::from(offset))?;
        for _ in 0..MOST_INLINED {
            let (first, second) = (memory.u32(place)?, memory.u32(place + 4)?);
            if first & IS_FOLLOWED == 0 {
                let length = if second & IS_LONG == 0 { 4 } else { 12 };
                return self.name(memory, place + u64::from(first & NAME_OFFSET), length);
            }
            place += 8;
        }
        None
    }

    /// The name that lies there, behind so many bytes.
    fn name(&mut self, memory: &Memory<'_>, at: u64, length: u64) -> Option<u32> {
        let Found { names, by_address, .. } = self;
        *by_address.entry(at).or_insert_with(|| {
            let function = memory.text(at + length)?;
            let file = memory.text(at.checked_add_signed(memory.u32(at)?.cast_signed().into())?)?;
            names.push(Name { function, file });
            u32::try_from(names.len() - 1).ok()
        })
    }

    /// With the addresses that the dynamic linker would fill in.
    fn relocated<'data>(self, object: &object::File<'data, impl ReadRef<'data>>) -> Functions {
        let Found { mut returns, names, .. } = self;
        let at: FxHashMap<u64, usize> =
            returns.iter().enumerate().map(|(index, &(at, ..))| (at, index)).collect();
        for (place, relocation) in object.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            if let Some(&index) = at.get(&place)
                && [R_X86_64_RELATIVE, R_AARCH64_RELATIVE].contains(&r_type)
            {
                returns[index].1 = relocation.addend().cast_unsigned();
            }
        }
        let mut returns: Vec<_> = returns.into_iter().map(|(_, code, name)| (code, name)).collect();
        returns.sort_unstable();
        Functions { returns, names }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: u64 = 0x1000;

    /// As the compiler writes it: a call in `A.f`, one that calls back, two blocks of which the second has a place in
    /// `A.g`, inlined into `A.h`, and a call without a place.
    fn table() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |part: &[u8]| {
            bytes.extend(part);
            bytes.len()
        };
        put(&4u64.to_le_bytes());
        put(&[0x50, 0, 0, 0, 0, 0, 0, 0, 17, 0, 1, 0, 7, 7, 0, 0]);
        // At 24, the place at 96.
        put(&[72, 0, 0, 0, 0, 0, 0, 0]);
        put(&[0x60, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 0, 0]);
        put(&[0x70, 0, 0, 0, 0, 0, 0, 0, 19, 0, 0, 0, 2, 1, 1, 0]);
        // At 68, the place at 104.
        put(&[0, 0, 0, 0, 36, 0, 0, 0]);
        put(&[0x90, 0, 0, 0, 0, 0, 0, 0, 16, 0, 3, 0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        // Places: of `f`, whose name is at 120; of `g`; of `h`, whose long name is at 128.
        put(&[24, 0, 0, 0, 0, 0, 0, 0]);
        put(&[17, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 128]);
        // Names: where that of the file is, 28 and 20 bytes on.
        put(&[28, 0, 0, 0, b'A', b'.', b'f', 0]);
        put(&[20, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, b'A', b'.', b'h', 0, 0, 0, 0, 0]);
        assert_eq!(put(b"a.ml\0"), 153);
        bytes
    }

    fn found(bytes: &[u8]) -> Found {
        let mut found = Found::default();
        found.add_table(&Memory { start: START, bytes }, START);
        found
    }

    #[test]
    fn calls_and_blocks_have_the_names_of_functions_that_are_not_inlined() {
        let Found { returns, names, .. } = found(&table());
        assert_eq!(returns, [(START + 8, 0x50, 0), (START + 48, 0x70, 1)]);
        let name = |function: &str| Name { function: function.into(), file: "a.ml".into() };
        assert_eq!(names, [name("A.f"), name("A.h")]);
    }

    #[test]
    fn a_function_has_the_names_within_its_code() {
        let name = |function: &str| Name { function: function.into(), file: "a.ml".into() };
        let returns = [(0x10, 0), (0x20, 1), (0x28, 1), (0x30, 0)].to_vec();
        let functions = Functions { returns, names: [name("A.f"), name("A.g")].to_vec() };
        let names = |code| functions.in_code(code).map(|it| &*it.function).collect::<Vec<_>>();
        assert_eq!(names(0x10..0x28), ["A.g", "A.g"]);
        assert_eq!(names(0..0x20), ["A.f", "A.g"]);
        assert_eq!(names(0x30..0x40), [""; 0]);
    }

    proptest! {
        #[test]
        fn damaged_tables_are_survived(at in 0usize..153, by: u8, end in 0usize..153) {
            let mut bytes = table();
            bytes[at] = bytes[at].wrapping_add(by);
            prop_assert!(found(&bytes).returns.len() <= 4);
            found(&bytes[..end]);
        }
    }
}
