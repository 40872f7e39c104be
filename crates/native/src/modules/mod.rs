//! Which object files are mapped where, as the loader has it. \[UNSAFE\]
//!
//! Before each backtrace the loader's own counters of arrivals and departures are compared with those
//! of the last scan; only when they moved are the modules read again, the differences announced, and
//! a new map published to the unwinder, in this order, so that a frame's module is always announced
//! before the frame.
//!
//! # The loader's lock
//!
//! `dl_iterate_phdr` takes it. Nothing of ours that another thread may wait for without bound is held
//! meanwhile: the thread that refreshes holds [`REFRESH`], and the others give up waiting for it after
//! a while and make do with the map there is.
//!
//! A fork copies the lock as it is, and a child whose parent's other thread held it would wait for
//! ever. So a fork waits until none of our own threads is in the loader ([`IN_LOADER`]), and a forked
//! child goes by the inherited list until a walk meets code that it doesn't know: then the child has
//! itself loaded a module since, which shows that its loader works.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_void};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use alloc::vec::Vec;
use framehop::Unwinder as _;
use lifetrace_agent::guard::Entered;
use lifetrace_agent::lock::{Held, Lock, Patience};
use lifetrace_agent::{sys, tls};
use lifetrace_transport::message::{self, Body};

use crate::unwind::engine::{self, Engine, Map};

mod loaded;

use loaded::{Loaded, scan};

struct Known(UnsafeCell<Vec<Loaded>>);

// SAFETY: touched under `REFRESH` only.
unsafe impl Sync for Known {}

static REFRESH: Lock = Lock::new();
static KNOWN: Known = Known(UnsafeCell::new(Vec::new()));

/// What was last read: the loader's two counters and the session that was told, mixed.
static STATE: AtomicU64 = AtomicU64::new(0);

/// Threads of ours that may hold the loader's lock; and whether no more may join them.
static IN_LOADER: AtomicU32 = AtomicU32::new(0);
static FORKING: AtomicBool = AtomicBool::new(false);

/// This process is a fork, and has not scanned for itself.
static INHERITED: AtomicBool = AtomicBool::new(false);

/// The agent is a part of the program, whose frames are not its own.
static LINKED_IN: AtomicBool = AtomicBool::new(false);

/// The page of the last unknown code that a scan did not explain.
static UNEXPLAINED: AtomicU64 = AtomicU64::new(0);

/// To be called at the start, while the process has a single thread.
pub fn prepare() {
    for module in in_loader(scan).unwrap_or_default() {
        let _ = module.map_tables_again();
    }
}

/// To be called, before the first map is made, where the agent is linked into the program.
pub fn share_with_program() {
    LINKED_IN.store(true, Ordering::Relaxed);
}

/// Brings the map up to date, and the recorder too.
pub fn refresh(entered: &mut Entered) {
    let session = entered.session().number;
    if INHERITED.load(Ordering::Relaxed) {
        if told() != session {
            update(entered, inherited_state(session), |known| known.clone());
        }
    } else if let Some(state) = in_loader(|| loader_state(session))
        && STATE.load(Ordering::Acquire) != state
    {
        update(entered, state, |_| scan());
    }
}

/// To be called when a walk met code at `address` that is in no module; whether it pays to walk again.
pub fn refresh_for_unknown(entered: &mut Entered, address: u64) -> bool {
    let page = address >> 12;
    let forked = INHERITED.load(Ordering::Relaxed);
    if !forked || UNEXPLAINED.swap(page, Ordering::Relaxed) == page {
        return false;
    }
    update(entered, inherited_state(entered.session().number), |_| scan());
    true
}

fn update(entered: &mut Entered, state: u64, read: impl FnOnce(&Vec<Loaded>) -> Vec<Loaded>) {
    let Some(_held) = REFRESH.acquire(Patience::Short) else { return };
    let new_session = told() != (state >> 32) as u32;
    // SAFETY: under the lock.
    let known = unsafe { &mut *KNOWN.0.get() };
    tls::aside(|| {
        let Some(modules) = in_loader(|| read(known)) else { return };
        announce(entered, known, &modules, new_session);
        engine::publish(map(&modules));
        *known = modules;
        STATE.store(state, Ordering::Release);
    });
}

/// The session that was last told.
fn told() -> u32 {
    (STATE.load(Ordering::Acquire) >> 32) as u32
}

fn inherited_state(session: u32) -> u64 {
    u64::from(session) << 32
}

/// Runs what may take the loader's lock, unless a fork is under way.
fn in_loader<T>(work: impl FnOnce() -> T) -> Option<T> {
    IN_LOADER.fetch_add(1, Ordering::SeqCst);
    let result = (!FORKING.load(Ordering::SeqCst)).then(work);
    IN_LOADER.fetch_sub(1, Ordering::SeqCst);
    result
}

/// Holds the list still and keeps our threads out of the loader, for a fork.
pub fn freeze() -> Option<Held<'static>> {
    let held = REFRESH.acquire(Patience::Short);
    FORKING.store(true, Ordering::SeqCst);
    let deadline = sys::now().0 + Patience::Short.millis() * 1_000_000;
    while IN_LOADER.load(Ordering::SeqCst) > 0 && sys::now().0 < deadline {
        sys::yield_now();
    }
    held
}

/// Lets our threads into the loader again.
pub fn reopen() {
    FORKING.store(false, Ordering::SeqCst);
}

/// Ends the hold on the list, whose holder was forgotten or is not in this process.
pub fn thaw() {
    REFRESH.reset();
}

/// In a forked child: the others are in the parent.
pub fn reset_after_fork() {
    IN_LOADER.store(0, Ordering::SeqCst);
    INHERITED.store(true, Ordering::Relaxed);
    reopen();
    thaw();
}

