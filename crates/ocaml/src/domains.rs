//! The domains of OCaml 5, in a program that was attached to. \[UNSAFE\]
//!
//! Each domain has a *profile*: the configuration by which its allocations are sampled, in a block of the heap that has the
//! tracker's callbacks. No function of the runtime's says which it is; but it is a root, and the collector is told of it
//! (`caml_memprof_scan_roots`). Ours is known by its callbacks. To end it, it is marked as stopped, as
//! `caml_memprof_stop` does for all domains that have the same. It is never discarded: a domain that has been stopped amid a
//! sample goes on with it. So the runtime calls back for what was sampled before until that is dead, and nothing comes of it.
//!
//! A domain is asked to come by as the library of threads asks it for its turn: by a word of its state, upon which it calls
//! a hook when it has done all else that was pending, at a place where others may run and collect.
//! (`runtime/memprof.c`, `runtime/domain.c`, `runtime/signals.c`, 5.3 and 5.4)

use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use lifetrace_agent::{loader, sys, tls};

use crate::blocks::Value;
use crate::runtime::{Hook, Runtime, StartMemprof};
use crate::symbols::{Absent, Symbols, typed};
use crate::{moved, stopped};

type Action = unsafe extern "C" fn(*mut c_void, u64, *const u64);
type ScanProfiles = unsafe extern "C" fn(Action, c_int, *mut c_void, *const u64, bool);

/// By whom a domain is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Nobodys,
    Ours,
    Programs,
}

/// What of the runtime is needed.
#[derive(Debug)]
pub(crate) struct Domains {
    /// From a thread's pointer to its variable with the state of the domain that it runs.
    state: i64,
    /// From a domain's state to the word that asks it to come by, in bytes.
    wish: usize,
    /// What is called then.
    pub(crate) hook: &'static AtomicPtr<c_void>,
    set_pending: unsafe extern "C" fn(*const u64),
    scan: ScanProfiles,
    set_trigger: unsafe extern "C" fn(*const u64),
    /// `caml_memprof_start`, past the jump by which the program's calls are noticed.
    pub(crate) start: StartMemprof,
    /// The code of the callback that our profiles have first.
    ours: u64,
    /// Whether the state has been seen to be one.
    is_known: AtomicBool,
}

/// Words of a domain's state: where the young heap's blocks are, from where to where it is, and when to look after it.
const YOUNG: usize = 1;

/// How often it is tried to stop all domains, while somebody else does.
const TRIES: usize = 10_000;

static FOUND: AtomicPtr<Domains> = AtomicPtr::new(ptr::null_mut());

/// What was found, in a program that was attached to.
pub(crate) fn get() -> Option<&'static Domains> {
    // SAFETY: null, or what `keep` has written to memory that stays.
    unsafe { FOUND.load(Ordering::Acquire).as_ref() }
}

impl Domains {
    /// Finds what is needed, for profiles that are ours if that is the code of their first callback.
    ///
    /// # Errors
    /// If the program does not export all of it, or its code is not as expected.
    pub(crate) fn find(runtime: &Runtime, ours: *const ()) -> Result<Domains, Absent> {
        let symbol: &Symbols<'_> = &runtime.symbol;
        let asks = symbol(c"caml_process_external_interrupt").ok_or(Absent::NotHere)?;
        // SAFETY: of these types, as the versions' headers say; what is moved is of the function's.
        unsafe {
            let start = moved::beginning_of(runtime.start as *const u8).ok_or(Absent::Unknown);
            Ok(Domains {
                state: loader::thread_variable(c"caml_state").ok_or(Absent::NotHere)?,
                wish: wish(asks).ok_or(Absent::Unknown)?,
                hook: typed(symbol, c"caml_domain_external_interrupt_hook")?,
                set_pending: typed(symbol, c"caml_set_action_pending")?,
                scan: typed(symbol, c"caml_memprof_scan_roots")?,
                set_trigger: typed(symbol, c"caml_memprof_set_trigger")?,
                start: start.map(|it| core::mem::transmute::<NonNull<u8>, StartMemprof>(it))?,
                ours: ours as u64,
                is_known: AtomicBool::new(false),
            })
        }
    }

