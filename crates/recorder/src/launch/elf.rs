//! Whether an ELF program has a dynamic linker that would load our agent.

use std::fs::File;

use object::elf::{
    ELFCLASS64, EM_386, EM_AARCH64, EM_ARM, EM_RISCV, EM_X86_64, FileHeader64, Machine, PT_INTERP,
};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadRef};

use super::Untraceable;

/// What kind of program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Image {
    /// It has a dynamic linker of our kind.
    Dynamic,
    /// It has not.
    Untraceable(Untraceable),
}

#[cfg(target_arch = "x86_64")]
const OUR_MACHINE: Machine = EM_X86_64;
#[cfg(target_arch = "aarch64")]
const OUR_MACHINE: Machine = EM_AARCH64;

/// Reads the headers. `Err` says why the file is no executable.
pub(crate) fn image(file: &File) -> Result<Image, String> {
    let file = &ReadCache::new(file);
    let identification = file.read_bytes_at(0, 20).map_err(|()| damaged("no header"))?;
    let machine = Machine(u16::from_le_bytes([identification[18], identification[19]]));
    if identification[4] != ELFCLASS64.0 || machine != OUR_MACHINE {
        return Ok(Image::Untraceable(Untraceable::OtherMachine(machine_name(machine))));
    }
    let interpreter = interpreter(file).map_err(damaged)?;
    Ok(match interpreter {
        None => Image::Untraceable(Untraceable::Static),
        Some(path) if contains(&path, b"ld-musl") => Image::Untraceable(Untraceable::Musl),
        Some(_) => Image::Dynamic,
    })
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
    }

    #[test]
    fn damage_at_every_length() {
        let whole = tiny(Some("/lib64/ld-linux-x86-64.so.2"));
        for length in 0..whole.len() - 1 {
            check(&whole[..length], Err("damaged"));
        }
    }
}
