//! Blocks that are hit. \[UNSAFE\]
//!
//! The thunks come here in place of the runtime's functions, with their arguments.

use core::ffi::{c_int, c_void};

use lifetrace_agent::guard::{self, Entered};
use lifetrace_agent::sampler::Rate;
use lifetrace_agent::tracker::{Allocation, Tracker, Word};
use lifetrace_transport::message::{AllocationKind, SourceKind};
use lifetrace_transport::segment::LostReason;

use super::descent::Descent;
use super::minor_heap::{WORD, words_of};
use super::sites::Lengths;
use super::{Memprof, is_in_place, serves, watch};
use crate::entry::{self, TRACKER};
use crate::runtime::{self, Runtime};
use crate::{callstacks, host, thunks, yielding};

/// What the runtime is to do next, with these arguments.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Onward {
    function: *const c_void,
    arguments: [usize; 4],
}

/// What is placed in the minor heap.
#[derive(Clone, Copy)]
enum Placed<'a> {
    /// By OCaml code.
    Combined(Lengths<'a>),
    /// By C code, of so many words with its header.
    Single(u64),
}

/// A block that is hit.
struct Birth {
    place: u64,
    allocation: Allocation,
    /// Which one it is of those that OCaml code allocates together.
    index: Option<u32>,
    is_young: bool,
}

/// `caml_garbage_collection`, where OCaml code has placed blocks at a sample and there is nothing else to do. It runs
/// on the program's stack, if that has room.
///
/// # Safety
/// The runtime's contract.
pub(crate) unsafe extern "C" fn sample_here() {
    let Some(this) = this() else { return };
    match guard::try_enter_fast().filter(is_for_us) {
        Some(mut entered) => {
            sample_entered(&mut entered, this, this.1.lengths());
        }
        // SAFETY: does what this function does, on another stack.
        None => unsafe { thunks::SAMPLE_ON_OWN_STACK() },
    }
}

/// Samples the blocks that OCaml code has placed, as [`sample_here`] does, on the agent's stack.
///
/// # Safety
/// The runtime's contract.
pub(crate) unsafe extern "C" fn sample_on_own_stack() {
    if let Some(this) = this() {
        sample(this, Placed::Combined(this.1.lengths()));
    }
}

/// `caml_garbage_collection`, in all other cases: what the runtime is to do.
///
/// # Safety
/// The runtime's contract; `onward` is written.
pub(crate) unsafe extern "C" fn collect_garbage(onward: *mut Onward) {
    let next = this().map_or(Onward::NOTHING, |(_, memprof)| Onward::of(memprof));
    // SAFETY: by contract.
    unsafe { onward.write(next) };
}

/// `caml_memprof_track_young`: blocks have been placed at the next sample, by OCaml code or by C code.
///
/// # Safety
/// The runtime's contract.
pub(crate) unsafe extern "C" fn track_young(
    fields: usize,
    from_caml: c_int,
    count: c_int,
    lengths: *const u8,
) {
    let Some(this) = this() else { return };
    let placed = if from_caml == 0 || lengths.is_null() {
        Placed::Single(fields as u64 + 1)
    } else {
        // SAFETY: by contract.
        let lengths = unsafe { core::slice::from_raw_parts(lengths, count as usize) };
        Placed::Combined(Lengths::Many(lengths))
    };
    sample(this, placed);
}

/// `caml_memprof_renew_minor_sample`: the minor heap was emptied, or blocks that are not to be sampled have been
/// placed at the next sample.
///
/// # Safety
/// The runtime's contract.
pub(crate) unsafe extern "C" fn renew_minor_sample() {
    if let Some((_, memprof)) = this() {
        renew(memprof);
    }
}

