//! What the hooks share. \[UNSAFE\]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::buffer::Buffer;
use lifetrace_agent::guard::Entered;
use lifetrace_agent::random::Random;
use lifetrace_agent::sampler::Rate;
use lifetrace_transport::message::Body;

use crate::capture::Capture;
use crate::collector::Keys;
use crate::numbers::Numbers;
use crate::samples::Samples;
use crate::vm::Vm;
use crate::{countdown, terms};

/// The stream of random numbers by which objects are drawn, apart from those of threads.
const STREAM: u64 = 1 << 33;

/// Frames that the main thread may have where sampling begins, so that its outermost one is found.
const DEEPEST: usize = 1 << 13;

/// Everything that is known of the machine, under its lock.
pub(crate) struct State {
    pub(crate) vm: &'static Vm,
    pub(crate) keys: Keys,
    /// Whose recorder knows the frames, and which session the samples are of; 0 is none.
    session: u32,
    pub(crate) rate: Rate,
    pub(crate) random: Random,
    pub(crate) numbers: Numbers,
    pub(crate) samples: Samples,
    pub(crate) capture: Capture,
    /// Frames without names so far: key and number.
    pub(crate) unnamed: Unnamed,
}

/// Frames whose names are still to be asked for.
pub(crate) struct Unnamed {
    pairs: Buffer,
    count: usize,
}

struct Shared(UnsafeCell<Option<State>>);

// SAFETY: used under the machine's lock.
unsafe impl Sync for Shared {}

static VM: AtomicPtr<Vm> = AtomicPtr::new(core::ptr::null_mut());
static STATE: Shared = Shared(UnsafeCell::new(None));

/// The state; to be asked for anew wherever it is used, once a hook. `None` before [`begin`].
///
/// # Safety
/// The machine's lock is the caller's, which has no other reference.
pub(crate) unsafe fn get<'a>() -> Option<&'a mut State> {
    // SAFETY: by contract.
    unsafe { (*STATE.0.get()).as_mut() }
}

/// The machine. `None` before [`begin`], and after [`end`].
pub(crate) fn vm() -> Option<&'static Vm> {
    // SAFETY: null, or what `begin` was given.
    unsafe { VM.load(Ordering::Acquire).as_ref() }
}

/// The machine is about to end: from now on there is none.
pub(crate) fn end() {
    VM.store(core::ptr::null_mut(), Ordering::Release);
}

/// Sets the state up, and draws the first object that is hit.
///
/// # Safety
/// As [`get`].
pub(crate) unsafe fn begin(vm: &'static Vm, keys: Keys, rate: Rate, seed: u64) {
    let mut state = State {
        vm,
        keys,
        session: 0,
        rate,
        random: Random::new(seed, STREAM),
        numbers: Numbers::new(),
        samples: Samples::new(),
        capture: Capture::new(),
        unnamed: Unnamed::new(),
    };
    countdown::set(state.rate.gap(&mut state.random));
    // SAFETY: by contract.
    unsafe { state.capture.find_outermost(vm, DEEPEST) };
    // SAFETY: by contract.
    unsafe { *STATE.0.get() = Some(state) };
    VM.store(core::ptr::from_ref(vm).cast_mut(), Ordering::Release);
}

impl State {
    /// Draws from now on at this rate.
    pub(crate) fn set_rate(&mut self, rate: Rate, seed: u64) {
        (self.rate, self.random) = (rate, Random::new(seed, STREAM));
        countdown::set(self.rate.gap(&mut self.random));
    }

    /// Sees to it that everything known is known to the session that `at` speaks to.
    pub(crate) fn enter_session(&mut self, at: &mut Entered) {
        if self.session == at.session().number {
            return;
        }
        self.session = at.session().number;
        self.numbers.restart();
        self.samples.clear();
        self.unnamed.clear();
        self.capture.begin_era();
        self.keys.begin_session();
        let version = self.vm.version_text().to_bytes();
        at.send(Body::Runtime { name: terms::NAME, blocks_are_mallocs: false, version });
        // SAFETY: who has the state has the machine's lock.
        unsafe { self.keys.report_counts(self.vm, at) }
    }
}

impl Unnamed {
    const fn new() -> Unnamed {
        Unnamed { pairs: Buffer::new(), count: 0 }
    }

    /// Adds a frame; false if there is no memory.
    pub(crate) fn add(&mut self, key: u64, number: u32) -> bool {
        let at = 2 * self.count;
        let has_room = self.pairs.reserve(at + 2);
        if has_room {
            self.pairs.words_mut()[at..at + 2].copy_from_slice(&[key, number.into()]);
            self.count += 1;
        }
        has_room
    }

    /// Takes the one that was added last.
    pub(crate) fn take(&mut self) -> Option<(u64, u32)> {
        self.count = self.count.checked_sub(1)?;
        let [key, number] = self.pairs.words().as_chunks().0[self.count];
        Some((key, number as u32))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Their keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> {
        self.pairs.words().as_chunks::<2>().0[..self.count].iter().map(|pair| pair[0])
    }

    fn clear(&mut self) {
        self.count = 0;
    }
}