    /// Keeps it for [`get`]; `None` when there is no memory.
    pub(crate) fn keep(self) -> Option<&'static Domains> {
        let place = sys::map(size_of::<Domains>())?.cast::<Domains>();
        // SAFETY: fresh memory, large and aligned enough.
        unsafe { place.write(self) };
        FOUND.store(place.as_ptr(), Ordering::Release);
        get()
    }

    /// The state of the domain that this thread runs, or whose collections it does while that waits.
    pub(crate) fn own(&self) -> Option<NonNull<u64>> {
        // SAFETY: a variable that each thread has.
        let state = unsafe { tls::word_at(self.state) };
        let is_state = || {
            let is_one = sys::is_readable(state) && is_state(state);
            self.is_known.store(is_one, Ordering::Relaxed);
            is_one
        };
        let state = NonNull::new(state as *mut u64)?;
        (self.is_known.load(Ordering::Relaxed) || is_state()).then_some(state)
    }

    /// Has the domain of this thread call the hook soon: to be called where its next actions are yet to be done.
    pub(crate) fn ask_to_come(&self) {
        let Some(state) = self.own() else { return };
        // SAFETY: words of the state; the runtime's function sets another one.
        unsafe {
            wish_of(state, self.wish).store(1, Ordering::Release);
            (self.set_pending)(state.as_ptr());
        }
    }

    /// Calls what was in the hook's place before, and takes the wish back, if that has not.
    pub(crate) fn go_on(&self, previous: *mut c_void) {
        if !previous.is_null() {
            // SAFETY: a hook of this type, which the runtime would have called.
            unsafe { core::mem::transmute::<*mut c_void, Hook>(previous)() };
        }
        if let Some(state) = self.own() {
            // SAFETY: a word of the state.
            unsafe { wish_of(state, self.wish).store(0, Ordering::Release) };
        }
    }

    /// Runs something with the states of all domains while all are stopped; false if that could not be.
    pub(crate) fn with_all(&self, runtime: &Runtime, work: impl Fn(&[*const u64])) -> bool {
        (0..TRIES).any(|_| {
            let is_done = stopped::with_all_domains(&runtime.symbol, &work);
            if !is_done {
                // Who stops them waits for one that the system lets wait.
                sys::yield_now();
            }
            is_done
        })
    }

    /// By whom a domain is sampled.
    ///
    /// # Safety
    /// It is a domain's state, and this thread's own, or all domains are stopped.
    pub(crate) unsafe fn profile(&self, domain: *const u64) -> Profile {
        let mut asked = Asked { domain, ours: self.ours, found: Profile::Nobodys };
        // SAFETY: by contract; `note` takes what it is given.
        unsafe { (self.scan)(note, 0, (&raw mut asked).cast(), domain, false) };
        asked.found
    }

    /// Ends our profiles of domains. None of these may come to where its next sample was to be.
    ///
    /// # Safety
    /// They are all domains' states, and all are stopped.
    pub(crate) unsafe fn stop_ours(&self, domains: &[*const u64]) {
        for &domain in domains {
            let mut asked = Asked { domain, ours: self.ours, found: Profile::Nobodys };
            // SAFETY: by contract.
            unsafe { (self.scan)(stop, 0, (&raw mut asked).cast(), domain, false) };
        }
        // SAFETY: by contract.
        domains.iter().for_each(|&domain| unsafe { (self.set_trigger)(domain) });
    }
}

/// # Safety
/// It is a state, which has that word.
unsafe fn wish_of<'a>(state: NonNull<u64>, wish: usize) -> &'a AtomicU64 {
    // SAFETY: by contract.
    unsafe { state.byte_add(wish).cast().as_ref() }
}

/// Whether the young heap is as one is: it is looked after when it is half full, or full.
fn is_state(state: u64) -> bool {
    // SAFETY: words of a state, or of what is readable there.
    let [at, start, end, trigger] =
        unsafe { (state as *const u64).add(YOUNG).cast::<[u64; 4]>().read_volatile() };
    let half = start.wrapping_add(end.wrapping_sub(start) / 2);
    start < end && (start..=end).contains(&at) && (trigger == start || trigger == half)
}

