//! Which object files are mapped where. \[UNSAFE\]
//!
//! The dynamic linker's own functions for that (`dl_iterate_phdr`, `dladdr`) wait for its lock. Another thread
//! may have it, and wait for something that this one has: for a lock of the program's that this one holds
//! while it allocates. So they are not called. The modules of the start are read from the dynamic linker's list;
//! they stay for ever. Afterwards, nobody is asked unless a walk meets code that it does not know, and then for
//! the module at that address alone ([`find`]): that one cannot go, as this thread is running in it. It is
//! announced, and a new map published to the unwinder, in this order, so that a frame's module is always
//! announced before the frame.
//!
//! A module that came late may go, and another one be mapped there. So each walk that has met frames of such a
//! module makes sure that it still is what it was ([`late`]); else the walk is taken again.
//!
//! The only lock here is [`REFRESH`]. Its holder waits for nobody but the recorder, and who does not get it
//! after a while makes do with the map there is: then a backtrace ends at code that is not known yet, and is
//! marked as truncated.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use alloc::vec::Vec;
use framehop::Unwinder as _;
use lifetrace_agent::guard::Entered;
use lifetrace_agent::lock::{Held, Lock, Patience};
use lifetrace_agent::tls;
use lifetrace_transport::message::{self, Body};

use crate::unwind::engine;
use crate::unwind::map::{Engine, Map};

mod find;
mod foreign;
pub mod late;
mod loaded;

pub use foreign::find_symbol;

use find::scan;
use late::Late;
use loaded::Loaded;

struct Known(UnsafeCell<Vec<Loaded>>);

// SAFETY: touched under `REFRESH` only.
unsafe impl Sync for Known {}

static REFRESH: Lock = Lock::new();
static KNOWN: Known = Known(UnsafeCell::new(Vec::new()));

/// The session that was last told of all modules.
static TOLD: AtomicU32 = AtomicU32::new(0);

/// Who wants to know that there are modules which were not known.
static LISTENER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// The agent is a part of the program, whose frames are not its own.
static LINKED_IN: AtomicBool = AtomicBool::new(false);

/// To be called at the start, while the process has a single thread.
pub fn prepare() {
    for module in scan().iter().filter(|module| module.late.is_none()) {
        let _ = module.map_tables_again();
    }
}

/// To be called, before the first map is made, where the agent is linked into the program.
pub fn share_with_program() {
    LINKED_IN.store(true, Ordering::Relaxed);
}

/// Has `listener` called from now on when modules have been found that were not known. It runs inside malloc: it must not
/// wait, nor allocate by the program's allocator.
pub fn listen(listener: fn()) {
    LISTENER.store(listener as *mut c_void, Ordering::Release);
}

fn tell_listener() {
    let listener = LISTENER.load(Ordering::Acquire);
    if !listener.is_null() {
        // SAFETY: `listen` stored a function of this type.
        unsafe { core::mem::transmute::<*mut c_void, fn()>(listener)() }
    }
}

/// Sees to it that this session's recorder knows what is known.
pub fn refresh(entered: &mut Entered) {
    let session = entered.session().number;
    if TOLD.load(Ordering::Acquire) == session {
        return;
    }
    with_known(entered.session().patience(), |known| {
        if known.is_empty() {
            *known = scan();
            engine::publish(map(known));
        }
        known.iter().for_each(|module| announce(entered, module));
        TOLD.store(session, Ordering::Release);
    });
    tell_listener();
}

/// To be called when there is code at `address` that is in no known module, or in one that is gone; whether
/// more is known now, so that it pays to walk again.
pub fn learn(entered: &mut Entered, address: u64) -> bool {
    // What returns there may be the last of its function, and of its module.
    let code = address.wrapping_sub(1);
    let is_news = with_known(entered.session().patience(), |known| {
        let at_code = known.iter().find(|module| module.text.contains(&code));
        // Another thread may have been faster.
        if at_code.is_some_and(|it| it.late.as_ref().is_none_or(Late::is_around_us)) {
            return true;
        }
        let found = find::at(code).filter(|found| found.text.contains(&code));
        let is_news = at_code.is_some() || found.is_some();
        if is_news {
            forget_gone(entered, known, found.as_ref());
            found.iter().for_each(|found| announce(entered, found));
            known.extend(found);
            engine::publish(map(known));
        }
        is_news
    })
    .unwrap_or(false);
    if is_news {
        tell_listener();
    }
    is_news
}

/// Sees to it that the recorder knows which module has the code that returns to `address`.
pub fn announce_at(entered: &mut Entered, address: u64) {
    refresh(entered);
    learn(entered, address);
}

/// Does `work` with what is known; `None` if another thread has it for longer than the patience.
fn with_known<T>(patience: Patience, work: impl FnOnce(&mut Vec<Loaded>) -> T) -> Option<T> {
    let _held = REFRESH.acquire(patience)?;
    // SAFETY: under the lock.
    let known = unsafe { &mut *KNOWN.0.get() };
    Some(tls::aside(|| work(known)))
}

/// Holds the list still, for a fork.
pub fn freeze() -> Option<Held<'static>> {
    REFRESH.acquire(Patience::Short)
}

/// Ends the hold on the list, whose holder was forgotten or is not in this process.
pub fn thaw() {
    REFRESH.reset();
}

/// Whether all of these bytes are code of one module. To be called while the process has a single thread.
pub fn is_code(bytes: &Range<u64>) -> bool {
    let is_there = |text: &Range<u64>| text.start <= bytes.start && bytes.end <= text.end;
    scan().iter().any(|module| is_there(&module.text))
}

/// Forgets modules that are not there any more, or where `found` is.
fn forget_gone(entered: &mut Entered, known: &mut Vec<Loaded>, found: Option<&Loaded>) {
    known.retain(|module| {
        let is_there = module.late.as_ref().is_none_or(Late::is_there);
        let is_apart = found.is_none_or(|found| {
            module.text.end <= found.text.start || found.text.end <= module.text.start
        });
        let stays = is_there && is_apart;
        if !stays {
            entered.send(Body::ModuleUnloaded { start: module.text.start });
        }
        stays
    });
}

fn announce(entered: &mut Entered, module: &Loaded) {
    entered.send(Body::ModuleLoaded(message::Module {
        bias: module.bias,
        start: module.text.start,
        end: module.text.end,
        build_id: &module.build_id,
        path: &module.path,
    }));
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
    Map::new(engine, text, own, modules.iter().filter_map(|module| module.late.clone()).collect())
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
        let end = engine::walk(0, Patience::Short, 0, &mut known, &mut backtraces);
        let frames: Vec<u64> = backtraces.delta().fresh.iter().collect();
        assert!(frames.len() > 5 && frames.len() < 200, "{frames:x?}");
        assert_eq!(end, crate::unwind::walker::Walk::Complete);
        let libc = modules.iter().find(|module| module.path.ends_with(b"libc.so.6")).unwrap();
        assert!(libc.text.contains(frames.last().unwrap()), "a thread begins in libc");
    }

    /// Every 13th byte of all code that is mapped, taken for a return address, with random words for
    /// a stack: the rule, where there is one, leads where framehop leads.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn rules_do_what_framehop_does() {
        use crate::unwind::frame_registers::FrameRegisters;
        use crate::unwind::map::Rules;
        use crate::unwind::readable::Readable;
        use crate::unwind::rule::{Caller, Rule};
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
            let frame = FrameRegisters { sp, bp: sp + 8 * (random.word() % (words / 2)) };
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
                    Caller::At(caller, FrameRegisters { sp: registers.sp(), bp: registers.bp() })
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
