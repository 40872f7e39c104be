//! Names for addresses in programs that need not run any more, from files on this machine: of profiles
//! that have addresses only.
//!
//! A file is looked for in the folders that the user names, and where it was. Where its build id is
//! known, nothing else is believed; where it is not, the name has to do.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lifetrace_trace::event::Location;
use object::elf::PF_X;
use object::read::ReadCache;
use object::{Object, ObjectKind, ObjectSegment, SegmentFlags};

use super::build_id::has_build_id;
use super::forms::Forms;
use super::{ObjectFile, Symbolizer, elsewhere, names, object_file};
use crate::mapped_files::open_regular;
use crate::modules::FileAddress;

/// Names addresses by files on this machine, whether or not the program still runs.
#[derive(Debug)]
pub struct SymbolsOnDisk {
    symbolizer: Symbolizer,
    folders: Vec<PathBuf>,
}

/// A program or library that was found, or its debug information.
#[derive(Debug)]
pub struct FileOnDisk {
    object: Arc<ObjectFile>,
    layout: Layout,
}

/// Where something was in a process that had mapped a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedPlace {
    /// From the beginning of the file.
    pub offset: u64,
    /// In the process.
    pub address: u64,
    /// Whether the address is the one that the file states, wherever the process had it.
    pub is_stated: bool,
    /// Where the process had the beginning of the file, if that is known.
    pub start: Option<u64>,
}

/// Why a file is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfound {
    /// There is none of that name.
    Nowhere,
    /// Those of that name have other build ids.
    OtherBuild,
}

/// Why a place in a file that was found has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// The file has no code there, so it is not the one that was mapped.
    Outside,
    /// It has no symbol there.
    NoSymbol,
}

/// What of a file goes where in memory.
#[derive(Debug)]
struct Layout {
    segments: Vec<Segment>,
    /// Whether addresses in memory are those that the file states.
    is_fixed: bool,
    /// Whether the file has debug information only, and offsets in it mean nothing.
    is_hollow: bool,
    build_id: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    length: u64,
    in_memory: u64,
    address: u64,
    is_code: bool,
}

/// The files of one module.
#[derive(Debug, Default)]
struct Found {
    whole: Option<(PathBuf, File, Layout)>,
    hollow: Option<(PathBuf, Layout)>,
    is_other_there: bool,
}

impl SymbolsOnDisk {
    /// Looks into `folders` before all others: for files by their names or whole paths, as debuggers
    /// lay them out (`.build-id/ab/cdef.debug`), or as debuginfod's clients do.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(folders: Vec<PathBuf>) -> io::Result<SymbolsOnDisk> {
        Ok(SymbolsOnDisk { symbolizer: Symbolizer::start()?, folders })
    }

    /// The file that was mapped from `path`. Without a build id, whatever is there now is taken.
    ///
    /// # Errors
    /// If there is none, or only others.
    pub fn find(&self, path: &Path, build_id: &[u8]) -> Result<FileOnDisk, Unfound> {
        let mut found = Found::default();
        for candidate in self.candidates(path, build_id) {
            found.take(candidate, build_id);
        }
        let Found { whole, hollow, is_other_there } = found;
        if whole.is_none() && hollow.is_none() {
            return Err(if is_other_there { Unfound::OtherBuild } else { Unfound::Nowhere });
        }
        let (debug_path, hollow) = hollow.unzip();
        let (file, layout) = match whole {
            Some((path, file, layout)) => (Some((path, file)), Some(layout)),
            None => (None, None),
        };
        let layout = layout.or(hollow).unwrap_or_default();
        let debug_file = debug_path.or_else(|| self.debug_file(file.as_ref(), &layout.build_id));
        let file = file.map(|(_, file)| file);
        let object = object_file::found(path, &layout.build_id, file, debug_file);
        Ok(FileOnDisk { object: self.symbolizer.numbered(object), layout })
    }

    /// The functions at a place, the outermost first and what is inlined after it.
    ///
    /// # Errors
    /// If there is nothing of that kind.
    pub fn locations(
        &self,
        file: &FileOnDisk,
        place: MappedPlace,
    ) -> Result<Vec<Location>, Unnamed> {
        let address = file.layout.address(place).ok_or(Unnamed::Outside)?;
        let found = self.symbolizer.locations(&file.object, address);
        match found.first() {
            Some(first) if *first != names::unresolved(&file.object, address) => Ok(found.to_vec()),
            _ => Err(Unnamed::NoSymbol),
        }
    }

    fn candidates(&self, path: &Path, build_id: &[u8]) -> Vec<PathBuf> {
        let inside = path.strip_prefix("/").unwrap_or(path);
        let name = path.file_name().unwrap_or_default();
        let mut all = Vec::new();
        for folder in &self.folders {
            let mut debug_name = name.to_owned();
            debug_name.push(".debug");
            all.extend([folder.join(inside), folder.join(name), folder.join(debug_name)]);
            all.extend(by_build_id(folder, build_id));
        }
        all.push(path.to_owned());
        all
    }

    /// Debug information that lies elsewhere than the file that has none.
    fn debug_file(&self, file: Option<&(PathBuf, File)>, build_id: &[u8]) -> Option<PathBuf> {
        let (path, file) = file?;
        if Forms::of(file).has_any {
            return None;
        }
        let ours = self.folders.iter().flat_map(|folder| by_build_id(folder, build_id));
        let is_right =
            |path: &PathBuf| open_regular(path).is_some_and(|file| has_build_id(&file, build_id));
        { ours }
            .find(is_right)
            .or_else(|| elsewhere::debug_file(Some(file), path.parent(), build_id))
    }
}

