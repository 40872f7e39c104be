//! The module of an address by `_dl_find_object`, which glibc has since 2.35 for unwinders: it reads tables
//! that the dynamic linker replaces as a whole, so it waits for nobody, allocates nothing, and may be called in
//! signal handlers. \[UNSAFE\]

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use super::image::{Access, Image};
use super::{list, symbols};
use crate::sys;

/// What is said of a module; all zero of none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// The addresses from its first byte on, to its last.
    pub start: u64,
    /// One after the last.
    pub end: u64,
    /// Where the dynamic linker keeps what it knows of it.
    pub node: u64,
    /// Where `.eh_frame_hdr` is, or 0.
    pub unwind_table: u64,
}

/// glibc's `struct dl_find_object`.
#[repr(C)]
struct Answer {
    flags: u64,
    map_start: u64,
    map_end: u64,
    link_map: u64,
    eh_frame: u64,
    reserved: [u64; 11],
}

type FindObject = unsafe extern "C" fn(*mut c_void, *mut Answer) -> c_int;

/// The dynamic linker's function; null if it has none.
static FIND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Looks the function up, in the dynamic linker alone. To be called at the start; else there is none.
pub fn prepare() {
    FIND.store(linkers_own().map_or(ptr::null_mut(), NonNull::as_ptr), Ordering::Relaxed);
}

fn linkers_own() -> Option<NonNull<c_void>> {
    const NAME: &core::ffi::CStr = c"_dl_find_object";
    let of = |bias, dynamic| symbols::find(bias, dynamic, NAME, Access::Direct);
    if let Some(start) = sys::auxiliary(libc::AT_BASE) {
        let linker = Image::at(start, Access::Direct)?;
        return of(linker.bias, linker.dynamic()?);
    }
    // The program was started by way of it.
    list::entries().filter(list::Entry::stays).find_map(|entry| entry.symbol(NAME))
}

/// Whether [`find`] can be asked.
pub fn is_known() -> bool {
    !FIND.load(Ordering::Relaxed).is_null()
}

/// The module that is mapped at `address`; `None` if there is none, or nobody to ask.
pub fn find(address: u64) -> Option<Object> {
    let find = NonNull::new(FIND.load(Ordering::Relaxed))?;
    let mut answer = MaybeUninit::<Answer>::zeroed();
    // SAFETY: `prepare` stored a function of this type; the answer has room for more than it has had fields in
    // any version.
    unsafe {
        let find: FindObject = core::mem::transmute(find.as_ptr());
        if find(address as *mut c_void, answer.as_mut_ptr()) != 0 {
            return None;
        }
        let Answer { map_start, map_end, link_map, eh_frame, .. } = answer.assume_init();
        Some(Object { start: map_start, end: map_end, node: link_map, unwind_table: eh_frame })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_of_an_address_is_the_lists() {
        prepare();
        if !is_known() {
            std::eprintln!("this glibc has no _dl_find_object");
            return;
        }
        for entry in list::entries().filter(|entry| !entry.is_program) {
            let image = entry.image().unwrap();
            let header = image.headers().find(|it| it.p_type == libc::PT_LOAD).unwrap();
            let object = find(image.place(&header).start).unwrap();
            assert_eq!((object.node, object.start), (entry.node, entry.bias));
            let table = image.header(libc::PT_GNU_EH_FRAME).map_or(0, |it| image.place(&it).start);
            assert_eq!(object.unwind_table, table);
        }
        assert_eq!(find(8), None);
    }
}
