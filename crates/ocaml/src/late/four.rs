//! Sampling begins in an OCaml 4 that runs. \[UNSAFE\]

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use lifetrace_agent::session::Session;
use lifetrace_agent::sys;

use super::{blocks, tell};
use crate::blocks::{NONE, Value};
use crate::client::Client;
use crate::runtime::Runtime;
use crate::{begin, host, memprof, terms, thunks, yielding};

/// The session for which all that can be done has been done.
static SERVED: AtomicU32 = AtomicU32::new(0);

/// Where the runtime keeps whether somebody has Memprof; null if that is not known.
static CLIENT: AtomicPtr<Client> = AtomicPtr::new(ptr::null_mut());

/// Finds what is needed, on the recorder's own thread or at the program's start; whether it is there.
pub(super) fn prepare(runtime: &Runtime) -> bool {
    if CLIENT.load(Ordering::Relaxed).is_null() {
        // SAFETY: the runtime's functions; nobody has changed them who had not found the variable before.
        let found = unsafe { Client::find(runtime.start as *const u8, runtime.stop as *const u8) };
        CLIENT.store(
            found.and_then(kept).map_or(ptr::null_mut(), NonNull::as_ptr),
            Ordering::Release,
        );
    }
    !CLIENT.load(Ordering::Relaxed).is_null()
}

fn kept(client: Client) -> Option<NonNull<Client>> {
    let place = sys::map(size_of::<Client>())?.cast::<Client>();
    // SAFETY: fresh memory, large and aligned enough, which stays.
    unsafe { place.write(client) };
    Some(place)
}

pub(super) fn is_served(session: &Session) -> bool {
    SERVED.load(Ordering::Relaxed) == session.number
}

/// Does what can be done for the session.
pub(super) fn serve(runtime: &'static Runtime, session: &Session) {
    SERVED.store(session.number, Ordering::Relaxed);
    match begin::rate(session.header.settings()) {
        Some(rate) if memprof::is_in_place() => {
            memprof::births::serve(session.number, rate);
            tell(runtime, session, rate);
        }
        Some(rate) => take_over(runtime, session, rate),
        None => yielding::end(runtime),
    }
}

/// Takes Memprof's place, if nobody has it.
fn take_over(runtime: &'static Runtime, session: &Session, rate: f64) {
    // SAFETY: null, or what `kept` has written, which stays.
    let code = match unsafe { CLIENT.load(Ordering::Acquire).as_ref() } {
        Some(client) if client.is_there() => terms::MEMPROF_TAKEN,
        Some(_) if begin(runtime, session, rate) => return,
        _ => terms::NOT_ATTACHED,
    };
    begin::notice(code);
}

fn begin(runtime: &'static Runtime, session: &Session, rate: f64) -> bool {
    let Some(blocks) = blocks(runtime, rate) else { return false };
    if !tell(runtime, session, rate) {
        return false;
    }
    let ways = thunks::MEMPROF.map(|code| code as *const ());
    memprof::births::serve(session.number, rate);
    if !memprof::take_over(runtime, &ways, rate) {
        return false;
    }
    // SAFETY: nobody has started it, so it raises nothing, and it allocates nothing in OCaml's heap; the blocks are as it
    // expects them.
    unsafe { (runtime.start)(blocks.rate(), Value::immediate(host::depth()), blocks.tracker()) };
    let is_guarded = yielding::prepare(runtime);
    if !is_guarded {
        memprof::give_back(runtime);
        // SAFETY: it is started.
        unsafe { (runtime.stop)(NONE) };
    }
    is_guarded
}
