//! The interpreter in this process: which one it is, and what this thread has of it. \[UNSAFE\]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::NonNull;
use core::slice;

use lifetrace_agent::guard::Entered;
use lifetrace_agent::{loader, sys};

use crate::layout::Layout;
use crate::published::{self, Unknown};
use crate::read::Place;
use crate::version::Version;

/// Gives a thread's state, or null; changes nothing.
type State = unsafe extern "C" fn() -> *mut c_void;
type Ends = unsafe extern "C" fn() -> c_int;
type Itself = unsafe extern "C" fn() -> u64;

/// What is to be known of it.
#[derive(Clone, Debug)]
pub(crate) struct Interpreter {
    /// Its version, as messages have it: `3.11.2`.
    pub(crate) version: &'static [u8],
    pub(crate) layout: Layout,
    /// The type of code objects.
    pub(crate) code_type: u64,
    /// The state of the thread that runs Python now: of this one, from 3.12 on; else of any.
    running: State,
    /// This thread's state, whether it runs Python now or not.
    own: State,
    /// Whether the interpreter is about to end.
    ends: Ends,
    /// `pthread_self`.
    itself: Itself,
    /// Where the module is that has all these, if it came late, and may go.
    pub(crate) late: Option<Range<u64>>,
}

impl Interpreter {
    /// The one that the process has. One that came late may go at any time but while code of its own is `met` on the way
    /// back of this thread.
    ///
    /// # Errors
    /// `None` if it has none; [`Unknown`] if it is one of which too little is known.
    pub(crate) fn find(met: Option<u64>) -> Result<Interpreter, Option<Unknown>> {
        let runtime = loader::symbol(c"_PyRuntime").ok_or(None)?;
        let late = loader::late_span_of(runtime.as_ptr() as u64);
        if late.as_ref().is_some_and(|span| met.is_none_or(|code| !span.contains(&code))) {
            return Err(None);
        }
        // SAFETY: exported by all versions, with these types.
        unsafe {
            let version = function::<unsafe extern "C" fn() -> *const c_char>(c"Py_GetVersion");
            let text = CStr::from_ptr(version.ok_or(None)?()).to_bytes();
            let length = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
            let number = str::from_utf8(text).ok().and_then(Version::of);
            let number = number.ok_or(Unknown::Version)?;
            let layout = match Layout::known(number) {
                Some(layout) => layout,
                None => {
                    let runtime = Place::new(runtime.as_ptr() as u64).ok_or(Unknown::Version)?;
                    published::layout(runtime, number)?
                }
            };
            Ok(Interpreter {
                version: slice::from_raw_parts(text.as_ptr(), length),
                layout,
                code_type: loader::symbol(c"PyCode_Type").ok_or(Unknown::Version)?.as_ptr() as u64,
                running: first_of([c"PyThreadState_GetUnchecked", c"_PyThreadState_UncheckedGet"])
                    .ok_or(Unknown::Version)?,
                own: function(c"PyGILState_GetThisThreadState").ok_or(Unknown::Version)?,
                itself: function(c"pthread_self").ok_or(Unknown::Version)?,
                ends: first_of([c"Py_IsFinalizing", c"_Py_IsFinalizing"])
                    .ok_or(Unknown::Version)?,
                late,
            })
        }
    }

    /// Where one is that came late, if there is any.
    pub(crate) fn span_if_late() -> Option<Range<u64>> {
        loader::late_span_of(loader::symbol(c"_PyRuntime")?.as_ptr() as u64)
    }

    /// Whether it is there, and stays while this thread is where its backtrace has just been captured.
    pub(crate) fn stays(&self, entered: &mut Entered) -> bool {
        let Some(span) = &self.late else { return true };
        entered.backtraces.frames().iter().any(|code| span.contains(code))
    }

    /// What this thread has of it; nothing on a thread that has never run Python.
    ///
    /// Where a thread has several, of several interpreters in one process, the one by which it runs Python now.
    pub(crate) fn thread(&self) -> Option<Place> {
        // SAFETY: functions of this type; they look at a variable, and may be called on any thread.
        let [running, own] = [self.running, self.own].map(|get| unsafe { get() } as u64);
        if running != own && running != 0 && self.is_this_threads(running) {
            return Place::new(running);
        }
        // An interpreter that ends takes away the states of threads that it does not wait for.
        let is_there = running == own || !self.ends();
        Place::new(own).filter(|_| is_there)
    }

    /// Whether this thread has the interpreter's lock, so that no other runs Python.
    pub(crate) fn runs_here(&self) -> bool {
        // SAFETY: as above.
        let [running, own] = [self.running, self.own].map(|get| unsafe { get() } as u64);
        running == own && own != 0
    }

    /// Whether it takes down all that it has.
    pub(crate) fn ends(&self) -> bool {
        // SAFETY: looks at a variable, and may be called on any thread.
        unsafe { (self.ends)() != 0 }
    }

    /// Another thread's may be taken away meanwhile.
    fn is_this_threads(&self, state: u64) -> bool {
        let mut thread = [MaybeUninit::uninit(); 8];
        if !sys::copy(state + self.layout.thread as u64, &mut thread) {
            return false;
        }
        // SAFETY: they have been filled.
        let thread = thread.map(|byte| unsafe { byte.assume_init() });
        // SAFETY: always.
        u64::from_le_bytes(thread) == unsafe { (self.itself)() }
    }
}

/// A function that has the first of these names in some versions, and the second one in others.
///
/// # Safety
/// `F` is the type of both.
unsafe fn first_of<F: Copy>(names: [&CStr; 2]) -> Option<F> {
    // SAFETY: by contract.
    names.into_iter().find_map(|name| unsafe { function(name) })
}

/// A function of that name.
///
/// # Safety
/// `F` is its type.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<NonNull<c_void>>()) };
    let found = loader::symbol(name)?;
    // SAFETY: by contract; the sizes are equal.
    Some(unsafe { core::mem::transmute_copy(&found) })
}
