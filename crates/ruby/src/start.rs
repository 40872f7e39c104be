//! The start, when the machine is set up and has run no Ruby code yet. \[UNSAFE\]
//!
//! `ruby_setup` is called once, by whoever has a machine: the command `ruby`, and programs that embed it. Calls of it
//! may be bound within libruby or within an executable, so they cannot be hooked by name; so the first bytes of it
//! become a jump, before the program runs. At the call they are put back, the function is called, and what follows is
//! done after it.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::host::{self, Host};
use lifetrace_agent::patch::Patch;
use lifetrace_agent::{loader, session};

use crate::entry::notice;
use crate::vm::Vm;
use crate::{compiler, ends, late, mallocs, sampling, serving, snapshot, terms};

type Setup = unsafe extern "C" fn() -> c_int;

static SETUP: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static PATCH: Patch = Patch::unset();

/// To be called before the program runs, with its arguments: if it has a machine, watches for its start.
///
/// # Safety
/// The arguments are null, or strings up to a null.
pub unsafe fn watch(host: Host, arguments: *const *const c_char) {
    let Some(setup) = loader::symbol(c"ruby_setup") else { return };
    host::set(host);
    // SAFETY: by contract.
    unsafe { compiler::take_note(arguments) };
    SETUP.store(setup.as_ptr(), Ordering::Relaxed);
    let way = machine_is_set_up as *const ();
    // SAFETY: a function, longer than a jump; nobody runs it before the program does.
    if !unsafe { PATCH.put(setup.as_ptr().cast(), way) } {
        notice(terms::UNWATCHED);
    }
}

/// In place of `ruby_setup`.
unsafe extern "C" fn machine_is_set_up() -> c_int {
    let setup = SETUP.load(Ordering::Relaxed);
    // SAFETY: in place, and its first bytes have been passed; the function has this type.
    let result = unsafe {
        PATCH.take_back(setup.cast());
        core::mem::transmute::<*mut c_void, Setup>(setup)()
    };
    if result == 0 {
        // SAFETY: the machine is set up, and this thread has its lock.
        unsafe { start() }
    }
    result
}

/// Starts sampling, if the recorder wants it; or sees to it that it can be started when a recorder comes.
///
/// # Safety
/// The machine has just been set up, on this thread.
unsafe fn start() {
    let stands_by = late::stand_by();
    let session = session::current().filter(|_| sampling::settings().is_some());
    if session.is_none() && !stands_by {
        return;
    }
    // SAFETY: by contract.
    let vm = unsafe { Vm::find() };
    // SAFETY: by contract.
    vm.iter().for_each(|vm| unsafe { ends::leave_at_end(vm) });
    let wish = session.and_then(|it| Some((it, sampling::rate(it.header.settings())?)));
    let Some((session, rate)) = wish else { return };
    let Some(vm) = vm else { return notice(terms::UNKNOWN) };
    serving::claim(session);
    // SAFETY: by contract.
    unsafe {
        sampling::begin(vm, rate, session.header.settings().seed);
        late::prepare(vm);
        snapshot::wake::listen();
    }
    mallocs::begin();
}
