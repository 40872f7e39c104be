//! The shared library that `lifetrace record` loads into targets. \[UNSAFE\]
//!
//! All it does is export: the malloc family, jemalloc's functions, the operators of C++, prctl and
//! readlink, `_exit` and exec, mmap and its like under their own names, a constructor and a destructor, and a word for the agents that
//! programs have linked in. It depends on libc alone, allocates from the
//! kernel alone, and has no way to unwind or to print.

#![no_std]
#![allow(non_snake_case, reason = "C++ mangled names")]
#![allow(non_upper_case_globals, reason = "symbols that others look for")]

use core::ffi::{c_char, c_int, c_ulong};

use lifetrace_agent::host::Host;
use lifetrace_native::arena::Arena;
use lifetrace_native::{
    abort, attach, byte_functions, cxx, ends, interpose, jemalloc, mappings, modules, sandbox,
    start,
};
use lifetrace_ocaml::start as ocaml;
use lifetrace_python::start as python;
use lifetrace_ruby::start as ruby;
use lifetrace_transport::attach::{Arrival, Table};

byte_functions!("");

#[global_allocator]
static ARENA: Arena = Arena;

/// There is no panic to speak of inside a target: what could panic is checked, and this is never
/// reached. Should it be, stopping is the only sound thing to do.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    abort()
}

macro_rules! export {
    ($from:ident, $abi:literal; $($name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {$(
        /// # Safety
        /// As C's, or the next allocator's.
        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn $name($($argument: $kind),*) $(-> $result)? {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $from::$name($($argument),*) }
        }
    )*};
}

export! {
    interpose, "C";
    malloc(size: usize) -> *mut u8;
    free(block: *mut u8);
    calloc(count: usize, size: usize) -> *mut u8;
    realloc(block: *mut u8, size: usize) -> *mut u8;
    reallocarray(block: *mut u8, count: usize, size: usize) -> *mut u8;
    posix_memalign(place: *mut *mut u8, alignment: usize, size: usize) -> c_int;
    aligned_alloc(alignment: usize, size: usize) -> *mut u8;
    memalign(alignment: usize, size: usize) -> *mut u8;
    valloc(size: usize) -> *mut u8;
    pvalloc(size: usize) -> *mut u8;
    malloc_usable_size(block: *mut u8) -> usize;
    free_sized(block: *mut u8, size: usize);
    free_aligned_sized(block: *mut u8, alignment: usize, size: usize);
}

export! {
    jemalloc, "C";
    mallocx(size: usize, flags: c_int) -> *mut u8;
    rallocx(block: *mut u8, size: usize, flags: c_int) -> *mut u8;
    xallocx(block: *mut u8, size: usize, extra: usize, flags: c_int) -> usize;
    sallocx(block: *const u8, flags: c_int) -> usize;
    dallocx(block: *mut u8, flags: c_int);
    sdallocx(block: *mut u8, size: usize, flags: c_int);
    nallocx(size: usize, flags: c_int) -> usize;
}

export! {
    mappings, "C";
    mmap(
        address: *mut u8, bytes: usize, access: c_int, flags: c_int, descriptor: c_int, offset: i64
    ) -> *mut u8;
    munmap(address: *mut u8, bytes: usize) -> c_int;
    mremap(
        old: *mut u8, old_bytes: usize, bytes: usize, flags: c_int, new: *mut u8
    ) -> *mut u8;
    mprotect(address: *mut u8, bytes: usize, access: c_int) -> c_int;
    pkey_mprotect(address: *mut u8, bytes: usize, access: c_int, key: c_int) -> c_int;
    brk(end: *mut u8) -> c_int;
    sbrk(more: isize) -> *mut u8;
}

/// # Safety
/// As C's `mmap`, under the name that programs with large files have for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    address: *mut u8,
    bytes: usize,
    access: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> *mut u8 {
    // SAFETY: the caller's contract is the callee's.
    unsafe { mappings::mmap(address, bytes, access, flags, descriptor, offset) }
}

export! {
    sandbox, "C";
    prctl(
        option: c_int, second: c_ulong, third: c_ulong, fourth: c_ulong, fifth: c_ulong
    ) -> c_int;
}

/// What a recorder that attaches tells us, and what it is told.
#[unsafe(no_mangle)]
pub static lifetrace_attach_table: Table = Table::new();

/// To be called by a recorder that attaches, on a thread of its own.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_join() {
    if attach::join(&lifetrace_attach_table) {
        RUNTIMES.iter().for_each(|runtime| (runtime.attach)(HOST));
        modules::listen(python::look_among_late);
    }
}

/// What the agents of managed runtimes have from the native one.
const HOST: Host = Host {
    begin_session: start::start,
    announce_module: modules::announce_at,
    say_farewell: ends::say_farewell,
};

/// # Safety
/// As C's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlink(path: *const c_char, to: *mut c_char, size: usize) -> isize {
    // SAFETY: the caller's contract is the callee's.
    unsafe { ocaml::readlink(HOST, path, to, size) }
}

