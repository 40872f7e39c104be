//! The agent's start in a process. \[UNSAFE\]
//!
//! It runs at the first countdown, which is the first allocation of all, or in the library's
//! constructor if nobody has allocated before. Both are on the main thread, before the program.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::guard::{self, Entry};
use lifetrace_agent::phase::{self, Start};
use lifetrace_agent::session::{self, Session};
use lifetrace_agent::{loader, room, sys};
use lifetrace_transport::handshake::{Origin, SOCKET_VARIABLE};
use lifetrace_transport::message::Body;

use crate::next::{NEXT, comes_by_our_malloc};
use crate::patch::Outcome;
use crate::unwind::engine;
use crate::{
    arena, cxx, ends, executable, forks, jemalloc, live, mappings, modules, patch, sandbox, totals,
};

/// File name of the preload library, by which it knows itself in LD_PRELOAD.
pub const LIBRARY: &str = "liblifetrace.so";

const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

static RESOLVED: AtomicBool = AtomicBool::new(false);
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// The program has an allocator in itself that could not be patched.
static UNPATCHED: AtomicBool = AtomicBool::new(false);

/// Starts.
pub fn start(start: Start) {
    if !RESOLVED.swap(true, Ordering::Relaxed) {
        loader::list::take_note_of_start();
        loader::object::prepare();
        sys::prepare();
        executable::take_note();
        room::take_note_of_main_stack();
        NEXT.resolve();
        jemalloc::resolve();
        totals::resolve();
        cxx::resolve();
        sandbox::resolve();
        ends::resolve();
        mappings::resolve();
    }
    // A forked child goes by what its parent knew; it may have no environment any more.
    if start.origin() == Origin::Exec && !sys::environment_is_ready() {
        start.postpone();
        return;
    }
    // In another C library than glibc the agent is not at home.
    let Some(atfork) = atfork().filter(|_| arena::prepare()) else { return start.finish(false) };
    if start.origin() == Origin::Fork {
        // Of a child that was made without the help of libc, nobody else has done it.
        live::abandon();
    }
    if session::awaits_recorder() && start.origin() == Origin::Exec {
        // Later, a thread that looks for a recorder may be anywhere in the program.
        phase::wait_for_recorders();
        register_once(atfork);
    }
    let Some(session) = start.connect() else { return start.finish(false) };
    if start.origin() == Origin::Exec && session.header.settings().follow_children == 0 {
        hide_from_children();
    }
    register_once(atfork);
    if start.origin() == Origin::Exec {
        patch_own_allocator(session);
    }
    ends::begin(session, start.origin() == Origin::Exec);
    mappings::begin(session);
    start.finish(true);
    if UNPATCHED.load(Ordering::Relaxed) {
        notice(OWN_ALLOCATOR);
    }
}

/// Does what is done once for all sessions of a process.
pub(crate) fn register_once(atfork: RegisterAtfork) {
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        engine::prepare();
        modules::prepare();
        register(atfork);
    }
}

/// Nothing is to be looked up later: nobody calls us by the names of what would be.
pub(crate) fn resolve_nothing() {
    RESOLVED.store(true, Ordering::Relaxed);
}

/// Patches the allocator that the program has in itself, if the recorder says so.
fn patch_own_allocator(session: &Session) {
    match patch::apply(session) {
        Outcome::Nothing => {}
        // Operator new may now come by an allocator that is hooked.
        Outcome::Applied => cxx::resolve(),
        Outcome::Refused => UNPATCHED.store(true, Ordering::Relaxed),
    }
}

/// The library's constructor.
pub fn constructor() {
    if let Some(start_now) = phase::claim_start() {
        start(start_now);
    }
    if !malloc_is_ours() {
        notice(OWN_ALLOCATOR);
    }
}

/// Whether the program's malloc is ours: not if the executable defines one. The address alone would
/// not tell, as an executable may have a stub of its own that leads to ours.
fn malloc_is_ours() -> bool {
    let found = loader::symbol(c"malloc").zip(loader::symbol(c"free"));
    // SAFETY: what the names stand for has these types; free matches malloc.
    comes_by_our_malloc(|| unsafe {
        if let Some((malloc, free)) = found {
            let malloc: unsafe extern "C" fn(usize) -> *mut c_void =
                core::mem::transmute(malloc.as_ptr());
            let free: unsafe extern "C" fn(*mut c_void) = core::mem::transmute(free.as_ptr());
            free(malloc(1));
        }
    })
}

/// The library's destructor: the program is in its exit handlers.
pub fn destructor() {
    ends::leave_memory();
    ends::say_farewell();
}

/// The program defines its own malloc, ahead of ours: nothing of it can be hooked.
const OWN_ALLOCATOR: &[u8] = b"own-allocator";

fn notice(code: &'static [u8]) {
    if let Entry::Recording(mut entered) = guard::enter() {
        entered.send(Body::Notice { code });
    }
}

/// Takes what `lifetrace record` added out of the environment, so that exec'd children are not
/// traced. The process has a single thread now.
fn hide_from_children() {
    let ours = |entry: &[u8]| entry.strip_suffix(LIBRARY.as_bytes()).is_some();
    sys::remove_environment_variable(|entry| entry.starts_with(SOCKET_VARIABLE.as_bytes()));
    sys::shorten_environment_variable(PRELOAD_VARIABLE, |value| {
        let first = value.iter().position(|byte| *byte == b':')?;
        ours(&value[..first]).then_some(first + 1)
    });
    sys::remove_environment_variable(|entry| {
        entry
            .strip_prefix(PRELOAD_VARIABLE.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
            .is_some_and(ours)
    });
}

/// What `pthread_atfork` is in glibc: its handlers, and the library that they belong to.
pub(crate) type RegisterAtfork =
    unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
pub(crate) type Handler = extern "C" fn();

/// Looked up by name. As an import it would keep programs with another C library, which a traced one
/// may start, from running at all: their loaders take a missing symbol for a reason to stop.
pub(crate) fn atfork() -> Option<RegisterAtfork> {
    let found = loader::symbol(c"__register_atfork")?;
    // SAFETY: glibc's function has this type.
    Some(unsafe { core::mem::transmute::<*mut c_void, RegisterAtfork>(found.as_ptr()) })
}

fn register(atfork: RegisterAtfork) {
    // SAFETY: functions of this library, which is never unloaded: no owner need be named.
    unsafe { atfork(forks::before, forks::after, forks::in_child, core::ptr::null_mut()) };
}
