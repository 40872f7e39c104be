//! An object file that is mapped, as it is described to the recorder and to the unwinder. \[UNSAFE\]
//!
//! All that is wanted of a module's memory is read at once. Later only a walk reads there, and only in modules
//! that its own thread is running in: those cannot go.

use core::ffi::CStr;
use core::ops::Range;

use alloc::string::String;
use alloc::vec::Vec;
use framehop::{ExplicitModuleSectionInfo, Module};
use lifetrace_agent::loader::image::Image;
use lifetrace_agent::loader::object::Object;
use lifetrace_agent::sys;

use super::late::{self, COMPARED, Late, Mark};
use crate::unwind::tables;

/// Notes are not longer than a page; the build id is among the first.
const MOST_NOTES: usize = 4096;

/// Of `.eh_frame_hdr`, what says where `.eh_frame` is.
const FRAMES_FIELDS: usize = 8;

/// A mapped object file.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub bias: u64,
    pub text: Range<u64>,
    pub build_id: Vec<u8>,
    pub path: Vec<u8>,
    /// How it is known to be still there; `None` if it never goes.
    pub late: Option<Late>,
    unwind: Option<Unwind>,
}

/// The unwind tables of a module. What they hold may be gone, with the module.
#[derive(Clone, Debug)]
struct Unwind {
    /// Addresses of `.eh_frame_hdr` and of `.eh_frame`, where the loader has them.
    header: u64,
    frames: u64,
    /// The end of the segment that holds both.
    end: u64,
    /// From an offset in the file to an address in that segment.
    file_bias: u64,
    /// Where both are to be read.
    tables: [&'static [u8]; 2],
}

impl Unwind {
    /// What the module is known by; `None` if that is gone.
    fn mark(&self) -> Option<Mark> {
        let header = self.tables[0];
        let (address, bytes) = (header.as_ptr() as u64, header.len().min(COMPARED));
        Some(Mark::new(address, late::contents(address, bytes)?))
    }
}

impl Loaded {
    /// The module as the unwinder wants it.
    pub fn framehop_module(&self) -> Module<&'static [u8]> {
        let sections = self.unwind.as_ref().map(|unwind| self.sections(unwind));
        Module::new(String::new(), self.text.clone(), self.bias, sections.unwrap_or_default())
    }

    fn sections(&self, unwind: &Unwind) -> ExplicitModuleSectionInfo<&'static [u8]> {
        let stated = |start: u64, length: u64| {
            let start = start.wrapping_sub(self.bias);
            Some(start..start + length)
        };
        let [header, frames] = unwind.tables;
        ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: stated(self.text.start, self.text.end - self.text.start),
            eh_frame_svma: stated(unwind.frames, frames.len() as u64),
            eh_frame: Some(frames),
            eh_frame_hdr_svma: stated(unwind.header, header.len() as u64),
            eh_frame_hdr: Some(header),
            ..Default::default()
        }
    }

    /// Has the unwind tables read in a mapping of their own, if they are large. To be called while
    /// the process has a single thread.
    pub fn map_tables_again(&self) -> Option<()> {
        let unwind = self.unwind.as_ref()?;
        let start = unwind.header.min(unwind.frames);
        let mut path = self.path.clone();
        path.push(0);
        let path = CStr::from_bytes_with_nul(&path).ok()?;
        // SAFETY: part of a segment that is mapped readable, of a module that nobody can unload now.
        let loaded = unsafe { bytes(start..unwind.end, true)? };
        tables::map_again(path, start.wrapping_sub(unwind.file_bias), loaded);
        Some(())
    }
}

/// What is mapped as `image`, under the name `path`; `None` if there is no code in it, or it has gone
/// meanwhile. `stays` says that it never goes, `object` what else is known of it.
pub fn read(image: &Image, path: Vec<u8>, stays: bool, object: Option<Object>) -> Option<Loaded> {
    let is_code =
        |it: &libc::Elf64_Phdr| it.p_type == libc::PT_LOAD && it.p_flags & libc::PF_X != 0;
    let text = image.headers().filter(is_code).map(|it| image.place(&it));
    let text = text.reduce(|all, it| all.start.min(it.start)..all.end.max(it.end))?;
    let notes = image.headers().filter(|it| it.p_type == libc::PT_NOTE);
    let mut found = notes.filter_map(|it| {
        let place = image.place(&it);
        let notes = contents(&place, MOST_NOTES, stays)?;
        let found = build_id(&notes)?;
        Some((place.start + (found.as_ptr() as u64 - notes.as_ptr() as u64), found.to_vec()))
    });
    let (place, build_id) = found.next().unwrap_or_default();
    let unwind = unwind(image, stays);
    let late = if stays {
        None
    } else {
        let header = match &unwind {
            None => Mark::new(0, Vec::new()),
            Some(it) => it.mark()?,
        };
        Some(Late::new(text.clone(), object, [Mark::new(place, build_id.clone()), header]))
    };
    Some(Loaded { bias: image.bias, late, text, build_id, path, unwind })
}

