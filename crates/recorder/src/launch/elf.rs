//! Whether an ELF program has a dynamic linker that would load our agent.

use std::fs::File;

use object::elf::{
    DT_NEEDED, DT_STRSZ, DT_STRTAB, Dyn64, ELFCLASS64, EM_386, EM_AARCH64, EM_ARM, EM_RISCV,
    EM_X86_64, FileHeader64, Machine, PT_INTERP, PT_LOAD, ProgramHeader64,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::{ReadCache, StringTable};
use object::{Endianness, ReadRef};

use super::Untraceable;
use crate::linker::is_linker;

/// What kind of program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Image {
    /// It has a dynamic linker of our kind.
    Dynamic,
    /// It is such a dynamic linker itself.
    Linker,
    /// It has not.
    Untraceable(Untraceable),
}

#[cfg(target_arch = "x86_64")]
const OUR_MACHINE: Machine = EM_X86_64;
#[cfg(target_arch = "aarch64")]
const OUR_MACHINE: Machine = EM_AARCH64;

/// How the names of shared libraries begin that end a program in which another library, such as our
/// agent, comes before them: gcc's and clang's.
const SANITIZERS: [&str; 8] = [
    "libasan.so",
    "libhwasan.so",
    "liblsan.so",
    "libtsan.so",
    "libclang_rt.asan",
    "libclang_rt.hwasan",
    "libclang_rt.lsan",
    "libclang_rt.tsan",
];

/// Reads the headers. `Err` says why the file is no executable.
pub(crate) fn image(program: &File) -> Result<Image, String> {
    let file = &ReadCache::new(program);
    let identification = file.read_bytes_at(0, 20).map_err(|()| damaged("no header"))?;
    let machine = Machine(u16::from_le_bytes([identification[18], identification[19]]));
    if identification[4] != ELFCLASS64.0 || machine != OUR_MACHINE {
        return Ok(Image::Untraceable(Untraceable::OtherMachine(machine_name(machine))));
    }
    let interpreter = interpreter(file).map_err(damaged)?;
    Ok(match interpreter {
        None if is_linker(program) => Image::Linker,
        None => Image::Untraceable(Untraceable::Static),
        Some(path) if contains(&path, b"ld-musl") => Image::Untraceable(Untraceable::Musl),
        // A list that cannot be read is the dynamic linker's business.
        Some(_) => match sanitizer(file).unwrap_or_default() {
            Some(library) => Image::Untraceable(Untraceable::Sanitized(library)),
            None => Image::Dynamic,
        },
    })
}

/// Whether it was linked by Go. What cannot be read was not, as far as is known.
pub(crate) fn is_of_go(program: &File) -> bool {
    let file = &ReadCache::new(program);
    let has_section = || {
        let header = FileHeader64::<Endianness>::parse(file)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, file)?;
        Ok::<_, object::Error>(sections.section_by_name(endian, b".go.buildinfo").is_some())
    };
    has_section().unwrap_or(false)
}

/// The sanitizer among the libraries that the program is linked with.
fn sanitizer<'a, R: ReadRef<'a>>(file: R) -> object::Result<Option<&'static str>> {
    let header = FileHeader64::<Endianness>::parse(file)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, file)?;
    for segment in segments {
        let Some(entries) = segment.dynamic(endian, file)? else { continue };
        let strings = strings(file, endian, segments, entries);
        let needed = entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED);
        let mut names = needed.filter_map(|entry| strings.get(entry.val32(endian)?).ok());
        return Ok(names.find_map(|name| {
            SANITIZERS.into_iter().find(|sanitizer| name.starts_with(sanitizer.as_bytes()))
        }));
    }
    Ok(None)
}

