//! The memory of a process, and the object files in it.
//!
//! Files are not opened: those of another mount namespace are not ours to see, and one may have been replaced.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use crate::maps::{self, Mapping};

/// Larger tables of symbols are not read.
const MOST_BYTES: u64 = 64 << 20;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PF_X: u32 = 1;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const SYMBOL_BYTES: usize = 24;
const STT_FUNC: u8 = 2;
const STT_OBJECT: u8 = 1;

/// A process's memory, to be read and written.
#[derive(Debug)]
pub(super) struct Memory(File);

impl Memory {
    pub(super) fn open(pid: Pid) -> io::Result<Memory> {
        let path = format!("/proc/{}/mem", pid.as_raw_nonzero());
        Ok(Memory(File::options().read(true).write(true).open(path)?))
    }

    pub(super) fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    /// As much as there is in front of what cannot be read.
    pub(super) fn read_up_to(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let read = self.0.read_at(&mut bytes, address).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }

    pub(super) fn array<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    pub(super) fn word(&self, address: u64) -> Option<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    pub(super) fn half_word(&self, address: u64) -> Option<u32> {
        self.array(address).map(u32::from_le_bytes)
    }

    /// Also where the program itself may only read.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }
}

/// A symbol that others can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) name: Box<[u8]>,
    pub(super) address: u64,
    pub(super) size: u64,
}

/// An object file as it is mapped.
#[derive(Clone, Debug)]
pub(super) struct Module {
    pub(super) path: PathBuf,
    /// All of it.
    pub(super) range: Range<u64>,
    /// Its code.
    pub(super) text: Vec<Range<u64>>,
    /// What of the last page of code is not the file's: nothing runs there.
    pub(super) padding: Option<Range<u64>>,
    /// The table of unwind information, where that itself begins, and where both end.
    pub(super) unwind: Option<[u64; 3]>,
    pub(super) symbols: Vec<Symbol>,
    /// The names of the libraries that it was linked with.
    needed: Vec<String>,
}

impl Module {
    pub(super) fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    pub(super) fn has(&self, address: u64) -> bool {
        self.text.iter().any(|part| part.contains(&address))
    }

    pub(super) fn symbol(&self, name: &str) -> Option<u64> {
        let found = self.symbols.iter().find(|it| *it.name == *name.as_bytes());
        found.map(|symbol| symbol.address)
    }
}

/// All object files of a process.
pub(super) fn modules(pid: Pid, memory: &Memory) -> Vec<Module> {
    let folder = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    let maps = maps::read(Path::new(&folder)).unwrap_or_default();
    let mut modules: Vec<Module> = Vec::new();
    for mapping in maps.iter().filter(|it| it.is_of_file() || &*it.name == "[vdso]") {
        let is_beginning = mapping.offset == 0
            && memory.array::<4>(mapping.range.start).is_some_and(|it| it == *b"\x7fELF");
        let same = modules.last_mut().filter(|last| last.path.as_os_str() == &*mapping.name);
        match same {
            Some(module) if !is_beginning || module.text.is_empty() => module.extend(mapping),
            _ if is_beginning => modules.push(Module::begin(mapping)),
            _ => {}
        }
    }
    modules.iter_mut().for_each(|module| {
        // What of a damaged file cannot be read is not there.
        let _ = module.read(memory, &maps);
    });
    modules
}

impl Module {
    fn begin(mapping: &Mapping) -> Module {
        let text = if mapping.is_executable { vec![mapping.range.clone()] } else { Vec::new() };
        Module {
            path: PathBuf::from(&*mapping.name),
            range: mapping.range.clone(),
            text,
            padding: None,
            unwind: None,
            symbols: Vec::new(),
            needed: Vec::new(),
        }
    }

    fn extend(&mut self, mapping: &Mapping) {
        self.range.end = mapping.range.end;
        if mapping.is_executable {
            self.text.push(mapping.range.clone());
        }
    }

    fn read(&mut self, memory: &Memory, maps: &[Mapping]) -> Option<()> {
        let headers = headers(memory, self.range.start)?;
        let first = headers.iter().find(|it| it.kind == PT_LOAD)?.address & !4095;
        let bias = self.range.start.wrapping_sub(first);
        self.padding = padding(&headers, bias);
        self.unwind = headers
            .iter()
            .find(|it| it.kind == PT_GNU_EH_FRAME)
            .and_then(|it| unwind(memory, bias.wrapping_add(it.address), maps));
        let dynamic = headers.iter().find(|it| it.kind == PT_DYNAMIC)?;
        if let Some(Exchanged { symbols, needed }) = exchanged(memory, bias, dynamic) {
            (self.symbols, self.needed) = (symbols, needed);
        }
        Some(())
    }
}

/// Those that stay as long as the process does: the program, which begins at `entry`, what it was linked with, and `libc`,
/// the number of the C library. Of a program that the dynamic linker was told to run, only the last is known. Not the linker
/// itself: in it, nobody can ask for symbols of the program's.
pub(super) fn permanent(modules: &[Module], entry: u64, libc: usize) -> Vec<&Module> {
    let program = modules.iter().find(|it| it.has(entry));
    let needed = program.map(|it| &it.needed[..]).unwrap_or_default();
    let stays = |at: usize, it: &Module| {
        at == libc || it.has(entry) || needed.iter().any(|name| name == it.name())
    };
    let numbered = modules.iter().enumerate();
    let stay = numbered.filter(|&(at, it)| stays(at, it) && !it.name().starts_with("ld-linux"));
    stay.map(|(_, it)| it).collect()
}

