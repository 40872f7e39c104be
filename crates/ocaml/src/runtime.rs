//! The runtime's functions and variables, found by name. \[UNSAFE\]
//!
//! A process that the agent was loaded into is asked for what it exports; a program that it is linked
//! into brings a table ([`for_runtime_names`](crate::for_runtime_names)). All else is the same.

use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::sys;
use lifetrace_transport::errand::{NUDGE, Word};

use crate::blocks::{NONE, Value};
use crate::debug_info;
use crate::memprof::Memprof;
use crate::sums::Sums;
use crate::symbols::{self, Absent, Finder, Symbols, typed};
use crate::version::Version;

/// `caml_memprof_start(rate, callstack size, tracker)`.
pub(crate) type StartMemprof = unsafe extern "C" fn(Value, Value, Value) -> Value;
/// `caml_memprof_stop(unit)`.
pub(crate) type StopMemprof = unsafe extern "C" fn(Value) -> Value;
type ChangeRoots = unsafe extern "C" fn(*mut Value);
pub(crate) type Hook = unsafe extern "C" fn();

/// A runtime that can be sampled. What every sample needs stands at the front, in one cache line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Runtime {
    /// What is needed to take Memprof's place, in OCaml 4.
    pub(crate) memprof: Option<Memprof>,
    /// The variable that points to the domain's state, in OCaml 4.
    state: *const *const u64,
    pub(crate) version: Version,
    pub(crate) start: StartMemprof,
    pub(crate) stop: StopMemprof,
    pub(crate) debug_info: debug_info::Reader,
    /// `caml_c_call`, by which OCaml 5 leaves its stacks.
    pub(crate) c_call: *mut c_void,
    /// Words that the major heap has given since the last slice, in OCaml 4.
    allocated_words: *const u64,
    minor_words: Option<unsafe extern "C" fn() -> f64>,
    minor_end_hook: Option<&'static AtomicPtr<c_void>>,
    pub(crate) blocking_hooks: Option<BlockingHooks>,
    slice_hook: Option<&'static AtomicPtr<c_void>>,
    /// What has OCaml 4 look for signals and the like.
    something_to_do: *const i32,
    /// The number of this thread's domain, in OCaml 5.
    domain: Option<unsafe extern "C" fn(Value) -> Value>,
    /// The collector's counters, in OCaml 5.
    pub(crate) sums: Option<Sums>,
    cleanup_on_exit: *const i32,
    add_root: ChangeRoots,
    remove_root: ChangeRoots,
    release_lock: unsafe extern "C" fn(),
    take_lock: unsafe extern "C" fn(),
    /// Finds what only snapshots need.
    pub(crate) symbol: Finder,
}

const _: () = assert!(core::mem::offset_of!(Runtime, memprof) == 0);

/// Variables: what the runtime calls when C code leaves it to others, and takes it again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockingHooks {
    pub(crate) enter: &'static AtomicPtr<c_void>,
    pub(crate) leave: &'static AtomicPtr<c_void>,
}

impl BlockingHooks {
    fn of(symbol: &Symbols<'_>) -> Option<BlockingHooks> {
        // SAFETY: variables of that type in all versions.
        unsafe {
            Some(BlockingHooks {
                enter: typed(symbol, c"caml_enter_blocking_section_hook").ok()?,
                leave: typed(symbol, c"caml_leave_blocking_section_hook").ok()?,
            })
        }
    }
}

static FOUND: AtomicPtr<Runtime> = AtomicPtr::new(core::ptr::null_mut());

/// The runtime that was settled on.
pub(crate) fn get() -> Option<&'static Runtime> {
    // SAFETY: null, or what `keep` has written to memory that stays.
    unsafe { FOUND.load(Ordering::Acquire).as_ref() }
}

/// Finds the runtime of this process, and in it, if it is OCaml 4's, Memprof.
///
/// # Errors
/// [`Absent`]. Bytecode has no frame tables; its callbacks would have to be bytecode.
pub(crate) fn find() -> Result<Runtime, Absent> {
    let mut runtime = found_by(&symbols::symbol)?;
    runtime.memprof = Memprof::of(runtime.version, &symbols::symbol).ok();
    Ok(runtime)
}

