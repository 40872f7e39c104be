//! The start, before the program runs or when somebody attaches. \[UNSAFE\]

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};

use lifetrace_agent::host::Host;
use lifetrace_agent::lock::{Lock, Patience};
use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::sys;

use crate::interpreter::Interpreter;
use crate::mallocs::{self, Found};
use crate::small;

/// What has been found, once.
struct Place(UnsafeCell<Option<Found>>);

// SAFETY: written once, under the lock.
unsafe impl Sync for Place {}

static FOUND: Place = Place(UnsafeCell::new(None));
static LOCK: Lock = Lock::new();

/// With these the interpreter puts other allocators in the place of those that it begins with.
const CHOOSING: [&str; 2] = ["PYTHONMALLOC", "PYTHONDEVMODE"];

/// To be called before the program runs, with its arguments.
///
/// # Safety
/// The arguments are null, or strings up to a null.
pub unsafe fn watch(arguments: *const *const c_char) {
    let is_recorded = find() && phase::current() != Phase::Off;
    let chooses = CHOOSING.iter().any(|name| sys::environment_variable(name).is_some());
    // SAFETY: by contract.
    if is_recorded && !chooses && !unsafe { asks_for_checks(arguments) } {
        // SAFETY: the program does not run yet.
        unsafe { small::hear() }
    }
}

/// To be called by a recorder's own thread in a program that runs already, when a session has begun.
pub fn attach(_: Host) {
    find();
}

/// Whether there is an interpreter whose frames are known.
fn find() -> bool {
    let Some(_held) = LOCK.acquire(Patience::Short) else { return false };
    // SAFETY: under the lock; once something is there it does not change any more.
    let place = unsafe { &mut *FOUND.0.get() };
    if place.is_none() {
        *place = match Interpreter::find() {
            Ok(python) => Some(Ok(python)),
            Err(unknown) => unknown.map(Err),
        };
    }
    let found: Option<&'static Found> = place.as_ref();
    found.into_iter().for_each(mallocs::begin);
    matches!(found, Some(Ok(_)))
}

/// Whether `-X dev` is among the arguments, which does what [`CHOOSING`] does.
///
/// # Safety
/// As [`watch`].
unsafe fn asks_for_checks(arguments: *const *const c_char) -> bool {
    let mut at = arguments;
    let mut is_option = false;
    // SAFETY: by contract.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            let argument = CStr::from_ptr(*at).to_bytes();
            if argument == b"-Xdev" || is_option && argument == b"dev" {
                return true;
            }
            is_option = argument == b"-X";
            at = at.add(1);
        }
    }
    false
}
