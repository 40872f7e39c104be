//! A job that the machine is to do at its next safe point, asked for from anywhere. \[UNSAFE\]

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::loader;

use crate::vm::Job;

/// What is to be done, a [`Job`].
static JOB: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// The machine's functions by which a job is asked for, and by which a thread finds out whether it has the lock and whether
/// it collects.
static FUNCTIONS: [AtomicPtr<c_void>; 3] = [const { AtomicPtr::new(ptr::null_mut()) }; 3];
const NAMES: [&CStr; 3] =
    [c"rb_postponed_job_register_one", c"ruby_thread_has_gvl_p", c"rb_during_gc"];

type Postpone = unsafe extern "C" fn(u32, Job, *mut c_void) -> c_int;
type Ask = unsafe extern "C" fn() -> c_int;

/// Finds the machine's functions; false if it has not all of them.
pub(crate) fn can_be_asked_for(job: Job) -> bool {
    JOB.store(job as *mut c_void, Ordering::Release);
    FUNCTIONS.iter().zip(NAMES).all(|(place, name)| {
        let found = loader::symbol(name);
        found.is_some_and(|found| {
            place.store(found.as_ptr(), Ordering::Release);
            true
        })
    })
}

/// Asks for the job.
pub(crate) fn ask() {
    let [postpone, job] = [&FUNCTIONS[0], &JOB].map(|it| it.load(Ordering::Acquire));
    if !postpone.is_null() && !job.is_null() {
        // SAFETY: functions of these types; the machine's may be called by any thread of the process: one that it does not know
        // asks its main thread.
        unsafe {
            let job = core::mem::transmute::<*mut c_void, Job>(job);
            core::mem::transmute::<*mut c_void, Postpone>(postpone)(0, job, core::ptr::null_mut())
        };
    }
}

/// Asks if the thread has the machine's lock.
#[cold]
pub(crate) fn ask_from_here() {
    let [_, has_lock, is_collecting] = FUNCTIONS.each_ref().map(|it| it.load(Ordering::Acquire));
    if has_lock.is_null() || is_collecting.is_null() {
        return;
    }
    // SAFETY: functions of this type, which read variables, of this thread and of the machine.
    let is_at_ruby = unsafe {
        let answer = |function| core::mem::transmute::<*mut c_void, Ask>(function)();
        answer(has_lock) != 0 && answer(is_collecting) == 0
    };
    if is_at_ruby {
        ask();
    }
}