/// From a domain's state to the word that the function asks at this place: the first that it reads far in something.
fn wish(function: NonNull<c_void>) -> Option<usize> {
    const LENGTH: usize = 96;
    let start = function.as_ptr() as u64;
    if !sys::is_readable(start + LENGTH as u64 - 8) {
        return None;
    }
    // SAFETY: the function's code, and what is behind it, is readable.
    let code = unsafe { core::slice::from_raw_parts(function.as_ptr().cast::<u8>(), LENGTH) };
    first_far_word(code)
}

/// The first word that is read, or compared with 0, more than a signed byte away from where a register points to.
fn first_far_word(code: &[u8]) -> Option<usize> {
    const FAR: core::ops::Range<usize> = 0x80..0x400;
    code.windows(7).find_map(|bytes| {
        let form = bytes[2];
        let is_far = form & 0xc0 == 0x80 && form & 7 != 4;
        let reads = bytes[0] & 0xf8 == 0x48 && bytes[1] == 0x8b;
        let compares = bytes[0] & 0xf8 == 0x48 && bytes[1] == 0x83 && form & 0x38 == 0x38;
        let distance = u32::from_le_bytes(*bytes[3..].first_chunk()?) as usize;
        let is_word = FAR.contains(&distance) && distance.is_multiple_of(8);
        (is_far && (reads || compares) && is_word).then_some(distance)
    })
}

/// What is asked of a domain.
struct Asked {
    domain: *const u64,
    ours: u64,
    found: Profile,
}

/// Notes the profile that the domain has now. Its threads' are the same; what else is told of is the profile of blocks
/// that were sampled before, in this domain or in one that has ended.
unsafe extern "C" fn note(asked: *mut c_void, word: u64, slot: *const u64) {
    /// From the domain's pointer to its state to where its profile is.
    const BEHIND_STATE: usize = 8;
    // SAFETY: `profile` passes it; the runtime tells of its roots.
    unsafe {
        let asked = &mut *asked.cast::<Asked>();
        if let Some(profile) = Configuration::of(word)
            && profile.is_sampling()
            && slot.sub(BEHIND_STATE).read() == asked.domain as u64
        {
            let is_ours = profile.is_called_back_by(asked.ours);
            asked.found = if is_ours { Profile::Ours } else { Profile::Programs };
        }
    }
}

unsafe extern "C" fn stop(asked: *mut c_void, word: u64, _: *const u64) {
    // SAFETY: as above; a field of the block, whose values are immediates.
    unsafe {
        let asked = &*asked.cast::<Asked>();
        if let Some(profile) = Configuration::of(word)
            && profile.is_sampling()
            && profile.is_called_back_by(asked.ours)
        {
            profile.0.cast_mut().write_volatile(STOPPED);
        }
    }
}

/// `Val_int` of what the runtime calls these.
const SAMPLING: u64 = 1;
const STOPPED: u64 = 3;
const DISCARDED: u64 = 5;

/// A block in which the runtime has how a domain is sampled: whether it is, the rate, what is made of the rate, the length
/// of backtraces, five callbacks.
#[derive(Clone, Copy)]
struct Configuration(*const u64);

impl Configuration {
    /// # Safety
    /// An immediate or a block.
    unsafe fn of(word: u64) -> Option<Configuration> {
        const FIELDS: u64 = 9;
        const SIZE_AND_TAG: u64 = !0x300;
        if word & 7 != 0 || word == 0 {
            return None;
        }
        let block = word as *const u64;
        // SAFETY: by contract; the header says how many fields there are.
        unsafe {
            let is_as_large = block.sub(1).read() & SIZE_AND_TAG == FIELDS << 10;
            let is_one = is_as_large && matches!(block.read(), SAMPLING | STOPPED | DISCARDED);
            (is_one && is_double(block.add(1).read())).then_some(Configuration(block))
        }
    }

