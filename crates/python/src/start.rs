//! The start, before the program runs or when somebody attaches. \[UNSAFE\]

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU64, Ordering};

use lifetrace_agent::context;
use lifetrace_agent::guard::Entered;
use lifetrace_agent::host::Host;
use lifetrace_agent::lock::{Lock, Patience};
use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::session::{self, Session};
use lifetrace_agent::sys;
use lifetrace_native::executable;

use crate::interpreter::Interpreter;
use crate::mallocs::{self, Found};
use crate::small;

/// What has been found, once.
struct Place(UnsafeCell<Option<Found>>);

// SAFETY: written once, under the lock.
unsafe impl Sync for Place {}

static FOUND: Place = Place(UnsafeCell::new(None));
static LOCK: Lock = Lock::new();

/// Where an interpreter was that had come late, when it was seen last.
static LATE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// With these the interpreter puts other allocators in the place of those that it begins with, and of ours.
const CHOOSING: [&str; 2] = ["PYTHONMALLOC", "PYTHONDEVMODE"];

/// To be called before the program runs, with its arguments.
///
/// # Safety
/// The arguments are null, or strings up to a null.
pub unsafe fn watch(arguments: *const *const c_char) {
    // SAFETY: by contract.
    let name =
        unsafe { arguments.as_ref().filter(|it| !it.is_null()).map(|it| CStr::from_ptr(*it)) };
    end_with_program(name.map_or(&[], CStr::to_bytes));
    let is_recorded = find(None) && phase::current() != Phase::Off;
    let is_wanted = session::current().is_none_or(Session::hears_small_objects);
    let chooses = CHOOSING.iter().any(|name| sys::environment_variable(name).is_some());
    // SAFETY: by contract.
    if is_recorded && is_wanted && !chooses && !unsafe { asks_for_checks(arguments) } {
        // SAFETY: the program does not run yet.
        unsafe { small::hear() }
    }
}

/// To be called by a recorder's own thread in a program that runs already, when a session has begun.
pub fn attach(_: Host) {
    end_with_program(&[]);
    if !find(None) {
        look_among_late();
    }
}

/// To be called when modules have been found that came late. An interpreter among them may go again at any time, but while
/// its code is in this thread's backtrace: it is waited for until it is.
pub fn look_among_late() {
    if !mallocs::have_begun()
        && let Some(span) = Interpreter::span_if_late()
    {
        LATE[0].store(span.start, Ordering::Relaxed);
        LATE[1].store(span.end, Ordering::Relaxed);
        context::provide(meet);
    }
}

fn meet(entered: &mut Entered) {
    let [start, end] = [0, 1].map(|at| LATE[at].load(Ordering::Relaxed));
    let frames = entered.backtraces.frames();
    let met = frames.iter().copied().find(|code| (start..end).contains(code));
    if met.is_some() && find(met) {
        mallocs::send(entered);
    }
}

/// Where Python itself is the program, whose path, or name, may be `called`, nothing comes after it. An interpreter in
/// another program may be taken down, and the program go on.
fn end_with_program(called: &[u8]) {
    let is_python = |path: &[u8]| {
        let name = path.rsplit(|byte| *byte == b'/').next();
        name.is_some_and(|name| name.starts_with(b"python"))
    };
    if is_python(executable::path()) || is_python(called) {
        context::provide_ending(mallocs::is_ending);
    }
}

/// Whether there is an interpreter whose frames are known; one that came late has to be met.
fn find(met: Option<u64>) -> bool {
    let Some(_held) = LOCK.acquire(Patience::Short) else { return false };
    // SAFETY: under the lock; once something is there it does not change any more.
    let place = unsafe { &mut *FOUND.0.get() };
    if place.is_none() {
        *place = match Interpreter::find(met) {
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
