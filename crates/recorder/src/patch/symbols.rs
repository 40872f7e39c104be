//! The functions of an object file by name, from whichever tables it has.

use std::fs::File;
use std::os::unix::fs::FileExt;

#[cfg(target_arch = "aarch64")]
use object::elf::EM_AARCH64;
#[cfg(target_arch = "x86_64")]
use object::elf::EM_X86_64;
use object::elf::{
    FileHeader64, Machine, PF_W, PF_X, PT_LOAD, SHT_DYNSYM, SHT_SYMTAB, STB_LOCAL, STT_FUNC,
    SectionType,
};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, LittleEndian};

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
#[cfg(target_arch = "aarch64")]
const OUR_MACHINE: Machine = EM_AARCH64;

/// A part of the file that is loaded to be executed.
#[derive(Clone, Copy, Debug)]
struct Code {
    address: u64,
    offset: u64,
    length: u64,
}

/// An executable of ours, or a library.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) entry: u64,
    code: Vec<Code>,
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
    pub(super) fn code(&self, file: &File, address: u64, length: usize) -> Vec<u8> {
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

/// Tells `each` of every function in the symbol tables, by name.
pub(super) fn each_function(file: &File, mut each: impl FnMut(&[u8], Symbol)) {
    for kind in [SHT_SYMTAB, SHT_DYNSYM] {
        // A damaged table is none.
        let _ = each_of(file, kind, &mut each);
    }
}

fn each_of(
    file: &File,
    kind: SectionType,
    each: &mut impl FnMut(&[u8], Symbol),
) -> object::Result<()> {
    let cache = ReadCache::new(file);
    let header = FileHeader64::<Endianness>::parse(&cache)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, &cache)?;
    let is_wanted = |it: &&object::elf::SectionHeader64<Endianness>| {
        it.sh_type(endian) == kind && it.sh_size(endian) <= MOST_BYTES
    };
    let Some(table) = sections.iter().find(is_wanted) else { return Ok(()) };
    let strings = sections.section(object::SectionIndex(table.sh_link(endian) as usize))?;
    if strings.sh_size(endian) > MOST_BYTES {
        return Ok(());
    }
    let names = strings.data(endian, &cache)?;
    let symbols = table.data_as_array::<object::elf::Sym64<LittleEndian>, _>(endian, &cache)?;
    for symbol in symbols.iter().filter(|it| is_function(it)) {
        let rest = names.get(symbol.st_name(LittleEndian) as usize..).unwrap_or_default();
        let name = rest.split(|&byte| byte == 0).next().unwrap_or_default();
        each(
            name,
            Symbol {
                address: symbol.st_value(LittleEndian),
                size: symbol.st_size(LittleEndian),
                is_local: symbol.st_bind() == STB_LOCAL,
            },
        );
    }
    Ok(())
}

/// Whether it is a function that is defined in this file.
fn is_function(symbol: &object::elf::Sym64<LittleEndian>) -> bool {
    symbol.st_type() == STT_FUNC && symbol.st_shndx(LittleEndian) != object::elf::SHN_UNDEF
}
