//! A library that records itself.

use std::hint::black_box;
use std::sync::Mutex;

#[global_allocator]
static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();

static SESSION: Mutex<Option<lifetrace::Session>> = Mutex::new(None);

/// Begins an exact session.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_begin() {
    let session = lifetrace::Recording::new("plugin.lt").interval(1).start().unwrap();
    *SESSION.lock().unwrap() = Some(session);
}

/// Leaves a block behind.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_allocates() {
    std::mem::forget(black_box(Box::new([0u8; 40])));
}

/// Ends the session.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_end() {
    SESSION.lock().unwrap().take().unwrap().stop().unwrap();
}