/// Finds the runtime among what `symbol` knows, which stays.
///
/// # Errors
/// As [`find`].
pub(crate) fn found_by(symbol: &Symbols<'_>) -> Result<Runtime, Absent> {
    symbol(c"caml_frametable").ok_or(Absent::NotHere)?;
    // SAFETY: of these types in all versions since 4.11, as their headers say. A pointer to a variable
    // is as good as the variable.
    let runtime = unsafe {
        let null: *const c_void = core::ptr::null();
        let start = typed(symbol, c"caml_memprof_start")?;
        let stop = typed(symbol, c"caml_memprof_stop")?;
        let version = Version::of(|name| symbol(name).is_some()).ok_or(Absent::Unknown)?;
        Runtime {
            start,
            stop,
            version,
            debug_info: debug_info::Reader::of(version, symbol)?,
            c_call: typed(symbol, c"caml_c_call")?,
            state: typed(symbol, c"Caml_state").unwrap_or(null).cast(),
            allocated_words: typed(symbol, c"caml_allocated_words").unwrap_or(null).cast(),
            minor_words: typed(symbol, c"caml_gc_minor_words_unboxed").ok(),
            domain: typed(symbol, c"caml_ml_domain_id").ok(),
            minor_end_hook: typed(symbol, c"caml_minor_gc_end_hook").ok(),
            blocking_hooks: BlockingHooks::of(symbol),
            slice_hook: typed(symbol, c"caml_major_slice_begin_hook").ok(),
            something_to_do: typed(symbol, c"caml_something_to_do").unwrap_or(null).cast(),
            sums: Sums::of(symbol).ok(),
            add_root: typed(symbol, c"caml_register_generational_global_root")?,
            remove_root: typed(symbol, c"caml_remove_generational_global_root")?,
            release_lock: typed(symbol, c"caml_enter_blocking_section")?,
            take_lock: typed(symbol, c"caml_leave_blocking_section")?,
            cleanup_on_exit: typed(symbol, c"caml_cleanup_on_exit").unwrap_or(null).cast(),
            memprof: None,
            symbol: symbols::symbol,
        }
    };
    let is_ready = runtime.version.has_fibers() || runtime.domain_state().is_some();
    if is_ready { Ok(runtime) } else { Err(Absent::NotHere) }
}

/// Keeps it for [`get`]; `None` when there is no memory.
pub(crate) fn keep(runtime: Runtime) -> Option<&'static Runtime> {
    let place = sys::map(size_of::<Runtime>())?.cast::<Runtime>();
    // SAFETY: fresh memory, large and aligned enough.
    unsafe { place.write(runtime) };
    FOUND.store(place.as_ptr(), Ordering::Release);
    get()
}

impl Runtime {
    /// The words of the domain's state, in OCaml 4.
    fn domain_state(&self) -> Option<NonNull<u64>> {
        if self.state.is_null() {
            return None;
        }
        // SAFETY: the exported variable.
        NonNull::new(unsafe { self.state.read() }.cast_mut())
    }

    /// A word of the domain's state, in OCaml 4.
    pub(crate) fn state_word(&self, index: usize) -> Option<u64> {
        let state = self.domain_state()?;
        // SAFETY: the version has so many words there (`Version::counters`).
        Some(unsafe { state.add(index).read_volatile() })
    }

    /// The number of this thread's domain.
    pub(crate) fn domain(&self) -> u64 {
        // SAFETY: reads the domain's state; a callback's thread has a domain.
        self.domain.map_or(0, |domain| unsafe { domain(NONE) }.number())
    }

    /// Words that have been allocated in the minor heap, this moment's included.
    pub(crate) fn minor_words(&self) -> Option<u64> {
        // SAFETY: reads the domain's state, which is there.
        self.minor_words.map(|count| unsafe { count() } as u64)
    }

    /// Words of the major heap that its counter will be told of at the next slice.
    pub(crate) fn unaccounted_words(&self) -> u64 {
        // SAFETY: null or the exported variable.
        unsafe { self.allocated_words.as_ref() }.copied().unwrap_or(0)
    }