impl Found {
    fn take(&mut self, path: PathBuf, build_id: &[u8]) {
        let Some(file) = open_regular(&path) else { return };
        let Some(layout) = Layout::of(&file) else { return };
        let is_right = build_id.is_empty() || layout.build_id == build_id;
        self.is_other_there |= !is_right;
        match (is_right, layout.is_hollow) {
            (false, _) => {}
            (true, true) => {
                self.hollow.get_or_insert((path, layout));
            }
            (true, false) => {
                self.whole.get_or_insert((path, file, layout));
            }
        }
    }
}

/// Where files with this build id are in a folder.
fn by_build_id(folder: &Path, build_id: &[u8]) -> Vec<PathBuf> {
    let Some((first, rest)) = build_id.split_first() else { return Vec::new() };
    let hexadecimal =
        |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let (first, rest, whole) = (format!("{first:02x}"), hexadecimal(rest), hexadecimal(build_id));
    let mut all = Vec::new();
    for within in [folder.join(".build-id"), folder.to_owned()] {
        all.extend(
            ["", ".debug"].map(|suffix| within.join(&first).join(format!("{rest}{suffix}"))),
        );
    }
    all.extend(["executable", "debuginfo"].map(|name| folder.join(&whole).join(name)));
    all
}

impl Default for Layout {
    fn default() -> Self {
        Self { segments: Vec::new(), is_fixed: false, is_hollow: true, build_id: Vec::new() }
    }
}

impl Layout {
    /// Of an object file of ELF; nothing of any other file.
    fn of(file: &File) -> Option<Layout> {
        let cache = ReadCache::new(file);
        let object = object::File::parse(&cache).ok()?;
        let segment = |segment: object::Segment<'_, '_, _>| {
            let (offset, length) = segment.file_range();
            let SegmentFlags::Elf { p_flags, .. } = segment.flags() else { return None };
            Some(Segment {
                offset,
                length,
                in_memory: segment.size(),
                address: segment.address(),
                is_code: (p_flags & PF_X).0 != 0,
            })
        };
        let segments: Vec<_> = object.segments().filter_map(segment).collect();
        Some(Layout {
            is_fixed: object.kind() == ObjectKind::Executable,
            is_hollow: segments.iter().filter(|it| it.is_code).all(|it| it.length == 0),
            build_id: object.build_id().ok().flatten().unwrap_or_default().to_vec(),
            segments,
        })
    }

    /// Where the file says that this is, if it has code there.
    fn address(&self, place: MappedPlace) -> Option<FileAddress> {
        let mut code = self.segments.iter().filter(|segment| segment.is_code);
        if place.is_stated {
            return code.any(|it| it.has(place.address)).then_some(FileAddress(place.address));
        }
        if !self.is_hollow {
            let address = |segment: &Segment| {
                let inside = place.offset.checked_sub(segment.offset)?;
                (inside < segment.length).then(|| segment.address.wrapping_add(inside))
            };
            return code.find_map(address).map(FileAddress);
        }
        let first = self.segments.iter().map(|segment| segment.address).min().unwrap_or(0);
        let address = match self.is_fixed {
            true => place.address,
            // The first segment is mapped where the file begins.
            false => place.address.checked_sub(place.start?)?.wrapping_add(first),
        };
        code.any(|it| it.has(address)).then_some(FileAddress(address))
    }
}

impl Segment {
    /// Whether this address, as the file states it, is in it.
    fn has(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|inside| inside < self.in_memory)
    }
}
