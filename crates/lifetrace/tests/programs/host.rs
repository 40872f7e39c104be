//! Records itself, and loads a library that does so too.

use std::ffi::CString;
use std::hint::black_box;

#[global_allocator]
static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();

#[inline(never)]
fn host_allocates() {
    std::mem::forget(black_box(Box::new([0u8; 100])));
}

fn main() {
    let path = CString::new(std::env::args().nth(1).expect("the library")).unwrap();
    // SAFETY: a C string; a library without constructors.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null());
    let function = |name: &str| {
        let name = CString::new(name).unwrap();
        // SAFETY: the library's functions have this type, and it stays loaded.
        unsafe {
            let found = libc::dlsym(library, name.as_ptr());
            assert!(!found.is_null());
            std::mem::transmute::<*mut libc::c_void, extern "C" fn()>(found)
        }
    };
    let session = lifetrace::Recording::new("host.lt").interval(1).start().unwrap();
    function("plugin_begin")();
    for number in 0..100 {
        host_allocates();
        if number % 2 == 0 {
            function("plugin_allocates")();
        }
    }
    function("plugin_end")();
    session.stop().unwrap();
}