    /// Whether the domain's state is still there in the program's last moments. The runtime frees it at
    /// its shutdown if the user wants that, or its host does.
    pub(crate) fn outlives_exit(&self) -> bool {
        // SAFETY: null or the exported variable.
        let cleans_up = unsafe { self.cleanup_on_exit.as_ref() }.is_some_and(|&it| it != 0);
        !cleans_up
            && self.domain_state().is_some_and(|state| sys::is_readable(state.as_ptr() as u64))
    }

    /// Has the runtime call `hook` where a slice of a collection of the old heap begins; the one that was there is to be
    /// called by it. False if the runtime has no such place.
    pub(crate) fn hook_major_slices(&self, hook: Hook, previous: &AtomicPtr<c_void>) -> bool {
        let Some(place) = self.slice_hook else { return false };
        previous.store(place.load(Ordering::Acquire), Ordering::Relaxed);
        place.store(hook as *mut c_void, Ordering::Release);
        true
    }

    /// What the runtime itself writes when it wants a slice soon, in OCaml 4.13 and 4.14: that one is wanted, that there is
    /// something to do, and, as the limit of the young heap, what no pointer into that is above of.
    pub(crate) fn slice_words(&self) -> Option<[Word; NUDGE]> {
        let (wanted, limit) = self.version.slice_state()?;
        let state = self.domain_state()?.as_ptr() as u64;
        let at = |index: usize| state + 8 * index as u64;
        let to_do = self.something_to_do as u64;
        (to_do != 0).then_some([
            Word { address: at(wanted), value: 1, bytes: 8 },
            Word { address: to_do, value: 1, bytes: 4 },
            Word { address: at(limit), value: u64::MAX, bytes: 8 },
        ])
    }

    /// Runs something that may make the collector move these values; returns them as they are then. To be called
    /// where the runtime's lock is held.
    pub(crate) fn rooted<const N: usize>(
        &self,
        mut values: [Value; N],
        run: impl FnOnce(),
    ) -> [Value; N] {
        let roots: [*mut Value; N] = core::array::from_fn(|index| &raw mut values[index]);
        // SAFETY: values, which stay where they are until they are roots no more.
        roots.iter().for_each(|&root| unsafe { (self.add_root)(root) });
        run();
        // SAFETY: as above.
        roots.map(|root| unsafe {
            (self.remove_root)(root);
            root.read_volatile()
        })
    }

    /// Runs something while others may collect and, in the domain's other threads, run OCaml code. To be called where
    /// the runtime's lock is held, and no value is.
    pub(crate) fn without_lock<T>(&self, run: impl FnOnce() -> T) -> T {
        // SAFETY: by this function's contract.
        unsafe { (self.release_lock)() };
        let result = run();
        // SAFETY: released above.
        unsafe { (self.take_lock)() };
        result
    }

    /// As [`without_lock`](Self::without_lock), but nothing that is pending is done before: so nothing is raised.
    pub(crate) fn outside<T>(&self, run: impl FnOnce() -> T) -> T {
        let Some(BlockingHooks { enter, .. }) = self.blocking_hooks else { return run() };
        let leave_to_others = enter.load(Ordering::Acquire);
        // SAFETY: a hook of this type, never null, which does what the runtime does when it is left to others; it has the
        // lock by this function's contract.
        unsafe { core::mem::transmute::<*mut c_void, Hook>(leave_to_others)() };
        let result = run();
        // SAFETY: left above.
        unsafe { (self.take_lock)() };
        result
    }

    /// Puts `hook` where the runtime calls at the end of each collection of the minor heap; the one that
    /// was there is to be called by it. False if the runtime has no such place.
    pub(crate) fn hook_minor_collections(&self, hook: Hook, previous: &AtomicPtr<c_void>) -> bool {
        let Some(place) = self.minor_end_hook else { return false };
        previous.store(place.load(Ordering::Acquire), Ordering::Relaxed);
        place.store(hook as *mut c_void, Ordering::Release);
        true
    }
}