/// `caml_memprof_track_alloc_shr`: a block of the major heap.
///
/// # Safety
/// The runtime's contract: it has its header.
pub(crate) unsafe extern "C" fn track_major(block: u64) {
    // SAFETY: by contract.
    let words = unsafe { words_of(block) };
    let samples = watch().draws.take(words);
    if samples > 0
        && let Some(this) = this()
    {
        let (source, kind) = (SourceKind::Major, AllocationKind::Plain);
        let allocation = Allocation { size: (words - 1) * WORD, samples, source, kind };
        found(this, Birth { place: block, allocation, index: None, is_young: false });
    }
}

/// `caml_memprof_track_custom`: a block, of either heap, stands for so many bytes elsewhere.
///
/// # Safety
/// The runtime's contract.
pub(crate) unsafe extern "C" fn track_custom(block: u64, bytes: u64) {
    if !host::samples_custom() {
        return;
    }
    let words = bytes.div_ceil(WORD);
    let samples = watch().draws.take(words);
    if samples > 0
        && let Some(this) = this()
    {
        let (source, kind) = (SourceKind::External, AllocationKind::Plain);
        let allocation = Allocation { size: words * WORD, samples, source, kind };
        let is_young = this.1.heap.has(block);
        found(this, Birth { place: block, allocation, index: None, is_young });
    }
}

/// `caml_memprof_track_interned`: blocks that Marshal has built, one after the other.
///
/// # Safety
/// The runtime's contract: they have their headers, and lie from `start` to `end`.
pub(crate) unsafe extern "C" fn track_interned(start: u64, end: u64) {
    let Some(this) = this() else { return };
    if watch().draws.pass((end - start) / WORD) {
        return;
    }
    let is_young = this.1.heap.has(start + WORD);
    let source = if is_young { SourceKind::Minor } else { SourceKind::Major };
    let mut block = start + WORD;
    while block < end {
        // SAFETY: by contract.
        let words = unsafe { words_of(block) };
        let samples = watch().draws.take(words);
        if samples > 0 {
            let size = (words - 1) * WORD;
            let allocation =
                Allocation { size, samples, source, kind: AllocationKind::Deserialised };
            found(this, Birth { place: block, allocation, index: None, is_young });
        }
        block += words * WORD;
    }
}

/// The runtime, and what of it is needed to take its place.
type This = (&'static Runtime, &'static Memprof);

fn this() -> Option<This> {
    let runtime = runtime::get()?;
    Some((runtime, runtime.memprof.as_ref()?))
}

/// Samples at this rate from now on, for the session with this number alone: where the runtime's functions are ours already,
/// or are about to be.
pub(crate) fn serve(session: u32, rate_per_word: f64) {
    watch().draws.begin(Rate::per_word(rate_per_word));
    watch().session = session;
    if is_in_place()
        && let Some((_, memprof)) = this()
    {
        renew(memprof);
    }
}

/// Draws where the next sample of the minor heap is.
fn renew(memprof: &Memprof) {
    memprof.heap.hit_next(-(watch().draws.gap() as i64));
}

#[inline(never)]
fn found(this: This, birth: Birth) {
    if let Some(mut entered) = enter(this.0) {
        announce_apart(&mut entered, this, birth);
    }
}

/// The next sample is among what was placed last in the minor heap.
#[inline(never)]
fn sample(this: This, placed: Placed<'_>) {
    let (runtime, memprof) = this;
    match (enter(runtime), placed) {
        (Some(mut entered), Placed::Combined(lengths)) => {
            sample_entered(&mut entered, this, lengths);
        }
        (Some(mut entered), Placed::Single(words)) => sample_single(&mut entered, this, words),
        // If that has ended our sampling, the runtime has none to be drawn.
        (None, _) if is_in_place() => renew(memprof),
        (None, _) => {}
    }
}

