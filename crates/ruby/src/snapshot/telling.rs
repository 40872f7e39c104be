//! In the child: what the roots hold, each object once, and then what they do not hold. \[UNSAFE\]

use core::ffi::{CStr, c_char, c_void};
use core::ptr;

use lifetrace_agent::snapshot::walk::Walk;
use lifetrace_agent::sys;

use super::name::Name;
use super::pages::Pages;
use super::space::{Object, ObjectCallback, Space};
use crate::samples::Samples;
use crate::vm::Value;

/// Tells of all.
///
/// # Safety
/// In a copy of the process that has no other thread, made where a thread had the machine's lock outside of hooks and
/// collections; on that thread.
pub(super) unsafe fn tell(space: &Space, pages: &Pages, samples: &Samples, walk: &mut Walk<'_>) {
    samples.each(|object, sample| walk.sample(sample.0, object as u64));
    let mut name = Name::new();
    // SAFETY: by contract.
    unsafe {
        tell_roots(space, walk);
        while let Some(address) = walk.next_block() {
            look_ahead(walk);
            tell_object(space, &space.object(address as Value), refer, &mut name, walk);
        }
        for address in pages.iter().flat_map(|page| page.slots()) {
            let object = space.object(address);
            if object.exists() && !walk.has_met(address as u64) {
                tell_object(space, &object, refer_unheld, &mut name, walk);
            }
        }
    }
}

/// A heap is larger than a processor's caches: what is told of soon is fetched meanwhile.
fn look_ahead(walk: &Walk<'_>) {
    const OBJECT: usize = 16;
    if let Some(object) = walk.peek(OBJECT) {
        sys::prefetch(object);
    }
}

/// What roots are told of.
struct Roots<'r, 'w> {
    walk: &'r mut Walk<'w>,
    /// That of the last one, which the machine has once.
    category: *const c_char,
}

/// # Safety
/// As [`tell`].
unsafe fn tell_roots(space: &Space, walk: &mut Walk<'_>) {
    let mut roots = Roots { walk, category: ptr::null() };
    // SAFETY: by contract; it outlives the call.
    unsafe { (space.from_roots)(root, (&raw mut roots).cast()) }
}

/// # Safety
/// As the machine calls it, with [`Roots`].
unsafe extern "C" fn root(category: *const c_char, object: Value, roots: *mut c_void) {
    // SAFETY: `tell_roots` passes it, and does nothing with it meanwhile; the category is a string.
    unsafe {
        let roots = &mut *roots.cast::<Roots<'_, '_>>();
        if roots.category != category {
            roots.category = category;
            roots.walk.category(CStr::from_ptr(category).to_bytes());
        }
        roots.walk.root(0, object as u64);
    }
}

/// # Safety
/// As [`tell`].
#[inline]
unsafe fn tell_object(
    space: &Space,
    object: &Object,
    refer: ObjectCallback,
    name: &mut Name,
    walk: &mut Walk<'_>,
) {
    // SAFETY: by contract.
    unsafe {
        walk.begin(&space.block(object), || space.name(object, name));
        if object.has_references() {
            (space.from_object)(object.address(), refer, ptr::from_mut(walk).cast());
        }
    }
    walk.end_of_fields();
}

/// # Safety
/// As the machine calls it, with the walk.
unsafe extern "C" fn refer(to: Value, walk: *mut c_void) {
    // SAFETY: `tell_object` passes it, and does nothing with it meanwhile.
    unsafe { (*walk.cast::<Walk<'_>>()).refer_to(to as u64) }
}

/// # Safety
/// As [`refer`].
unsafe extern "C" fn refer_unheld(to: Value, walk: *mut c_void) {
    // SAFETY: as above.
    unsafe { (*walk.cast::<Walk<'_>>()).refer_unheld(to as u64) }
}
