//! An object file as it is mapped. \[UNSAFE\]

use core::mem::MaybeUninit;
use core::ops::Range;
use core::slice;

use crate::sys;

/// How memory is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// As what it is: it is there, and stays.
    Direct,
    /// After the kernel has said that it is there.
    Probed,
}

impl Access {
    /// What is at `address`.
    ///
    /// Sound only where something readable of that type is, or with [`Access::Probed`]; the callers, all in
    /// this crate, follow what the dynamic linker and the kernel have written.
    #[inline]
    pub(crate) fn read<T: Plain>(self, address: u64) -> Option<T> {
        match self {
            // SAFETY: readable, as is known; any bytes make a `T`.
            Access::Direct => Some(unsafe { (address as *const T).read_unaligned() }),
            Access::Probed => {
                let mut read = MaybeUninit::<T>::uninit();
                // SAFETY: all of its bytes, which need not be anything yet.
                let bytes =
                    unsafe { slice::from_raw_parts_mut((&raw mut read).cast(), size_of::<T>()) };
                // SAFETY: filled; any bytes make a `T`.
                sys::copy(address, bytes).then(|| unsafe { read.assume_init() })
            }
        }
    }

    /// The number at `address`, where nothing may be.
    pub fn word(self, address: u64) -> Option<u64> {
        self.read(address)
    }
}

/// What may consist of any bytes.
///
/// # Safety
/// That is so.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: numbers.
unsafe impl Plain for u8 {}
// SAFETY: numbers.
unsafe impl Plain for u16 {}
// SAFETY: numbers.
unsafe impl Plain for u32 {}
// SAFETY: numbers.
unsafe impl Plain for u64 {}
// SAFETY: numbers.
unsafe impl<const N: usize> Plain for [u64; N] {}
// SAFETY: numbers alone.
unsafe impl Plain for libc::Elf64_Ehdr {}
// SAFETY: numbers alone.
unsafe impl Plain for libc::Elf64_Phdr {}
// SAFETY: numbers alone.
unsafe impl Plain for libc::Elf64_Sym {}

/// A mapped object file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// From an address in its file to one in memory.
    pub bias: u64,
    headers: u64,
    count: u16,
    access: Access,
}

impl Image {
    /// The file whose beginning is mapped at `start`.
    pub fn at(start: u64, access: Access) -> Option<Image> {
        let header: libc::Elf64_Ehdr = access.read(start)?;
        if !header.e_ident.starts_with(b"\x7fELF\x02")
            || usize::from(header.e_phentsize) != size_of::<libc::Elf64_Phdr>()
        {
            return None;
        }
        let (headers, count) = (start.checked_add(header.e_phoff)?, header.e_phnum);
        let unplaced = Image { bias: 0, headers, count, access };
        let first = unplaced.headers().find(|it| it.p_type == libc::PT_LOAD && it.p_offset == 0)?;
        Some(Image { bias: start.wrapping_sub(first.p_vaddr), ..unplaced })
    }

    /// The program itself, as the kernel has mapped it, with this bias.
    pub fn of_program(bias: u64) -> Option<Image> {
        let headers = sys::auxiliary(libc::AT_PHDR)?;
        let count = sys::auxiliary(libc::AT_PHNUM)? as u16;
        Some(Image { bias, headers, count, access: Access::Direct })
    }

    /// Its program headers.
    pub fn headers(&self) -> impl Iterator<Item = libc::Elf64_Phdr> {
        let (start, access) = (self.headers, self.access);
        let place = move |index: u16| {
            start.wrapping_add(u64::from(index) * size_of::<libc::Elf64_Phdr>() as u64)
        };
        (0..self.count).map_while(move |index| access.read(place(index)))
    }

    /// The first program header of a kind.
    pub fn header(&self, kind: u32) -> Option<libc::Elf64_Phdr> {
        self.headers().find(|header| header.p_type == kind)
    }

    /// Where a program header's contents are.
    pub fn place(&self, header: &libc::Elf64_Phdr) -> Range<u64> {
        let start = self.bias.wrapping_add(header.p_vaddr);
        start..start.saturating_add(header.p_memsz)
    }

    /// Whether a part of it is mapped at `address`.
    pub fn contains(&self, address: u64) -> bool {
        let mut headers = self.headers();
        headers.any(|it| it.p_type == libc::PT_LOAD && self.place(&it).contains(&address))
    }

    /// From its first part to the end of its last one; between them there may be something else.
    pub fn span(&self) -> Range<u64> {
        let parts = self.headers().filter(|it| it.p_type == libc::PT_LOAD);
        let places = parts.map(|it| self.place(&it));
        let whole = places.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
        whole.unwrap_or_default()
    }

    /// From a thread's pointer to the variables that it has of this file, if this is the program (ELF handling for
    /// thread-local storage, variant II; `_dl_determine_tlsoffset`).
    /// `None` on other machines than x86-64, too.
    pub fn thread_variables(&self) -> Option<i64> {
        if !cfg!(target_arch = "x86_64") {
            return None;
        }
        let header = self.header(libc::PT_TLS)?;
        let alignment = header.p_align.max(1);
        let gap = header.p_vaddr.wrapping_neg() % alignment;
        let below = header.p_memsz.checked_sub(gap)?.checked_next_multiple_of(alignment)? + gap;
        i64::try_from(below).ok().map(|below| -below)
    }

    /// Where its dynamic section is.
    pub fn dynamic(&self) -> Option<u64> {
        self.header(libc::PT_DYNAMIC).map(|header| self.place(&header).start)
    }
}
