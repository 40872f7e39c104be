//! The start, and the end, in a program that runs already: it is attached to, or its recorder goes and comes. \[UNSAFE\]
//!
//! Who loads the library there has a thread of his own, which the machine does not know. From anywhere the machine can be
//! asked for a job, which it does at its next safe point, with its lock: there sampling begins. A machine that waits comes to
//! none; a thread of its that allocates asks once more, as the first wish has gone to the main thread.
//!
//! When the session is over, the next hook that finds that out takes all hooks away.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::host::{self, Host};
use lifetrace_agent::phase;
use lifetrace_agent::session::{self, Session};

use crate::entry::notice;
use crate::symbols::{Value, function};
use crate::version::Version;
use crate::vm::Vm;
use crate::{
    asking, compiler, ends, mallocs, names, sampling, serving, state, terms, threads, wish,
};

/// What is done once for all sessions has been.
static IS_PREPARED: AtomicBool = AtomicBool::new(false);

/// To be called by a recorder's own thread in a program that runs already, when a session has begun: sampling begins at the
/// machine's next safe point, if the session wants it and the process has a machine that is set up.
pub fn attach(host: Host) {
    let is_wanted = |it: &Session| sampling::rate(it.header.settings()).is_some();
    if !phase::recording().is_some_and(is_wanted) || !is_set_up() {
        return;
    }
    host::set(host);
    if listen() {
        wish::ask();
    }
}

/// To be called when the machine has just been set up, in a program whose recorder may come and go: threads that allocate
/// for a session of which the machine has not heard ask for the job. False if that is not to be had.
pub(crate) fn stand_by() -> bool {
    let can_begin = phase::waits_for_recorders() && listen();
    if can_begin {
        phase::begin_managed_late();
    }
    can_begin
}

fn listen() -> bool {
    let can_ask = wish::can_be_asked_for(job);
    if can_ask {
        serving::begin_late();
        mallocs::begin();
    }
    can_ask
}

/// Whether there is a machine, of a version whose functions are known.
fn is_set_up() -> bool {
    // SAFETY: a variable with a reference to a class, which is made when the machine can be asked for jobs, and a string; all
    // versions export them.
    unsafe {
        let object = function::<*const Value>(c"rb_cObject");
        let text = function::<*const c_char>(c"ruby_version");
        let version = text.and_then(|text| Version::of(CStr::from_ptr(text)));
        object.is_some_and(|it| it.read_volatile() != 0) && version.is_some_and(Version::is_known)
    }
}

/// The machine has come to a safe point.
///
/// # Safety
/// Called by the machine, with its lock.
unsafe extern "C" fn job(_: *mut c_void) {
    let Some(session) = session::current().filter(|_| sampling::settings().is_some()) else {
        return;
    };
    if serving::claim(session) {
        // SAFETY: by contract, outside of hooks, and there is no reference to the state.
        unsafe { begin(session) }
    }
}

/// # Safety
/// As [`job`].
unsafe fn begin(session: &Session) {
    let settings = session.header.settings();
    let Some(rate) = sampling::rate(settings) else { return };
    // SAFETY: by contract.
    let vm = unsafe { state::get() }.map(|state| state.vm);
    // SAFETY: by contract.
    let Some(vm) = vm.or_else(|| unsafe { Vm::find() }) else {
        return notice(terms::UNKNOWN);
    };
    // SAFETY: by contract.
    unsafe {
        if !asking::has_one_ractor() {
            return notice(terms::RACTORS);
        }
        compiler::note(asking::may_compile());
        sampling::begin(vm, rate, settings.seed);
        prepare(vm);
    }
}

/// Does what is done once, however often sampling begins.
///
/// # Safety
/// The machine's lock is the caller's, outside of hooks.
pub(crate) unsafe fn prepare(vm: &'static Vm) {
    if IS_PREPARED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: by contract.
    unsafe {
        ends::leave_at_end(vm);
        vm.at_end(names::last);
        if threads::watch(vm) {
            mallocs::have_frames();
        }
    }
}