/// The strings that a dynamic section refers to; empty if it does not say where they are.
fn strings<'a, R: ReadRef<'a>>(
    file: R,
    endian: Endianness,
    segments: &[ProgramHeader64<Endianness>],
    entries: &[Dyn64<Endianness>],
) -> StringTable<'a, R> {
    let value = |tag| Some(entries.iter().find(|entry| entry.tag(endian) == tag)?.val(endian));
    let place = value(DT_STRTAB).zip(value(DT_STRSZ)).and_then(|(address, length)| {
        let holds = |segment: &&ProgramHeader64<Endianness>| {
            let distance = address.checked_sub(segment.p_vaddr(endian));
            segment.p_type(endian) == PT_LOAD
                && distance.is_some_and(|distance| distance < segment.p_filesz(endian))
        };
        let segment = segments.iter().find(holds)?;
        let start = (address - segment.p_vaddr(endian)).checked_add(segment.p_offset(endian))?;
        Some((start, start.checked_add(length)?))
    });
    place.map_or_else(StringTable::default, |(start, end)| StringTable::new(file, start, end))
}

fn interpreter<'a>(file: impl ReadRef<'a>) -> object::Result<Option<Vec<u8>>> {
    let header = FileHeader64::<Endianness>::parse(file)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, file)?;
    let Some(segment) = segments.iter().find(|segment| segment.p_type(endian) == PT_INTERP) else {
        return Ok(None);
    };
    Ok(segment.interpreter(endian, file)?.map(<[u8]>::to_vec))
}

fn damaged(error: impl std::fmt::Display) -> String {
    format!("is a damaged ELF file: {error}")
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn machine_name(machine: Machine) -> &'static str {
    match machine {
        EM_386 => "x86, 32 bits",
        EM_X86_64 => "x86-64",
        EM_ARM => "ARM, 32 bits",
        EM_AARCH64 => "AArch64",
        EM_RISCV => "RISC-V",
        _ => "unknown",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;

    /// A 64-bit executable of our machine, of headers and an interpreter's name only.
    pub(crate) fn tiny(interpreter: Option<&str>) -> Vec<u8> {
        let name = interpreter.unwrap_or_default();
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        for half in [2, OUR_MACHINE.0] {
            bytes.extend(half.to_le_bytes());
        }
        bytes.extend(1u32.to_le_bytes());
        for word in [0u64, 64, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(0u32.to_le_bytes());
        for half in [64u16, 56, u16::from(interpreter.is_some()), 64, 0, 0] {
            bytes.extend(half.to_le_bytes());
        }
        bytes.extend(PT_INTERP.0.to_le_bytes());
        bytes.extend(4u32.to_le_bytes());
        let length = name.len() as u64 + 1;
        for word in [120, 120, 120, length, length, 1] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes
    }

    fn check(bytes: &[u8], expected: Result<Image, &str>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        match (image(&file), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn kinds_of_images() {
        check(&tiny(Some("/lib64/ld-linux-x86-64.so.2")), Ok(Image::Dynamic));
        check(&tiny(None), Ok(Image::Untraceable(Untraceable::Static)));
        check(&tiny(Some("/lib/ld-musl-x86_64.so.1")), Ok(Image::Untraceable(Untraceable::Musl)));
        check(&std::fs::read("/lib64/ld-linux-x86-64.so.2").unwrap(), Ok(Image::Linker));
    }

    #[test]
    fn damage_at_every_length() {
        let whole = tiny(Some("/lib64/ld-linux-x86-64.so.2"));
        for length in 0..whole.len() - 1 {
            check(&whole[..length], Err("damaged"));
        }
    }

    /// What a program is linked with is found where it is, and its absence is no reason to refuse.
    #[test]
    fn lists_of_libraries() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        check(&program, Ok(Image::Dynamic));
        let name = b"libc.so.6\0";
        let places = program.windows(name.len()).enumerate().filter(|(_, bytes)| bytes == name);
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        let mut sanitized = program.clone();
        for &place in &places {
            sanitized[place..place + name.len()].copy_from_slice(b"libasan.so");
        }
        check(&sanitized, Ok(Image::Untraceable(Untraceable::Sanitized("libasan.so"))));
        for eighth in 1..8 {
            check(&sanitized[..4096 + (places[0] - 4096) * eighth / 8], Ok(Image::Dynamic));
        }
    }
}