    /// # Safety
    /// It is one.
    unsafe fn is_sampling(self) -> bool {
        // SAFETY: by contract.
        unsafe { self.0.read() == SAMPLING }
    }

    /// Whether this is the code of its first callback.
    ///
    /// # Safety
    /// It is one.
    unsafe fn is_called_back_by(self, code: u64) -> bool {
        const FIRST: usize = 4;
        // SAFETY: by contract; a closure's first field is its code.
        unsafe {
            let closure = self.0.add(FIRST).read();
            closure & 7 == 0 && Value::of(closure as usize).field(0).word() as u64 == code
        }
    }
}

/// # Safety
/// An immediate or a block.
unsafe fn is_double(word: u64) -> bool {
    const TAG: u64 = 253;
    // SAFETY: by contract.
    word & 7 == 0 && word != 0 && unsafe { (word as *const u64).sub(1).read() } & 0xff == TAG
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_the_first_that_is_far_away() {
        // mov rax, fs:[rax]; mov rax, [rax + 0x100]; test rax, rax
        let code = [0x64, 0x48, 0x8b, 0, 0x48, 0x8b, 0x80, 0, 1, 0, 0, 0x48, 0x85, 0xc0, 0x90];
        assert_eq!(first_far_word(&code), Some(0x100));
        // cmp qword ptr [rdx + 0x108], 0
        let code = [0x48, 0x8b, 0x10, 0x48, 0x83, 0xba, 8, 1, 0, 0, 0];
        assert_eq!(first_far_word(&code), Some(0x108));
        assert_eq!(first_far_word(&[0x48, 0x8b, 0x40, 0x10, 0x90, 0x90, 0x90, 0xc3]), None);
        assert_eq!(first_far_word(&[]), None);
    }

    /// As the runtime has them: a state's pointer, seven words of a table, the profile.
    #[test]
    fn a_profile_is_known_by_its_callbacks() {
        let rate = [1 << 10 | 253, 0.5f64.to_bits()];
        let code = 0x4440u64;
        let closure = [2 << 10 | 247, code, 0];
        let at = |words: &[u64]| &raw const words[1] as u64;
        let mut block = [0; 10];
        block[..6].copy_from_slice(&[9 << 10 | 0x300, SAMPLING, at(&rate), at(&rate), 21, 0]);
        block[5] = at(&closure);
        let state = 0x7000u64;
        let mut domain = [0; 9];
        (domain[0], domain[8]) = (state, at(&block));
        let ask = |domain: &[u64; 9], ours| {
            let mut asked = Asked { domain: state as _, ours, found: Profile::Nobodys };
            // SAFETY: what the runtime would tell of.
            unsafe { note((&raw mut asked).cast(), domain[8], &raw const domain[8]) };
            asked.found
        };
        assert_eq!(ask(&domain, code), Profile::Ours);
        assert_eq!(ask(&domain, code + 16), Profile::Programs);
        domain[0] += 8;
        assert_eq!(ask(&domain, code), Profile::Nobodys);
        domain[0] -= 8;
        let mut asked = Asked { domain: state as _, ours: code, found: Profile::Nobodys };
        // SAFETY: as above.
        unsafe { stop((&raw mut asked).cast(), at(&block), ptr::null()) };
        // SAFETY: it is there.
        assert_eq!(unsafe { (&raw const block[1]).read_volatile() }, STOPPED);
        assert_eq!(ask(&domain, code), Profile::Nobodys);
    }

    #[test]
    fn a_state_is_known_by_its_young_heap() {
        let check = |words: [u64; 5]| is_state((&raw const words) as u64);
        assert!(check([0, 0x1800, 0x1000, 0x2000, 0x1800]));
        assert!(check([0, 0x2000, 0x1000, 0x2000, 0x1000]));
        for wrong in [[0; 5], [0, 0x2008, 0x1000, 0x2000, 0x1000], [0, 0x1800, 0x1000, 0x2000, 8]] {
            assert!(!check(wrong), "{wrong:?}");
        }
    }
}