/// A program header.
#[derive(Clone, Copy, Debug)]
struct Header {
    kind: u32,
    flags: u32,
    address: u64,
    length: u64,
}

fn headers(memory: &Memory, start: u64) -> Option<Vec<Header>> {
    const HEADER_BYTES: usize = 56;
    let file: [u8; 64] = memory.array(start)?;
    let (at, count) = (word(&file, 32)?, u16::from_le_bytes([file[56], file[57]]));
    let table = memory.read(start.checked_add(at)?, usize::from(count) * HEADER_BYTES)?;
    let headers = table.chunks_exact(HEADER_BYTES).map(|it| {
        let half = |at: usize| u32::from_le_bytes([it[at], it[at + 1], it[at + 2], it[at + 3]]);
        Some(Header {
            kind: half(0),
            flags: half(4),
            address: word(it, 16)?,
            length: word(it, 40)?,
        })
    });
    headers.collect()
}

/// Behind the code, up to the end of its page.
fn padding(headers: &[Header], bias: u64) -> Option<Range<u64>> {
    let code = headers.iter().find(|it| it.kind == PT_LOAD && it.flags & PF_X != 0)?;
    let end = bias.wrapping_add(code.address).checked_add(code.length)?;
    let start = end.next_multiple_of(16);
    Some(start..end.next_multiple_of(4096).max(start))
}

fn unwind(memory: &Memory, table: u64, maps: &[Mapping]) -> Option<[u64; 3]> {
    const RELATIVE_IN_FOUR_BYTES: u8 = 0x1b;
    let head: [u8; 8] = memory.array(table)?;
    if head[1] != RELATIVE_IN_FOUR_BYTES {
        return None;
    }
    let distance = i32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    let frames = (table + 4).wrapping_add_signed(distance.into());
    let part = maps.iter().find(|it| it.range.contains(&frames))?;
    Some([table, frames, part.range.end])
}

/// What a module gives others, and has of them.
struct Exchanged {
    symbols: Vec<Symbol>,
    needed: Vec<String>,
}

fn exchanged(memory: &Memory, bias: u64, dynamic: &Header) -> Option<Exchanged> {
    let length = dynamic.length.min(MOST_BYTES) as usize;
    let entries = memory.read(bias.wrapping_add(dynamic.address), length)?;
    let entry = |kind| {
        let found = entries.chunks_exact(16).find(|it| word(it, 0) == Some(kind));
        found.and_then(|it| word(it, 8))
    };
    // glibc has made addresses of them; the kernel, for its own module, has not.
    let place = |it: u64| if it < bias { it.wrapping_add(bias) } else { it };
    let (table, strings) = (place(entry(DT_SYMTAB)?), place(entry(DT_STRTAB)?));
    let names = memory.read(strings, entry(DT_STRSZ)?.min(MOST_BYTES) as usize)?;
    // The one is followed by the other, in all files that linkers make.
    let bytes = strings.checked_sub(table)?.min(MOST_BYTES) as usize;
    let found = memory.read(table, bytes)?;
    let symbols = found.chunks_exact(SYMBOL_BYTES).filter_map(|it| symbol(it, &names, bias));
    let needed = entries.chunks_exact(16).filter(|it| word(it, 0) == Some(DT_NEEDED));
    let needed = needed.filter_map(|it| {
        let name = names.get(word(it, 8)? as usize..)?.split(|&byte| byte == 0).next()?;
        Some(String::from_utf8_lossy(name).into_owned())
    });
    Some(Exchanged { symbols: symbols.collect(), needed: needed.collect() })
}

fn symbol(bytes: &[u8], names: &[u8], bias: u64) -> Option<Symbol> {
    let is_defined = bytes[6..8] != [0, 0];
    if !is_defined || !matches!(bytes[4] & 15, STT_FUNC | STT_OBJECT) {
        return None;
    }
    let at = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    let rest = names.get(at..)?;
    let name = rest.split(|&byte| byte == 0).next()?.into();
    Some(Symbol { name, address: word(bytes, 8)?.wrapping_add(bias), size: word(bytes, 16)? })
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Whether the name of a file, which may be gone, ends so.
pub(super) fn is_called(path: &Path, name: &str) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let bytes = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
    bytes.ends_with(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use rustix::process::getpid;

    use super::*;

    #[test]
    fn our_own_libraries_are_found() {
        let memory = Memory::open(getpid()).unwrap();
        let modules = modules(getpid(), &memory);
        let libc = modules.iter().find(|it| it.name().starts_with("libc.so")).unwrap();
        let malloc = libc.symbol("malloc").unwrap();
        assert!(libc.has(malloc) && libc.range.contains(&malloc) && libc.unwind.is_some());
        let address = nix::libc::malloc as *const () as u64;
        assert_eq!(malloc, address);
        let padding = libc.padding.clone().unwrap();
        assert!(padding.end - padding.start < 4096 && padding.end % 4096 == 0);
        let vdso = modules.iter().find(|it| it.name() == "[vdso]").unwrap();
        assert!(vdso.symbol("__vdso_clock_gettime").is_some());
        assert!(memory.read(8, 8).is_none() && memory.word(8).is_none());
    }
}
