//! Finding modules: all that are listed, and the one at an address.

use core::sync::atomic::{AtomicU64, Ordering};

use alloc::vec::Vec;
use lifetrace_agent::loader::image::{Access, Image};
use lifetrace_agent::loader::list::{self, Entry};
use lifetrace_agent::loader::object::{self, Object};

use super::loaded::{self, Loaded};
use crate::executable;

/// The last module in the list when nothing was found there.
static LAST_IN_VAIN: AtomicU64 = AtomicU64::new(0);

/// All modules that the dynamic linker has in its list; of a program without one, the program.
pub fn scan() -> Vec<Loaded> {
    let mut modules = Vec::with_capacity(64);
    modules.extend(list::entries().filter_map(|entry| of_entry(&entry)));
    if modules.is_empty() {
        let program = list::program();
        modules.extend(program.and_then(|image| loaded::read(&image, path(&[]), true, None)));
    }
    modules
}

/// The module that is mapped at `address`.
pub fn at(address: u64) -> Option<Loaded> {
    if object::is_known() { of_object(object::find(address)?) } else { in_list(address) }
}

fn of_object(object: Object) -> Option<Loaded> {
    let image = Image::at(object.start, Access::Probed)?;
    let name: Vec<u8> = list::path_of(object.node).collect();
    loaded::read(&image, path(&name), false, Some(object))
}

/// Where glibc cannot be asked, all modules are looked at, unless nothing has been added since that was in vain.
fn in_list(address: u64) -> Option<Loaded> {
    let last = LAST_IN_VAIN.load(Ordering::Relaxed);
    if last != 0 && list::is_last(last) {
        return None;
    }
    let mut end = 0;
    for entry in list::entries() {
        end = entry.node;
        if entry.image().is_some_and(|image| image.contains(address)) {
            return of_entry(&entry);
        }
    }
    LAST_IN_VAIN.store(end, Ordering::Relaxed);
    None
}

fn of_entry(entry: &Entry) -> Option<Loaded> {
    let image = entry.image()?;
    let name: Vec<u8> = entry.path().collect();
    let stays = entry.stays() || entry.is_program;
    let module = loaded::read(&image, path(&name), stays, None)?;
    let object = (!stays).then(|| object::find(module.text.start)).flatten();
    if object.is_some() { loaded::read(&image, path(&name), stays, object) } else { Some(module) }
}

/// The dynamic linker gives the program itself no name.
fn path(name: &[u8]) -> Vec<u8> {
    if name.is_empty() { executable::path() } else { name }.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_lead_to_the_module_at_an_address() {
        object::prepare();
        let malloc = libc::malloc as *const () as u64;
        let what = |it: Loaded| (it.bias, it.text, it.build_id, it.path);
        let listed = what(in_list(malloc).unwrap());
        assert!(listed.3.ends_with(b"libc.so.6") && listed.1.contains(&malloc), "{listed:?}");
        if let Some(object) = object::find(malloc) {
            assert_eq!(what(of_object(object).unwrap()), listed);
        }
        assert!(in_list(8).is_none() && at(8).is_none());
        let last = LAST_IN_VAIN.load(Ordering::Relaxed);
        assert!(list::is_last(last) && in_list(malloc).is_none(), "it is not looked through again");
        LAST_IN_VAIN.store(0, Ordering::Relaxed);
        assert!(in_list(malloc).is_some());
    }
}
