//! Symbols of what a process has mapped, functions and variables alike: what closures' code and roots' places are called.
//!
//! A snapshot asks for some thousands of names at once, all of a few files, so the tables of these are read whole, when they
//! are first asked for, and by name only, without debug information.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use object::read::ReadCache;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::mapped_files::open_mapped;
use crate::maps::{Mapping, first_of_files};

/// The files that a process has mapped, and their symbols.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// By where they begin.
    images: BTreeMap<u64, Image>,
}

/// A file, where the process has it.
#[derive(Debug)]
struct Image {
    range: Range<u64>,
    bias: u64,
    file: File,
    symbols: OnceCell<Vec<Symbol>>,
}

#[derive(Debug)]
struct Symbol {
    address: u64,
    /// 0 if nobody says.
    size: u64,
    name: Box<str>,
}

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) symbol: &'a str,
    /// From the symbol's beginning, in bytes.
    pub(super) offset: u64,
}

impl Mapped {
    /// What a process has mapped now; nothing if it is gone.
    pub(super) fn of(pid: u32) -> Mapped {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let mapped = first_of_files(&process, |_| true);
        let images = mapped.filter_map(|first| image(&process, &first));
        Mapped { images: images.map(|image| (image.range.start, image)).collect() }
    }

    /// What is at an address, if it is in a file, behind a symbol of it.
    pub(super) fn place(&self, address: u64) -> Option<Place<'_>> {
        let (_, image) = self.images.range(..=address).next_back()?;
        if !image.range.contains(&address) {
            return None;
        }
        let stated = address.wrapping_sub(image.bias);
        let symbols = image.symbols.get_or_init(|| symbols(&image.file));
        let after = symbols.partition_point(|symbol| symbol.address <= stated);
        let symbol = symbols.get(after.checked_sub(1)?)?;
        let offset = stated - symbol.address;
        let is_in_it = symbol.size == 0 || offset < symbol.size;
        is_in_it.then_some(Place { symbol: &symbol.name, offset })
    }
}

fn image(process: &Path, first: &Mapping) -> Option<Image> {
    let file = file_of(process, first)?;
    let (start, offset) = (first.range.start, first.offset);
    let cache = ReadCache::new(&file);
    let object = object::File::parse(&cache).ok()?;
    let stated = |segment: &object::Segment<'_, '_, _>| {
        let (begin, length) = segment.file_range();
        let at = offset.checked_sub(begin & !0xfff)?;
        (at <= length).then(|| (segment.address() & !0xfff).wrapping_add(at))
    };
    let bias = start.wrapping_sub(object.segments().find_map(|it| stated(&it))?);
    let ends = object.segments().map(|it| it.address() + it.size());
    let range = start..bias.wrapping_add(ends.max()?);
    Some(Image { range, bias, file, symbols: OnceCell::new() })
}

/// The program's own file even if another is at its path by now.
fn file_of(process: &Path, mapping: &Mapping) -> Option<File> {
    let executable = process.join("exe");
    if fs::read_link(&executable).is_ok_and(|target| *target.as_os_str() == *mapping.name) {
        return File::open(executable).ok();
    }
    open_mapped(process, mapping)
}

/// None if the file is none that has any.
fn symbols(file: &File) -> Vec<Symbol> {
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else { return Vec::new() };
    let is_place = |kind| !matches!(kind, SymbolKind::File | SymbolKind::Section | SymbolKind::Tls);
    // Where a unit's code or data begins is what stands there first, too.
    let is_border = |name: &str| name.ends_with("code_begin") || name.ends_with("data_begin");
    let mut symbols: Vec<Symbol> = object
        .symbols()
        .chain(object.dynamic_symbols())
        .filter(|symbol| symbol.is_definition() || symbol.address() != 0)
        .filter(|symbol| is_place(symbol.kind()) && !symbol.is_undefined())
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty() && !is_border(name))?;
            Some(Symbol { address: symbol.address(), size: symbol.size(), name: name.into() })
        })
        .collect();
    symbols.sort_by_key(|symbol| symbol.address);
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    static VARIABLE: [u64; 4] = [1, 2, 3, 4];

    #[test]
    fn our_own_functions_and_variables_have_names() {
        let mapped = Mapped::of(std::process::id());
        let function = mapped.place(file_of as *const () as u64).unwrap();
        assert!(function.symbol.contains("file_of") && function.offset == 0, "{function:?}");
        let variable = mapped.place((&raw const VARIABLE[2]) as u64).unwrap();
        assert!(variable.symbol.contains("VARIABLE") && variable.offset == 16, "{variable:?}");
        assert_eq!(mapped.place(8), None);
    }
}