/// # Safety
/// As C's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __readlink_chk(
    path: *const c_char,
    to: *mut c_char,
    size: usize,
    length: usize,
) -> isize {
    // SAFETY: the caller's contract is the callee's.
    unsafe { ocaml::readlink_checked(HOST, path, to, size, length) }
}

/// The agent of a managed runtime: what it does when somebody attaches, and when the program ends. It does nothing in a program without it.
struct Runtime {
    /// The program runs already, and a session has begun: called by a thread of the recorder's.
    attach: fn(Host),
    /// The program is in its exit handlers.
    finish: fn(),
    /// The program is about to end without its exit handlers.
    leave: fn(),
    /// After all it does not.
    stay: fn(),
}

const RUNTIMES: &[Runtime] = &[
    Runtime {
        attach: lifetrace_ocaml::late::attach,
        finish: ocaml::finish,
        leave: ocaml::leave,
        stay: ocaml::stay,
    },
    Runtime {
        attach: lifetrace_ruby::late::attach,
        finish: nothing,
        leave: nothing,
        stay: nothing,
    },
    Runtime { attach: python::attach, finish: nothing, leave: nothing, stay: nothing },
];

/// Ruby calls procedures of its agent's at its end.
fn nothing() {}

/// Who has something to leave before a program ends without its exit handlers.
const WITNESS: ends::Witness = ends::Witness {
    leave: || RUNTIMES.iter().for_each(|runtime| (runtime.leave)()),
    stay: || RUNTIMES.iter().for_each(|runtime| (runtime.stay)()),
};

/// As C's.
#[unsafe(no_mangle)]
pub extern "C" fn _exit(status: c_int) -> ! {
    ends::exit(WITNESS, status)
}

/// As C's.
#[unsafe(no_mangle)]
pub extern "C" fn _Exit(status: c_int) -> ! {
    ends::exit(WITNESS, status)
}

macro_rules! export_exec {
    ($($name:ident($($argument:ident),*);)*) => {$(
        /// # Safety
        /// As C's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            file: *const c_char $(, $argument: *const *const c_char)*
        ) -> c_int {
            // SAFETY: the caller's contract is the callee's.
            unsafe { ends::$name(WITNESS, file $(, $argument)*) }
        }
    )*};
}

export_exec! {
    execv(arguments);
    execvp(arguments);
    execve(arguments, environment);
    execvpe(arguments, environment);
}

/// Asked by the agent that a program has linked in: whether it has nothing to do.
#[unsafe(no_mangle)]
pub extern "C" fn lifetrace_process_is_recorded() -> bool {
    ocaml::is_recorded()
}

export! {
    cxx, "C";
    _Znwm(size: usize) -> *mut u8;
    _Znam(size: usize) -> *mut u8;
    _ZnwmRKSt9nothrow_t(size: usize, tag: *const u8) -> *mut u8;
    _ZnamRKSt9nothrow_t(size: usize, tag: *const u8) -> *mut u8;
    _ZnwmSt11align_val_t(size: usize, alignment: usize) -> *mut u8;
    _ZnamSt11align_val_t(size: usize, alignment: usize) -> *mut u8;
    _ZnwmSt11align_val_tRKSt9nothrow_t(size: usize, alignment: usize, tag: *const u8) -> *mut u8;
    _ZnamSt11align_val_tRKSt9nothrow_t(size: usize, alignment: usize, tag: *const u8) -> *mut u8;
    _ZdlPv(block: *mut u8);
    _ZdaPv(block: *mut u8);
    _ZdlPvm(block: *mut u8, size: usize);
    _ZdaPvm(block: *mut u8, size: usize);
    _ZdlPvRKSt9nothrow_t(block: *mut u8, tag: *const u8);
    _ZdaPvRKSt9nothrow_t(block: *mut u8, tag: *const u8);
    _ZdlPvSt11align_val_t(block: *mut u8, alignment: usize);
    _ZdaPvSt11align_val_t(block: *mut u8, alignment: usize);
    _ZdlPvmSt11align_val_t(block: *mut u8, size: usize, alignment: usize);
    _ZdaPvmSt11align_val_t(block: *mut u8, size: usize, alignment: usize);
    _ZdlPvSt11align_val_tRKSt9nothrow_t(block: *mut u8, alignment: usize, tag: *const u8);
    _ZdaPvSt11align_val_tRKSt9nothrow_t(block: *mut u8, alignment: usize, tag: *const u8);
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char) = constructor;

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destructor;

/// glibc gives constructors what it gives `main`.
extern "C" fn constructor(_: c_int, arguments: *const *const c_char) {
    if lifetrace_attach_table.arrival() == Arrival::Attached {
        return;
    }
    start::constructor();
    // SAFETY: the program's arguments.
    unsafe {
        ruby::watch(HOST, arguments);
        python::watch(arguments);
    }
    modules::listen(python::look_among_late);
}

extern "C" fn destructor() {
    RUNTIMES.iter().for_each(|runtime| (runtime.finish)());
    start::destructor();
}