/// Mostly one of the blocks is hit. It is told of when all have been gone through, so that the one function that such a
/// sample passes has little to keep meanwhile.
#[inline(always)]
fn sample_entered(entered: &mut Entered, this: This, lengths: Lengths<'_>) {
    let heap = this.1.heap;
    let bottom = heap.pointer();
    let mut descent = Descent { below: lengths.words(), hit: heap.hit() };
    let mut last = None;
    for (index, words) in lengths.downwards() {
        let samples = descent.pass(words, &mut watch().draws);
        if samples > 0 {
            let place = bottom + (descent.below + 1) * WORD;
            let birth = Birth::young(place, words, samples, Some(index));
            if let Some(before) = last.replace(birth) {
                announce_apart(entered, this, before);
            }
        }
    }
    heap.hit_next(descent.hit);
    if let Some(birth) = last {
        announce(entered, this, birth);
    }
}

/// Samples one block of so many words, which C code has placed.
#[inline(never)]
fn sample_single(entered: &mut Entered, this: This, words: u64) {
    let heap = this.1.heap;
    let mut descent = Descent { below: words, hit: heap.hit() };
    let samples = descent.pass(words, &mut watch().draws);
    heap.hit_next(descent.hit);
    if samples > 0 {
        let birth = Birth::young(heap.pointer() + WORD, words, samples, None);
        announce_apart(entered, this, birth);
    }
}

/// Enters the agent to report a block; `None` if it is not to be reported.
#[inline(always)]
fn enter(runtime: &Runtime) -> Option<Entered> {
    let entered = entry::enter();
    if entered.is_none() {
        guard::count_lost_birth();
        yielding::end_if_off(runtime);
    }
    entered.filter(is_for_us)
}

/// Whether what is drawn now is of this session, which wants it.
#[inline(always)]
fn is_for_us(entered: &Entered) -> bool {
    !entered.session().header.paused() && serves(entered.session())
}

#[inline(never)]
fn announce_apart(entered: &mut Entered, this: This, birth: Birth) {
    announce(entered, this, birth);
}

#[inline(always)]
fn announce(entered: &mut Entered, (runtime, memprof): This, birth: Birth) {
    let Birth { place, allocation, index, is_young } = birth;
    if !watch().lives.reserve() {
        return entered.session().header.count_lost(LostReason::NoFrameRecord);
    }
    if !callstacks::walk_to_tell(entered, runtime, memprof, index) {
        return;
    }
    if let Some(metadata) = TRACKER.allocated(entered, &allocation) {
        watch().lives.add(place, metadata.to_word(), is_young);
    }
}

impl Memprof {
    /// Of the code that has called `caml_garbage_collection`.
    #[inline(always)]
    fn lengths(&self) -> Lengths<'static> {
        watch().sites.lengths(self.heap.stack_state().code, &self.descriptors)
    }
}

impl Onward {
    const NOTHING: Onward = Onward { function: core::ptr::null(), arguments: [0; 4] };

    /// What `caml_garbage_collection` does: `caml_alloc_small_dispatch(fields, CAML_DO_TRACK | CAML_FROM_CAML, count,
    /// lengths)`, or, if nothing is allocated, `caml_process_pending_actions()`.
    fn of(memprof: &Memprof) -> Onward {
        const TRACKED_AND_FROM_CAML: usize = 1 | 2;
        let lengths = memprof.descriptors.allocations(memprof.heap.stack_state().code);
        if lengths.is_empty() {
            return Onward { function: memprof.poll, arguments: [0; 4] };
        }
        let fields = Lengths::Many(lengths).words() as usize - 1;
        let arguments = [fields, TRACKED_AND_FROM_CAML, lengths.len(), lengths.as_ptr() as usize];
        Onward { function: memprof.allocate, arguments }
    }
}

impl Birth {
    /// In the minor heap.
    #[inline(always)]
    fn young(place: u64, words: u64, samples: u64, index: Option<u32>) -> Birth {
        let (source, kind) = (SourceKind::Minor, AllocationKind::Plain);
        let allocation = Allocation { size: (words - 1) * WORD, samples, source, kind };
        Birth { place, allocation, index, is_young: true }
    }
}
