//! What the agent knows of a thread once it has had a sample. \[UNSAFE\]
//!
//! A thread-local word says which: 0 is a fresh thread, [`COUNTING`] one that only counts down,
//! [`ENTERING`] one that is about to get its [`Thread`], [`EXCLUDED`] one that is no thread of the program's,
//! anything else the address of its [`Thread`]. Most threads of a program with thousands never get past counting. A `Thread` is a mapping of its own. When a thread ends, its `Thread` goes to a free
//! list for the next one.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering, compiler_fence};

use lifetrace_transport::codec::MAX_HEAD;
use lifetrace_transport::message::ThreadId;

use crate::backtrace::Backtraces;
use crate::lock::{Lock, Patience};
use crate::managed::Managed;
use crate::random::Random;
use crate::room::Room;
use crate::{sys, tls};

/// The thread-local word of a thread that has a countdown and nothing else.
pub const COUNTING: usize = 1;

/// The thread-local word of a thread that is never in the agent: the recorder's, where it runs in the
/// program's process.
pub const EXCLUDED: usize = 2;

/// The thread-local word of a thread that is inside the agent for the first time, and has no [`Thread`] yet.
pub const ENTERING: usize = 3;

/// A thread's record in the agent. What every sample needs stands together at the front, in few cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct Thread {
    /// Its name in messages.
    pub id: ThreadId,
    /// The session to which it has introduced itself.
    pub(crate) introduced_to: u32,
    /// By which rate the recorder counts what this thread samples of malloc's blocks: the probability of a word.
    pub(crate) counts_by: f64,
    /// Inside the agent now.
    pub(crate) busy: bool,
    /// Where its `errno` is: libc's code that tells is in no cache when a sample comes.
    pub(crate) errno: *mut c_int,
    /// Room for what a managed runtime's callback returns, which has to outlive the callback.
    pub answer: [u64; 2],
    /// It has left its managed runtime, which must not be asked for its frames any more.
    pub has_left_runtime: bool,
    /// What is known of its stack below.
    pub(crate) room: Room,
    /// Its last backtrace of a managed runtime's frames, and the next one.
    pub managed: Managed,
    /// Its last backtrace of native frames, and the next one.
    pub backtraces: Backtraces,
    /// Draws its gaps.
    pub random: Random,
    /// What is known to be readable of its stack, for the unwinder.
    pub readable: core::ops::Range<u64>,
    /// Room for the head of the message that it is sending.
    pub(crate) head: [u8; MAX_HEAD],
    next_free: *mut Thread,
    /// The one that was made before it.
    previous: *mut Thread,
}

static FREE: Lock = Lock::new();
static FIRST_FREE: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());
static LAST_MADE: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// Number of the next random stream or thread: each is used once.
pub fn next_number() -> u32 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// This thread's `Thread`, if it has one.
///
/// The pointer is valid for the thread's life; exclusive use is settled by `busy`.
pub(crate) fn current() -> Option<*mut Thread> {
    match tls::state() {
        0 | COUNTING | ENTERING | EXCLUDED => None,
        address => Some(address as *mut Thread),
    }
}

/// Gives this thread a `Thread`, busy from the beginning; `None` when there is no memory for one.
pub(crate) fn acquire(seed: u64, room: Room) -> Option<*mut Thread> {
    let thread = take_free().or_else(|| {
        let fresh = sys::map(size_of::<Thread>())?.as_ptr().cast::<Thread>();
        enter_in_chain(fresh);
        Some(fresh)
    })?;
    let id = next_number();
    // SAFETY: a fresh mapping is zeroed, and all-zero is a valid `Thread`; one from the free list
    // is a `Thread` that nobody else refers to.
    let state = unsafe { &mut *thread };
    state.id = ThreadId(id);
    state.errno = sys::errno_address();
    state.random = Random::new(seed, u64::from(id));
    state.backtraces.clear();
    state.managed.clear();
    state.readable = 0..0;
    state.room = room;
    state.introduced_to = 0;
    state.has_left_runtime = false;
    state.busy = true;
    compiler_fence(Ordering::SeqCst);
    tls::set_state(thread as usize);
    Some(thread)
}

fn enter_in_chain(fresh: *mut Thread) {
    let mut last = LAST_MADE.load(Ordering::Relaxed);
    loop {
        // SAFETY: a fresh mapping of a `Thread`, which is nobody else's until it is in the chain.
        unsafe { (*fresh).previous = last };
        match LAST_MADE.compare_exchange(last, fresh, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(found) => last = found,
        }
    }
}

/// Whether any thread is inside the agent now.
pub fn is_any_busy() -> bool {
    let mut thread = LAST_MADE.load(Ordering::Acquire);
    while !thread.is_null() {
        // SAFETY: records stay mapped, and are in the chain from the beginning; the owner may write to `busy`.
        let (busy, previous) =
            unsafe { (ptr::read_volatile(&raw const (*thread).busy), (*thread).previous) };
        if busy {
            return true;
        }
        thread = previous;
    }
    false
}

/// Gives the thread's `Thread` back; the thread is fresh again, should it go on.
pub(crate) fn release(thread: *mut Thread) {
    tls::set_state(COUNTING);
    if let Some(_held) = FREE.acquire(Patience::Short) {
        // SAFETY: the thread has let go of it, and the free list is ours under the lock.
        unsafe { (*thread).next_free = FIRST_FREE.load(Ordering::Relaxed) };
        FIRST_FREE.store(thread, Ordering::Relaxed);
    }
}

/// After a fork, in the child: nobody else exists who could hold the list.
pub(crate) fn reset_after_fork() {
    FREE.reset();
    FIRST_FREE.store(ptr::null_mut(), Ordering::Relaxed);
    LAST_MADE.store(ptr::null_mut(), Ordering::Relaxed);
}

fn take_free() -> Option<*mut Thread> {
    let _held = FREE.acquire(Patience::Short)?;
    let first = FIRST_FREE.load(Ordering::Relaxed);
    if first.is_null() {
        return None;
    }
    // SAFETY: the free list is ours under the lock.
    FIRST_FREE.store(unsafe { (*first).next_free }, Ordering::Relaxed);
    Some(first)
}
