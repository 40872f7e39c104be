//! The functions of an object file by name, from whichever tables it has; and what it wants of others.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;

#[cfg(target_arch = "aarch64")]
use object::elf::{EM_AARCH64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT};
#[cfg(target_arch = "x86_64")]
use object::elf::{EM_X86_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT};
use object::elf::{
    FileHeader64, Machine, PF_W, PF_X, PT_LOAD, RelocationType, SHN_UNDEF, SHT_DYNSYM, SHT_SYMTAB,
    STB_LOCAL, STT_FUNC, SectionHeader64, SectionType, Sym64,
};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader, Sym};
use object::{Endianness, LittleEndian, SectionIndex};
use rustc_hash::FxHashMap;

/// Larger tables are not looked at: no program has them.
const MOST_BYTES: u64 = 256 << 20;

/// A function of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) address: u64,
    /// 0 where it is not said.
    pub(super) size: u64,
    /// Nobody outside the object that it was compiled in sees it.
    pub(super) is_local: bool,
}

#[cfg(target_arch = "x86_64")]
const OUR_MACHINE: Machine = EM_X86_64;
#[cfg(target_arch = "x86_64")]
const SLOT_KINDS: [RelocationType; 2] = [R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT];
#[cfg(target_arch = "aarch64")]
const OUR_MACHINE: Machine = EM_AARCH64;
#[cfg(target_arch = "aarch64")]
const SLOT_KINDS: [RelocationType; 2] = [R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT];

/// A part of the file that is loaded to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// An executable of ours, or a library.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) entry: u64,
    pub(super) code: Vec<Code>,
}

impl Image {
    /// `None` of files that are none, or for another machine, such as an emulator's.
    pub(super) fn open(file: &File) -> Option<Image> {
        let cache = ReadCache::new(file);
        let header = FileHeader64::<Endianness>::parse(&cache).ok()?;
        let endian = header.endian().ok().filter(|&it| it == Endianness::Little)?;
        if header.e_machine(endian) != OUR_MACHINE {
            return None;
        }
        let is_code = |it: &&object::elf::ProgramHeader64<Endianness>| {
            let flags = it.p_flags(endian);
            it.p_type(endian) == PT_LOAD && flags & PF_X == PF_X && flags.0 & PF_W.0 == 0
        };
        let segments = header.program_headers(endian, &cache).ok()?.iter().filter(is_code);
        let code = segments.map(|it| Code {
            address: it.p_vaddr(endian),
            offset: it.p_offset(endian),
            length: it.p_filesz(endian),
        });
        Some(Image { entry: header.e_entry(endian), code: code.collect() })
    }

    /// At most `length` bytes of code at an address; fewer at the end of a part, none elsewhere.
    pub(super) fn read(&self, file: &File, address: u64, length: usize) -> Vec<u8> {
        let read = || {
            let holds = |it: &&Code| address.wrapping_sub(it.address) < it.length;
            let part = self.code.iter().find(holds)?;
            let distance = address - part.address;
            let length = length.min(usize::try_from(part.length - distance).ok()?);
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, part.offset.checked_add(distance)?).ok()?;
            Some(bytes)
        };
        read().unwrap_or_default()
    }
}

/// Names of functions.
pub(super) type Names = BTreeSet<Box<[u8]>>;

/// Tells `each` of every function in the symbol tables, by name.
pub(super) fn each_function(file: &File, mut each: impl FnMut(&[u8], Symbol)) {
    for kind in [SHT_SYMTAB, SHT_DYNSYM] {
        // A damaged table is none.
        let _ = each_symbol(file, kind, |name, symbol| {
            if symbol.st_type() == STT_FUNC && !is_wanted(symbol) {
                each(
                    name,
                    Symbol {
                        address: symbol.st_value(LittleEndian),
                        size: symbol.st_size(LittleEndian),
                        is_local: symbol.st_bind() == STB_LOCAL,
                    },
                );
            }
        });
    }
}

/// Tells `each` of every name that other files can ask for, or that this one asks for: then it is wanted.
pub(super) fn each_exchanged(file: &File, mut each: impl FnMut(&[u8], bool)) {
    let _ = each_symbol(file, SHT_DYNSYM, |name, symbol| each(name, is_wanted(symbol)));
}

/// Whether it is another file's.
fn is_wanted(symbol: &Sym64<LittleEndian>) -> bool {
    symbol.st_shndx(LittleEndian) == SHN_UNDEF
}

fn each_symbol(
    file: &File,
    kind: SectionType,
    mut each: impl FnMut(&[u8], &Sym64<LittleEndian>),
) -> object::Result<()> {
    let cache = ReadCache::new(file);
    let header = FileHeader64::<LittleEndian>::parse(&cache)?;
    let sections = header.sections(header.endian()?, &cache)?;
    let is_it = |it: &&SectionHeader64<LittleEndian>| {
        it.sh_type(LittleEndian) == kind && it.sh_size(LittleEndian) <= MOST_BYTES
    };
    let Some(table) = sections.iter().find(is_it) else { return Ok(()) };
    let strings = sections.section(SectionIndex(table.sh_link(LittleEndian) as usize))?;
    if strings.sh_size(LittleEndian) > MOST_BYTES {
        return Ok(());
    }
    let names = strings.data(LittleEndian, &cache)?;
    for symbol in table.data_as_array::<Sym64<LittleEndian>, _>(LittleEndian, &cache)? {
        let rest = names.get(symbol.st_name(LittleEndian) as usize..).unwrap_or_default();
        each(rest.split(|&byte| byte == 0).next().unwrap_or_default(), symbol);
    }
    Ok(())
}

/// The words of memory that the dynamic linker fills with addresses of functions of the same file, unless
/// another file has one of that name.
pub(super) fn slots(file: &File) -> FxHashMap<u64, u64> {
    let mut slots = FxHashMap::default();
    // A damaged table is none.
    let _ = fill_slots(file, &mut slots);
    slots
}

fn fill_slots(file: &File, slots: &mut FxHashMap<u64, u64>) -> object::Result<()> {
    let cache = ReadCache::new(file);
    let header = FileHeader64::<LittleEndian>::parse(&cache)?;
    let sections = header.sections(header.endian()?, &cache)?;
    let symbols = sections.symbols(LittleEndian, &cache, SHT_DYNSYM)?;
    for section in sections.iter().filter(|it| it.sh_size(LittleEndian) <= MOST_BYTES) {
        let Some((relocations, _)) = section.rela(LittleEndian, &cache)? else { continue };
        for relocation in relocations {
            let kind = relocation.r_type(LittleEndian, false);
            let Some(index) = relocation.symbol(LittleEndian, false) else { continue };
            let symbol = symbols.symbol(index)?;
            if SLOT_KINDS.contains(&kind) && !is_wanted(symbol) {
                slots.insert(relocation.r_offset(LittleEndian), symbol.st_value(LittleEndian));
            }
        }
    }
    Ok(())
}