/// Whether all of these bytes are code of one module.
pub fn is_code(bytes: &Range<u64>) -> bool {
    let modules = in_loader(scan).unwrap_or_default();
    let is_there = |text: &Range<u64>| text.start <= bytes.start && bytes.end <= text.end;
    modules.iter().any(|module| is_there(&module.text))
}

/// A definition of `symbol` outside this library, in whichever module has one.
pub fn find_symbol(symbol: &CStr) -> Option<*mut c_void> {
    let modules = scan();
    let here = refresh as *const () as u64;
    let own = modules.iter().find(|module| module.text.contains(&here));
    modules.iter().find_map(|module| {
        let mut path = module.path.clone();
        path.push(0);
        // SAFETY: C strings. NOLOAD only counts a reference, which keeps what we find loaded.
        let found = unsafe {
            let handle = libc::dlopen(path.as_ptr().cast(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            if handle.is_null() {
                return None;
            }
            libc::dlsym(handle, symbol.as_ptr())
        };
        let ours = own.is_some_and(|own| own.text.contains(&(found as u64)));
        (!found.is_null() && !ours).then_some(found)
    })
}

fn announce(entered: &mut Entered, old: &[Loaded], new: &[Loaded], everything: bool) {
    if !everything {
        for gone in old.iter().filter(|module| !new.contains(module)) {
            entered.send(Body::ModuleUnloaded { start: gone.text.start });
        }
    }
    for module in new.iter().filter(|module| everything || !old.contains(module)) {
        entered.send(Body::ModuleLoaded(message::Module {
            bias: module.bias,
            start: module.text.start,
            end: module.text.end,
            build_id: &module.build_id,
            path: &module.path,
        }));
    }
}

fn map(modules: &[Loaded]) -> Map {
    let here = refresh as *const () as u64;
    let mut engine = Engine::new();
    let mut text: Vec<Range<u64>> = Vec::with_capacity(modules.len());
    let mut own = 0..0;
    for module in modules {
        engine.add_module(module.framehop_module());
        text.push(module.text.clone());
        if module.text.contains(&here) && !LINKED_IN.load(Ordering::Relaxed) {
            own = module.text.clone();
        }
    }
    text.sort_unstable_by_key(|range| range.start);
    Map::new(engine, text, own)
}

/// The loader's counters in the low half, the session in the high half.
fn loader_state(session: u32) -> u64 {
    u64::from(loaded::counters()) | u64::from(session) << 32
}

/// The modules of now, none of them taken for our own.
#[cfg(test)]
pub(crate) fn map_for_tests() -> Map {
    let mut map = map(&scan());
    map.own = 0..0;
    map
}

#[cfg(test)]
mod tests {
    use lifetrace_agent::backtrace::Backtraces;

    use super::*;

    #[test]
    fn a_walk_over_the_scanned_modules_reaches_the_outermost_frame() {
        let modules = scan();
        engine::prepare();
        engine::publish(map_for_tests());
        let (mut known, mut backtraces) = (0..0, Backtraces::default());
        let end = engine::walk(0, 0, &mut known, &mut backtraces);
        let frames: Vec<u64> = backtraces.delta().fresh.iter().collect();
        assert!(frames.len() > 5 && frames.len() < 200, "{frames:x?}");
        assert_eq!(end, engine::Walk::Complete);
        let libc = modules.iter().find(|module| module.path.ends_with(b"libc.so.6")).unwrap();
        assert!(libc.text.contains(frames.last().unwrap()), "a thread begins in libc");
    }

    /// Every 13th byte of all code that is mapped, taken for a return address, with random words for
    /// a stack: the rule, where there is one, leads where framehop leads.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn rules_do_what_framehop_does() {
        use crate::unwind::engine::Rules;
        use crate::unwind::readable::Readable;
        use crate::unwind::rule::{Caller, Frame, Rule};
        use framehop::FrameAddress;

        let modules = scan();
        let map = map(&modules);
        let mut random = lifetrace_agent::random::Random::new(8, 8);
        let stack: Vec<u64> = (0..1 << 18).map(|_| random.word() >> 17).collect();
        let (start, words) = (stack.as_ptr() as u64, stack.len() as u64);
        let (mut rules, mut known, mut counts) = (Rules::new_in(), 0..0, [0u32; 3]);
        for address in modules.iter().flat_map(|module| module.text.clone().step_by(13)) {
            let Some(code) = FrameAddress::from_return_address(address) else { continue };
            let sp = start + 8 * (words / 4 + random.word() % 1000);
            let frame = Frame { sp, bp: sp + 8 * (random.word() % (words / 2)) };
            let mut registers = crate::unwind::registers::of(address, frame);
            let mut stack = Readable::new(&mut known, sp);
            let Some(rule) = Rule::infer(&map.engine, &mut rules, code) else {
                counts[0] += 1;
                continue;
            };
            let ours = rule.caller(frame, &mut stack);
            let mut read = |address| stack.word(address).ok_or(());
            let theirs = map.engine.unwind_frame(code, &mut registers, &mut rules, &mut read);
            let theirs = match theirs {
                Ok(Some(caller)) => {
                    counts[1] += 1;
                    Caller::At(caller, Frame { sp: registers.sp(), bp: registers.bp() })
                }
                Ok(None) => Caller::None,
                Err(_) => Caller::Unreadable,
            };
            counts[2] += 1;
            assert_eq!(ours, theirs, "{rule:?} at {address:#x}, {frame:x?}");
        }
        let [without, led_on, with] = counts;
        assert!(led_on > 100_000 && with > 20 * without, "{counts:?}");
        std::eprintln!("{with} rules, {without} places without one");
    }
}
