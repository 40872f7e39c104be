//! The names of variables, from the symbols of the files that they are in.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::elf::{FileHeader64, PT_LOAD, STT_OBJECT};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader, Sym};
use object::{Endianness, SectionIndex};
use rustc_hash::FxHashMap;
use rustix::process::Pid;

use crate::mapped_files::open_mapped;
use crate::maps::Mapping;

/// What variables of one file are called.
pub(super) struct Globals {
    /// Where the file is, and what it is called.
    modules: Vec<Module>,
}

struct Module {
    /// From its first mapping to its last, with the zeros behind.
    range: Range<u64>,
    /// Where it begins in the file, of the first one.
    offset: u64,
    path: Arc<OsStr>,
    file: Option<File>,
}

/// A variable, by where it is in its file.
struct Variable {
    range: Range<u64>,
    name: String,
}

impl Globals {
    /// Of a process that lives still: its files are opened, and can be read later on.
    pub(super) fn of(process: Pid, maps: &[Mapping]) -> Globals {
        let folder = PathBuf::from(format!("/proc/{}", process.as_raw_nonzero()));
        let mut modules: Vec<Module> = Vec::new();
        for mapping in maps {
            match modules.last_mut() {
                Some(last) if last.path == mapping.name => last.range.end = mapping.range.end,
                Some(last) if mapping.name.is_empty() && last.range.end == mapping.range.start => {
                    last.range.end = mapping.range.end;
                }
                _ if mapping.is_of_file() && !mapping.is_shared => modules.push(Module {
                    range: mapping.range.clone(),
                    offset: mapping.offset,
                    path: Arc::clone(&mapping.name),
                    file: open_mapped(&folder, mapping),
                }),
                _ => {}
            }
        }
        Globals { modules }
    }

    /// The names of the variables at these addresses.
    pub(super) fn names(&self, addresses: impl Iterator<Item = u64>) -> FxHashMap<u64, Arc<str>> {
        let mut tables: FxHashMap<usize, (u64, Vec<Variable>)> = FxHashMap::default();
        let mut name = |address: u64| {
            let at = self.modules.iter().position(|module| module.range.contains(&address))?;
            let module = &self.modules[at];
            let (bias, variables) = tables.entry(at).or_insert_with(|| module.variables());
            let known = variable(variables, address.wrapping_sub(*bias));
            Some(known.map_or_else(
                || module.data(),
                |it| format!("{} ({})", it.name, module.name()).into(),
            ))
        };
        addresses.filter_map(|address| Some((address, name(address)?))).collect()
    }
}

impl Module {
    /// Those that have names, in order, and how far from their places in the file they are in memory.
    fn variables(&self) -> (u64, Vec<Variable>) {
        let found = self.file.as_ref().and_then(|file| {
            let cache = ReadCache::new(file);
            let header = FileHeader64::<Endianness>::parse(&cache).ok()?;
            let endian = header.endian().ok()?;
            let mut variables = variables(header, endian, &cache).unwrap_or_default();
            variables.sort_by_key(|it| it.range.start);
            Some((self.bias(header, endian, &cache)?, variables))
        });
        found.unwrap_or_default()
    }

    fn bias(
        &self,
        header: &FileHeader64<Endianness>,
        endian: Endianness,
        file: &ReadCache<&File>,
    ) -> Option<u64> {
        const PAGE: u64 = 4096;
        let mut segments = header.program_headers(endian, file).ok()?.iter();
        let first = segments.find(|it| {
            it.p_type(endian) == PT_LOAD && it.p_offset(endian) / PAGE == self.offset / PAGE
        })?;
        Some(self.range.start.wrapping_sub(first.p_vaddr(endian) / PAGE * PAGE))
    }

    fn name(&self) -> Cow<'_, str> {
        Path::new(&*self.path).file_name().unwrap_or_default().to_string_lossy()
    }

    fn data(&self) -> Arc<str> {
        format!("a variable of {}", self.name()).into()
    }
}

fn variables(
    header: &FileHeader64<Endianness>,
    endian: Endianness,
    file: &ReadCache<&File>,
) -> object::read::Result<Vec<Variable>> {
    let sections = header.sections(endian, file)?;
    let mut all = Vec::new();
    for kind in [object::elf::SHT_SYMTAB, object::elf::SHT_DYNSYM] {
        let table = sections.symbols(endian, file, kind)?;
        for symbol in table.iter() {
            let start = symbol.st_value(endian);
            if symbol.st_type() == STT_OBJECT && symbol.st_size(endian) > 0 {
                let name = table.symbol_name(endian, symbol).unwrap_or_default();
                let name = String::from_utf8_lossy(name).into_owned();
                all.push(Variable { range: start..start + symbol.st_size(endian), name });
            }
        }
        if table.section() != SectionIndex(0) && !all.is_empty() {
            break;
        }
    }
    Ok(all)
}

fn variable(variables: &[Variable], address: u64) -> Option<&Variable> {
    let next = variables.partition_point(|it| it.range.start <= address);
    variables[..next].iter().rev().take(4).find(|it| it.range.contains(&address))
}
