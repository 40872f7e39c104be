//! Ends of a program that run none of its exit handlers: `_exit`, and `exec`. \[UNSAFE\]
//!
//! What is to be known up to the end is left in shared memory before them: no lock is waited for. Before an `_exit` the
//! recorder is told as well, and may look through the memory; a thread that is in the agent tells nothing.
//! Both are also called between `vfork` and the child's own program, in memory that is the parent's, by signal
//! handlers, and in a forked child that nobody records; then they are left alone.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use lifetrace_agent::guard::{self, Entry};
use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::session::Session;
use lifetrace_agent::{leave, room, sys};
use lifetrace_transport::message::Body;

use crate::live;
use crate::next::Named;

/// What is called before the end, and, if there is none, after all: an `exec` may fail.
#[derive(Clone, Copy, Debug)]
pub struct Witness {
    /// The program ends now.
    pub leave: fn(),
    /// It does not.
    pub stay: fn(),
}

type Strings = *const *const c_char;
type Exit = unsafe extern "C" fn(c_int) -> !;
type Exec = unsafe extern "C" fn(*const c_char, Strings) -> c_int;
type ExecWith = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;

static EXIT: Named = Named::new(c"_exit");
static EXECV: Named = Named::new(c"execv");
static EXECVP: Named = Named::new(c"execvp");
static EXECVE: Named = Named::new(c"execve");
static EXECVPE: Named = Named::new(c"execvpe");

/// Whose session it is.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Finds the next functions. The process has a single thread now.
pub(crate) fn resolve() {
    for next in [&EXIT, &EXECV, &EXECVP, &EXECVE, &EXECVPE] {
        next.get();
    }
}

/// A session of this process has begun.
pub(crate) fn begin(session: &Session, is_first: bool) {
    PROCESS.store(sys::process_id(), Ordering::Relaxed);
    if let Some(bytes) = sys::most_resident_ever().filter(|_| is_first) {
        session.header.last_words().keep_most_before(bytes);
    }
}

/// Leaves the memory that this process has and has had. Not in a sandbox, which may kill for the question.
pub fn leave_memory() {
    if phase::current() != Phase::Recording || room::is_sandbox_expected() {
        return;
    }
    if let (Some(session), Some(resident)) = (phase::recording(), sys::resident()) {
        session.header.last_words().keep_resident(resident.now, resident.most);
    }
}

/// Tells the recorder that the process is about to end, and lets it look before.
pub fn say_farewell() {
    let is_told = match guard::enter() {
        Entry::Recording(mut entered) => entered.send(Body::Exiting),
        _ => false,
    };
    let session = phase::recording().filter(|_| is_told && !room::is_sandbox_expected());
    if let Some(session) = session.filter(|it| is_looked_at(it)) {
        leave::wait_for_look(session);
    }
}

/// Whether the recorder has something to look at: blocks that may be lost, or what of mappings is in memory.
fn is_looked_at(session: &Session) -> bool {
    let settings = session.header.settings();
    settings.looks_for_lost != 0 && live::are_any() || settings.sources.has_mappings()
}

/// Whether this is the end of what is recorded.
fn is_ours() -> bool {
    phase::current() == Phase::Recording
        && !room::is_sandbox_expected()
        && sys::process_id() == PROCESS.load(Ordering::Relaxed)
}

fn before_end(witness: Witness) {
    if is_ours() {
        let errno = sys::errno();
        (witness.leave)();
        leave_memory();
        sys::set_errno(errno);
    }
}

/// The `exec` has failed.
fn stay(witness: Witness) {
    if is_ours() {
        let errno = sys::errno();
        (witness.stay)();
        if let Some(session) = phase::recording() {
            session.header.last_words().forget_resident();
        }
        sys::set_errno(errno);
    }
}

fn unable() -> c_int {
    sys::set_errno(libc::ENOSYS);
    -1
}

/// `_exit`, as C has it.
pub fn exit(witness: Witness, status: c_int) -> ! {
    before_end(witness);
    if is_ours() {
        say_farewell();
    }
    match EXIT.get() {
        // SAFETY: C's function of that name.
        Some(next) => unsafe { core::mem::transmute::<*mut c_void, Exit>(next)(status) },
        None => sys::exit(status),
    }
}

/// # Safety
/// As C's.
unsafe fn exec(witness: Witness, next: &Named, path: *const c_char, arguments: Strings) -> c_int {
    let Some(next) = next.get() else { return unable() };
    before_end(witness);
    // SAFETY: a function of this type; the arguments are the caller's.
    let result = unsafe { core::mem::transmute::<*mut c_void, Exec>(next)(path, arguments) };
    stay(witness);
    result
}

/// # Safety
/// As C's.
unsafe fn exec_with(
    witness: Witness,
    next: &Named,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let Some(next) = next.get() else { return unable() };
    before_end(witness);
    // SAFETY: as above.
    let result = unsafe {
        core::mem::transmute::<*mut c_void, ExecWith>(next)(path, arguments, environment)
    };
    stay(witness);
    result
}

/// # Safety
/// As C's.
pub unsafe fn execv(witness: Witness, path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: by contract.
    unsafe { exec(witness, &EXECV, path, arguments) }
}

/// # Safety
/// As C's.
pub unsafe fn execvp(witness: Witness, file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: by contract.
    unsafe { exec(witness, &EXECVP, file, arguments) }
}

/// # Safety
/// As C's.
pub unsafe fn execve(
    witness: Witness,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: by contract.
    unsafe { exec_with(witness, &EXECVE, path, arguments, environment) }
}

/// # Safety
/// As C's.
pub unsafe fn execvpe(
    witness: Witness,
    file: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: by contract.
    unsafe { exec_with(witness, &EXECVPE, file, arguments, environment) }
}
