//! What a slot stands for, as the runtime's tables have it. \[UNSAFE\]
//!
//! A slot leads to a sequence of debug information, one for each function that was inlined there,
//! innermost first. Code without debug information has none: then the slot's descriptor, whose first word
//! is the return address, is all that is known.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::symbols::{Absent, Symbols, typed};
use crate::version::Version;

/// The runtime's functions that read debug information.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    extract: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    next: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    locate: unsafe extern "C" fn(*mut c_void, *mut Location),
    /// Whether locations tell the line at which they end.
    has_end_lines: bool,
}

/// More functions than this are not inlined into one another.
pub(crate) const MOST_LOCATIONS: usize = 32;

/// Bit of a slot that is the address of debug information, not of a descriptor: of an allocation that
/// was combined with others.
const IS_DEBUG_INFO: u64 = 2;

/// The runtime's `struct caml_loc_info`, with room for the longest version.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Location {
    valid: c_int,
    is_raise: c_int,
    file: *const c_char,
    function: *const c_char,
    numbers: [c_int; 8],
}

/// A location in a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceLocation {
    pub(crate) file: &'static [u8],
    pub(crate) function: &'static [u8],
    pub(crate) line: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Reader {
    /// Finds the functions.
    ///
    /// # Errors
    /// If the runtime does not export all of them.
    pub(crate) fn of(version: Version, symbol: &Symbols<'_>) -> Result<Reader, Absent> {
        // SAFETY: of these types in all versions since 4.11, as their headers say.
        unsafe {
            Ok(Reader {
                extract: typed(symbol, c"caml_debuginfo_extract")?,
                next: typed(symbol, c"caml_debuginfo_next")?,
                locate: typed(symbol, c"caml_debuginfo_location")?,
                has_end_lines: version.has_end_lines(),
            })
        }
    }

    /// The source locations of a slot, innermost first, in the beginning of `locations`; how many.
    pub(crate) fn locations(
        &self,
        slot: u64,
        locations: &mut [SourceLocation; MOST_LOCATIONS],
    ) -> usize {
        let mut count = 0;
        // SAFETY: the runtime gave the slot, and its tables stay.
        let mut info = unsafe { (self.extract)(slot as *mut c_void) };
        while !info.is_null() && count < MOST_LOCATIONS {
            if let Some(location) = self.location(info) {
                locations[count] = location;
                count += 1;
            }
            // SAFETY: not null, and the runtime's.
            info = unsafe { (self.next)(info) };
        }
        count
    }

    fn location(&self, info: *mut c_void) -> Option<SourceLocation> {
        let null = core::ptr::null();
        let mut location =
            Location { valid: 0, is_raise: 0, file: null, function: null, numbers: [0; 8] };
        // SAFETY: not null, and the runtime's; there is room for what it writes.
        unsafe { (self.locate)(info, &raw mut location) };
        // OCaml 4: line, first and last column, whether it is inlined. OCaml 5: first line and column, last
        // line and column, last column counted from the first line, whether it is inlined.
        let numbers = location.numbers.map(|number| u32::try_from(number).unwrap_or(0));
        let end = if self.has_end_lines { numbers[4] } else { numbers[2] };
        (location.valid != 0).then(|| SourceLocation {
            file: text(location.file),
            function: text(location.function),
            line: numbers[0],
            start: numbers[1],
            end,
        })
    }
}

/// The address that code without debug information returns to.
pub(crate) fn return_address(slot: u64) -> Option<u64> {
    // SAFETY: the slot is the address of a descriptor, in which that is the first word.
    (slot & IS_DEBUG_INFO == 0).then(|| unsafe { (slot as *const u64).read() })
}

fn text(string: *const c_char) -> &'static [u8] {
    if string.is_null() {
        return b"";
    }
    // SAFETY: a C string in the program's data.
    unsafe { CStr::from_ptr(string) }.to_bytes()
}
