//! What the loader says about the object files that it has mapped. \[UNSAFE\]
//!
//! All that is wanted of a module's memory is read inside the loader's callback, under its lock: as
//! soon as that is over another thread may unload the module, and the memory is gone. Later only a
//! walk reads there, and only in modules that its own thread is running in.

use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;

use alloc::string::String;
use alloc::vec::Vec;
use framehop::{ExplicitModuleSectionInfo, Module};

use crate::executable;
use crate::unwind::tables;

/// A mapped object file.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub bias: u64,
    pub text: Range<u64>,
    pub build_id: Vec<u8>,
    pub path: Vec<u8>,
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

/// The unwind tables are not looked at: another thread may have unloaded the module meanwhile.
impl PartialEq for Loaded {
    fn eq(&self, other: &Self) -> bool {
        let what = |it: &Self| (it.bias, it.text.start, it.text.end);
        what(self) == what(other) && self.build_id == other.build_id && self.path == other.path
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
        let loaded = unsafe { bytes(start, unwind.end.checked_sub(start)?) };
        tables::map_again(path, start.wrapping_sub(unwind.file_bias), loaded);
        Some(())
    }
}

/// A mix of the loader's counters of arrivals and departures.
pub fn counters() -> u32 {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        state: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid info, and we passed a u64.
        unsafe {
            let (arrivals, departures) = ((*info).dlpi_adds, (*info).dlpi_subs);
            *state.cast::<u64>() = arrivals.wrapping_mul(0x9E37_79B1) ^ departures;
        }
        1
    }
    let mut state = 0u64;
    // SAFETY: the callback matches the type of its argument.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut state).cast()) };
    state as u32
}

/// All modules there are.
pub fn scan() -> Vec<Loaded> {
    unsafe extern "C" fn each(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        modules: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid info, and we passed a Vec.
        unsafe {
            if let Some(module) = read(&*info) {
                (*modules.cast::<Vec<Loaded>>()).push(module);
            }
        }
        0
    }
    let mut modules = Vec::with_capacity(64);
    // SAFETY: the callback matches the type of its argument. It allocates from the private arena,
    // whose lock nobody holds while waiting for the loader.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut modules).cast()) };
    modules
}

/// # Safety
/// `info` is what the loader passes to a callback, during that callback.
unsafe fn read(info: &libc::dl_phdr_info) -> Option<Loaded> {
    // SAFETY: the loader's own table of program headers, of that length.
    let headers =
        unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let address = |header: &libc::Elf64_Phdr| info.dlpi_addr.wrapping_add(header.p_vaddr);
    let code = |header: &&libc::Elf64_Phdr| {
        header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0
    };
    let text = headers.iter().filter(code).map(|it| address(it)..address(it) + it.p_memsz);
    let notes = headers.iter().filter(|header| header.p_type == libc::PT_NOTE);
    // SAFETY: program headers of a loaded module describe memory that is mapped readable.
    unsafe {
        Some(Loaded {
            bias: info.dlpi_addr,
            text: text.reduce(|all, it| all.start.min(it.start)..all.end.max(it.end))?,
            build_id: notes
                .filter_map(|note| build_id(bytes(address(note), note.p_memsz)))
                .next()
                .unwrap_or_default()
                .to_vec(),
            path: path(info),
            unwind: unwind(info.dlpi_addr, headers),
        })
    }
}

/// `.eh_frame_hdr` as its program header says, and `.eh_frame` as that one says, up to the end of
/// its segment.
///
/// # Safety
/// As for [`read`].
unsafe fn unwind(bias: u64, headers: &[libc::Elf64_Phdr]) -> Option<Unwind> {
    let table = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
    let holder = headers.iter().find(|load| {
        let contents = load.p_vaddr..load.p_vaddr + load.p_filesz;
        load.p_type == libc::PT_LOAD && contents.contains(&table.p_vaddr)
    })?;
    let segment = bias.wrapping_add(holder.p_vaddr);
    let (header, end) = (bias.wrapping_add(table.p_vaddr), segment + holder.p_filesz);
    // SAFETY: inside a segment that is mapped readable, and during the loader's callback.
    unsafe {
        let table = bytes(header, table.p_memsz);
        let frames = frames_address(table, header)?;
        Some(Unwind {
            header,
            frames,
            end,
            file_bias: segment.wrapping_sub(holder.p_offset),
            tables: tables::where_to_read([table, bytes(frames, end.checked_sub(frames)?)]),
        })
    }
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

/// The loader gives the program itself no name.
///
/// # Safety
/// As for [`read`].
unsafe fn path(info: &libc::dl_phdr_info) -> Vec<u8> {
    let name = if info.dlpi_name.is_null() {
        b"".as_slice()
    } else {
        // SAFETY: the loader's name is a C string.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
    };
    if name.is_empty() { executable::path() } else { name }.to_vec()
}

/// # Safety
/// `length` bytes at `address` are mapped readable, and stay so while the module is loaded.
unsafe fn bytes(address: u64, length: u64) -> &'static [u8] {
    // SAFETY: by contract.
    unsafe { core::slice::from_raw_parts(address as *const u8, length as usize) }
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
    use super::*;

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