/// `.eh_frame_hdr` as its program header says, and `.eh_frame` as that one says, up to the end of
/// its segment.
fn unwind(image: &Image, stays: bool) -> Option<Unwind> {
    let table = image.header(libc::PT_GNU_EH_FRAME)?;
    let holder = image.headers().find(|load| {
        let contents = load.p_vaddr..load.p_vaddr + load.p_filesz;
        load.p_type == libc::PT_LOAD && contents.contains(&table.p_vaddr)
    })?;
    let segment = image.place(&holder).start;
    let (place, end) = (image.place(&table), segment + holder.p_filesz);
    let header = place.start;
    let frames = frames_address(&contents(&place, FRAMES_FIELDS, stays)?, header)?;
    // SAFETY: inside a segment that is mapped readable.
    let tables = unsafe { [bytes(place, stays)?, bytes(frames..end, stays)?] };
    let (file_bias, tables) =
        (segment.wrapping_sub(holder.p_offset), tables::where_to_read(tables));
    Some(Unwind { header, frames, end, file_bias, tables })
}

/// Where `.eh_frame` begins (LSB core specification, "The .eh_frame_hdr section"): only the encoding
/// that all linkers use, a 4-byte offset from the field itself.
fn frames_address(table: &[u8], table_start: u64) -> Option<u64> {
    const VERSION: u8 = 1;
    const RELATIVE_SIGNED_4: u8 = 0x1b;
    let [VERSION, RELATIVE_SIGNED_4, _, _, a, b, c, d] = *table.first_chunk::<8>()? else {
        return None;
    };
    let offset = i32::from_le_bytes([a, b, c, d]);
    Some((table_start + 4).wrapping_add_signed(i64::from(offset)))
}

/// The first bytes of what is in `place`, at most so many; `None` if they are gone, which cannot be where it `stays`.
fn contents(place: &Range<u64>, most: usize, stays: bool) -> Option<Vec<u8>> {
    let length = most.min(place.end.checked_sub(place.start)? as usize);
    if !stays {
        return late::contents(place.start, length);
    }
    // SAFETY: program headers of a mapped file describe memory that is mapped readable.
    Some(unsafe { core::slice::from_raw_parts(place.start as *const u8, length) }.to_vec())
}

/// What is in `place`; `None` if that is gone, which cannot be where it `stays`.
///
/// # Safety
/// It is mapped readable as long as the module is loaded.
unsafe fn bytes(place: Range<u64>, stays: bool) -> Option<&'static [u8]> {
    const WORD: u64 = 8;
    let length = place.end.checked_sub(place.start)?;
    let ends = [place.start, place.end.saturating_sub(WORD)];
    if !stays && !ends.into_iter().all(sys::is_readable) {
        return None;
    }
    // SAFETY: by contract.
    Some(unsafe { core::slice::from_raw_parts(place.start as *const u8, length as usize) })
}

/// The first GNU build id among the notes (name size, description size, type, then both, padded
/// to 4 bytes).
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    let word =
        |bytes: &[u8], at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?));
    loop {
        let (name, description) = (word(notes, 0)? as usize, word(notes, 4)? as usize);
        let start = 12 + name.next_multiple_of(4);
        let contents = notes.get(start..start.checked_add(description)?)?;
        if word(notes, 8)? == BUILD_ID && notes.get(12..16)? == b"GNU\0" {
            return Some(contents);
        }
        notes = notes.get(start + description.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::super::find::scan;
    use super::*;
    use crate::executable;

    #[test]
    fn the_scan_finds_this_program_with_its_unwind_table() {
        static PREPARED: std::sync::Once = std::sync::Once::new();
        PREPARED.call_once(executable::take_note);
        let modules = scan();
        let here = scan as *const () as u64;
        let own = modules.iter().find(|module| module.text.contains(&here)).unwrap();
        assert_eq!(own.path, executable::path());
        assert!(!own.build_id.is_empty() || own.unwind.is_some());
        assert!(modules.iter().filter(|module| module.unwind.is_some()).count() > 1);
    }

    #[test]
    fn build_ids_are_found_among_other_notes() {
        let mut notes = alloc::vec![];
        for (kind, name, contents) in [(1u32, b"GNU\0", &[1u8, 2, 3][..]), (3, b"GNU\0", &[9; 20])]
        {
            notes.extend(4u32.to_le_bytes());
            notes.extend((contents.len() as u32).to_le_bytes());
            notes.extend(kind.to_le_bytes());
            notes.extend(name);
            notes.extend(contents);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(build_id(&notes), Some(&[9u8; 20][..]));
        assert_eq!(build_id(&notes[..24]), None);
        assert_eq!(build_id(&[0xff; 40]), None);
    }
}
