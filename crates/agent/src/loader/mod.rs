//! What the dynamic linker has loaded, without asking it. \[UNSAFE\]
//!
//! Its functions take its lock, which any thread may hold while it waits for something that this one has. So
//! its list of modules ([`list`]) and their symbol tables ([`symbols`]) are read where they lie. The modules
//! that the process was started with never go; of any other, another thread may be taking the list's node, or
//! the module itself, away, so that each read there asks the kernel first whether there is something
//! ([`image::Access`]).
//!
//! [`object`] is glibc's own way to find the module of an address without a lock.

pub mod image;
pub mod list;
pub mod object;
pub mod symbols;

use core::ffi::{CStr, c_void};
use core::ops::Range;
use core::ptr::NonNull;

use self::list::Entry;

/// What the program finds under this name: the first definition in the order of the list.
pub fn symbol(name: &CStr) -> Option<NonNull<c_void>> {
    list::entries().find_map(|entry| entry.symbol(name))
}

/// From a thread's pointer to its variable that the program defines under this name; `None` on other machines than x86-64.
pub fn thread_variable(name: &CStr) -> Option<i64> {
    let program = list::entries().find(|entry| entry.is_program)?;
    let first = program.image()?.thread_variables()?;
    first.checked_add_unsigned(program.symbol_of_threads(name)?)
}

/// The next definition after that of the module that has `own`, an address in its code, among the modules of the
/// start.
pub fn next_symbol(name: &CStr, own: u64) -> Option<NonNull<c_void>> {
    let mut entries = list::entries().take_while(Entry::stays);
    entries.find(|entry| entry.image().is_some_and(|image| image.contains(own)))?;
    entries.find_map(|entry| entry.symbol(name))
}

/// A definition outside the module that has `own`.
pub fn symbol_elsewhere(name: &CStr, own: u64) -> Option<NonNull<c_void>> {
    let is_own = |entry: &Entry| entry.image().is_some_and(|image| image.contains(own));
    list::entries().filter(|entry| !is_own(entry)).find_map(|entry| entry.symbol(name))
}

/// Where the module that has `address` was put: from an address in its file to one in memory.
pub fn bias_at(address: u64) -> Option<u64> {
    let images = list::entries().filter_map(|entry| entry.image());
    images.filter(|image| image.contains(address)).map(|image| image.bias).next()
}

/// All that the module spans that has `address`.
pub fn span_of(address: u64) -> Option<Range<u64>> {
    span_among(list::entries(), address)
}

/// All that the module spans that has `address`, if it came late, and may go.
pub fn late_span_of(address: u64) -> Option<Range<u64>> {
    span_among(list::entries().filter(|entry| !entry.stays()), address)
}

fn span_among(entries: impl Iterator<Item = Entry>, address: u64) -> Option<Range<u64>> {
    let images = entries.filter_map(|entry| entry.image());
    images.filter(|image| image.contains(address)).map(|image| image.span()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_those_of_the_dynamic_linker() {
        let names = [
            c"malloc",
            c"pthread_key_create",
            c"memcpy",
            c"_dl_find_object",
            c"__register_atfork",
            c"environ",
            c"no_such_thing",
        ];
        for name in names {
            // SAFETY: a C string.
            let theirs = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            assert_eq!(symbol(name), NonNull::new(theirs), "{name:?}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn variables_of_threads_are_below_their_pointer() {
        use core::cell::Cell;
        std::thread_local!(static OWN: Cell<u64> = const { Cell::new(7) });
        let program = list::entries().find(|entry| entry.is_program).unwrap();
        let image = program.image().unwrap();
        let (first, size) =
            (image.thread_variables().unwrap(), image.header(libc::PT_TLS).unwrap().p_memsz);
        let own = OWN.with(|own| own.as_ptr() as usize);
        let pointer = crate::tls::identity() as i64 - crate::tls::distance();
        let offset = own as i64 - pointer;
        assert!((first..first + size as i64).contains(&offset), "{offset} of {first}, {size}");
        assert_eq!((thread_variable(c"no_such_thing"), thread_variable(c"malloc")), (None, None));
    }

    #[test]
    fn the_next_definition_is_in_another_module() {
        list::take_note_of_start();
        let own = symbol as *const () as u64;
        let malloc = symbol(c"malloc").unwrap();
        assert_eq!(next_symbol(c"malloc", own), Some(malloc));
        assert_eq!(symbol_elsewhere(c"malloc", own), Some(malloc));
        let libc = malloc.as_ptr() as u64;
        assert_eq!(next_symbol(c"malloc", libc), None);
        assert_eq!(symbol_elsewhere(c"malloc", libc), None);
        assert_ne!(bias_at(own), bias_at(libc));
        assert_eq!(bias_at(8), None);
        let span = span_of(libc).unwrap();
        assert!(span.contains(&libc) && !span.contains(&own) && span_of(8).is_none());
    }
}
