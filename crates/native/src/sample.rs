//! The life of a sampled block: born, resized, freed. \[UNSAFE\]
//!
//! Everything here is off the fast path. A block is the next allocator's in any case: it is allocated and
//! freed as it would be without us, and never while this thread is in the agent, as the next allocator
//! may be a library that allocates itself, or an operator that throws. So a sample has two steps: the hits
//! are [drawn](draw), and when there is a block, it is [announced](born).
//!
//! Each function enters the agent's guard for as long as it works; where the thread is busy (a signal handler
//! interrupted the agent), what is missed thereby is counted.

use lifetrace_agent::context;
use lifetrace_agent::countdown::Draw;
use lifetrace_agent::guard::{self, Countdown, Entered, Entry};
use lifetrace_agent::phase::{self, Start};
use lifetrace_agent::sampler::{Rate, WORD, footprint, words};
use lifetrace_agent::tls;
use lifetrace_agent::tracker::{Allocation, Tracker};
use lifetrace_transport::message::{AllocationKind, Body, MemoryKind, Place, SampleId, SourceKind};
use lifetrace_transport::segment::LostReason;

use crate::live::{self, Block, Extent, Taken, filter};
use crate::{ends, totals, unwind};

/// No allocator grants more.
const LARGEST: usize = isize::MAX as usize;

/// Observes the samples of an allocator.
pub trait SampleListener {
    /// Starts the agent, or says that this is not the time.
    fn start(&self, start: Start);

    /// The tracker that samples are reported to.
    fn tracker(&self) -> impl Tracker<Metadata = SampleId>;

    /// A sample has died, which can't be reported to the tracker, as the thread can't enter the agent.
    fn died_unreported(&self, sample: SampleId) {
        guard::count_lost_release(sample.0);
    }

    /// Where the agent is a part of the program: frames whose stack pointers are not above this are the
    /// agent's own.
    fn own_stack(&self) -> u64 {
        0
    }
}

/// How often words that are about to be allocated are hit, and in which session.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    draw: Draw,
    session: u32,
}

/// Words of a block, as they are announced.
#[derive(Clone, Copy, Debug)]
struct Birth {
    first: u64,
    words: u64,
    draw: Draw,
    bytes: u64,
}

/// To be called when the countdown went below zero for `size` bytes that the program asks for: whether they
/// are hit.
#[cold]
pub fn draw(listener: &impl SampleListener, size: usize) -> Option<Drawn> {
    let (entered, draw) = hit(listener, size)?;
    Some(Drawn { draw, session: entered.session().number })
}

/// Announces a new block of `size` bytes for which hits were drawn. `mark` is what its allocator says of it
/// now, and will say when it is freed.
#[cold]
pub fn born(
    listener: &impl SampleListener,
    drawn: Drawn,
    address: *mut u8,
    size: usize,
    mark: usize,
) {
    let birth = Birth { first: 0, words: words(size), draw: drawn.draw, bytes: size as u64 };
    begin(listener, drawn, address, Block::new(size, mark), birth);
}

/// Announces words for which hits were drawn, and which a realloc has `added` to a block that was no sample
/// before. It has `size` bytes now.
#[cold]
pub fn grown(
    listener: &impl SampleListener,
    drawn: Drawn,
    address: *mut u8,
    added: u64,
    size: usize,
    mark: usize,
) {
    let birth = growth(words(size).saturating_sub(added), added, drawn.draw);
    begin(listener, drawn, address, Block::new(size, mark), birth);
}

/// Reports memory outside malloc; returns its sample id. To be called when the countdown went below zero for
/// `size` bytes that no allocator sees: if they are a sample, `kind` says what they are, and they have that id until
/// it is given to [`external_freed`].
#[cold]
pub fn external_allocated(
    listener: &impl SampleListener,
    size: usize,
    kind: impl FnOnce(&mut Entered) -> Option<MemoryKind>,
) -> Option<SampleId> {
    let (mut entered, draw) = hit(listener, size)?;
    unwind::capture(&mut entered, listener.own_stack());
    let kind = AllocationKind::Outside(kind(&mut entered)?);
    let (size, samples, source) = (size as u64, draw.hits, SourceKind::Malloc);
    if !entered.count_by(draw.rate) {
        return None;
    }
    listener.tracker().allocated(&mut entered, &Allocation { size, samples, source, kind })
}

/// Reports that memory [outside malloc](external_allocated) is no longer there.
#[cold]
pub fn external_freed(listener: &impl SampleListener, sample: SampleId) {
    match enter_started(listener) {
        Entry::Recording(mut entered) => listener.tracker().freed(&mut entered, sample),
        _ => listener.died_unreported(sample),
    }
}

/// Reports that memory [outside malloc](external_allocated) has moved to where it lives longer.
#[cold]
pub fn external_promoted(listener: &impl SampleListener, sample: SampleId) {
    if let Entry::Recording(mut entered) = enter_started(listener) {
        listener.tracker().promoted(&mut entered, sample);
    }
}

/// To be called before a block that [may be a sample](filter::may_be_sampled) is freed. `mark` is asked for
/// if it is one.
#[cold]
pub fn freed(listener: &impl SampleListener, address: *mut u8, mark: impl FnOnce() -> usize) {
    if let Some(block) = lift(listener, address, mark) {
        ended(listener, block);
    }
}

/// Takes a block that [may be a sample](filter::may_be_sampled) out of the table, before the program resizes
/// it. `None` if it is no sample: also if the free of the sample that was there was not observed,
/// which shows by another `mark`. Then it is reported now, and counted.
#[cold]
pub fn lift(
    listener: &impl SampleListener,
    address: *mut u8,
    mark: impl FnOnce() -> usize,
) -> Option<Block> {
    let block = take(address)?;
    if block.mark == mark() {
        return Some(block);
    }
    if let Entry::Recording(mut entered) = enter_started(listener) {
        end_late(listener, &mut entered, &block);
    }
    None
}

/// A sampled block that was [lifted](lift) has not been resized after all.
#[cold]
pub fn put_back(listener: &impl SampleListener, address: *mut u8, block: Block) {
    enter_table(listener, address, block);
}

/// A sampled block that was [lifted](lift) is no more.
#[cold]
pub fn ended(listener: &impl SampleListener, block: Block) {
    match enter_before_end(listener) {
        Entry::Recording(mut entered) => {
            block.each(|it| release(listener, &mut entered, it.sample))
        }
        _ => block.each(|it| listener.died_unreported(SampleId(it.sample))),
    }
}

/// A sampled block that was [lifted](lift) is at `address` now, and has another size.
#[cold]
pub fn resized(
    listener: &impl SampleListener,
    mut block: Block,
    address: *mut u8,
    size: usize,
    mark: usize,
) {
    let (old_words, new_words) = (words(block.size), words(size));
    (block.size, block.mark) = (size, mark);
    if new_words < old_words {
        shrink(listener, &mut block, new_words);
    } else if new_words > old_words {
        grow(listener, &mut block, old_words, new_words - old_words);
    }
    if !block.is_empty() {
        enter_table(listener, address, block);
    }
}

/// Announces a block of which words were hit, unless the session in which that was drawn is over.
fn begin(
    listener: &impl SampleListener,
    drawn: Drawn,
    address: *mut u8,
    mut block: Block,
    birth: Birth,
) {
    let Entry::Recording(mut entered) = enter_started(listener) else { return };
    if entered.session().number != drawn.session {
        return;
    }
    end_predecessor(listener, &mut entered, address);
    announce(listener, &mut entered, &mut block, birth);
    if !block.is_empty() {
        place(&mut entered, address, &block);
        insert(listener, &mut entered, address, block);
    }
}

/// Says where the block is that samples are a part of, if anybody wants to know.
fn place(entered: &mut Entered, address: *mut u8, block: &Block) {
    if entered.session().header.settings().looks_for_lost == 0 {
        return;
    }
    let place = Place::new(address as u64, block.size as u64);
    block.each(|it| {
        if phase::of_this_session(it.sample) {
            entered.send(Body::Placed { id: SampleId(it.sample), block: place });
        }
    });
}

fn enter_table(listener: &impl SampleListener, address: *mut u8, block: Block) {
    match enter_started(listener) {
        Entry::Recording(mut entered) => {
            end_predecessor(listener, &mut entered, address);
            place(&mut entered, address, &block);
            insert(listener, &mut entered, address, block);
        }
        _ => {
            if let Err(block) = live::insert(address as usize, block, guard::patience()) {
                block.each(|it| listener.died_unreported(SampleId(it.sample)));
            }
        }
    }
}

/// A new block is where a sample was whose death was not reported.
fn end_predecessor(listener: &impl SampleListener, entered: &mut Entered, address: *mut u8) {
    if filter::may_be_sampled(address)
        && let Taken::Block(block) = live::take(address as usize, entered.session().patience())
    {
        end_late(listener, entered, &block);
    }
}

/// Reports a death that came earlier, we don't know when.
fn end_late(listener: &impl SampleListener, entered: &mut Entered, block: &Block) {
    block.each(|it| {
        release(listener, entered, it.sample);
        if phase::of_this_session(it.sample) {
            entered.session().header.count_lost(LostReason::DeathUnobserved);
        }
    });
}

/// A block without an entry would seem to live for ever, so its samples are said to be none.
fn insert(listener: &impl SampleListener, entered: &mut Entered, address: *mut u8, block: Block) {
    if let Err(block) = live::insert(address as usize, block, entered.session().patience()) {
        block.each(|it| release(listener, entered, it.sample));
        entered.session().header.count_lost(LostReason::NoBlockRecord);
    }
}

/// Takes a block out of the table. A signal handler that comes in between finds the thread busy.
fn take(address: *mut u8) -> Option<Block> {
    take_if(address, |_| true)
}

/// Takes a block out of the table, if it is wanted.
pub(crate) fn take_if(address: *mut u8, is_wanted: impl Fn(&Block) -> bool) -> Option<Block> {
    let patience = guard::patience();
    match guard::while_busy(|| live::take_if(address as usize, patience, is_wanted)) {
        Taken::Block(block) => Some(block),
        Taken::None => None,
        Taken::Busy => {
            guard::count_lost(LostReason::Reentrant);
            None
        }
    }
}

fn grow(listener: &impl SampleListener, block: &mut Block, first: u64, added: u64) {
    let bytes = (added * WORD) as usize;
    if !tls::take(bytes) {
        return;
    }
    if let Some((mut entered, draw)) = hit(listener, bytes) {
        announce(listener, &mut entered, block, growth(first, added, draw));
    }
}

/// Ends the extents beyond `kept` words, and announces again what is left of one that is cut.
fn shrink(listener: &impl SampleListener, block: &mut Block, kept: u64) {
    let Entry::Recording(mut entered) = enter_started(listener) else { return };
    let mut cut = None;
    block.retain(|extent| {
        let stays = extent.first + extent.words <= kept;
        if !stays {
            release(listener, &mut entered, extent.sample);
            let is_ours = phase::of_this_session(extent.sample);
            cut = (is_ours && extent.first < kept).then_some(*extent).or(cut);
        }
        stays
    });
    let Some(cut) = cut else { return };
    let words = kept - cut.first;
    let rate = Rate::per_word(cut.rate);
    let hits = rate.thin(&mut entered.random, cut.hits, words, cut.words);
    if hits > 0 {
        let bytes = if cut.first == 0 { block.size as u64 } else { words * WORD };
        let draw = Draw { hits, rate: cut.rate };
        announce(listener, &mut entered, block, Birth { first: cut.first, words, draw, bytes });
    }
}

fn growth(first: u64, words: u64, draw: Draw) -> Birth {
    Birth { first, words, draw, bytes: words * WORD }
}

/// Captures the backtrace, and says that some words of `block` are a sample. If that does not get
/// through, they are none.
#[inline(never)]
fn announce(
    listener: &impl SampleListener,
    entered: &mut Entered,
    block: &mut Block,
    birth: Birth,
) {
    unwind::capture(entered, listener.own_stack());
    context::refresh(entered);
    let Birth { first, words, draw: Draw { hits, rate }, bytes } = birth;
    let allocation = Allocation {
        size: bytes,
        samples: hits,
        source: SourceKind::Malloc,
        kind: if first == 0 { AllocationKind::Plain } else { AllocationKind::Growth },
    };
    if !entered.count_by(rate) {
        return;
    }
    let announced = listener.tracker().allocated(entered, &allocation);
    totals::send_if_due(entered);
    if let Some(SampleId(sample)) = announced
        && !block.attach(Extent { sample, first, words, hits, rate })
    {
        release(listener, entered, sample);
        entered.session().header.count_lost(LostReason::NoBlockRecord);
    }
}

fn release(listener: &impl SampleListener, entered: &mut Entered, sample: u64) {
    listener.tracker().freed(entered, SampleId(sample));
}

/// Enters to report a death, unless it is not the program's doing: where a runtime takes down what it has, the recording is
/// over.
fn enter_before_end(listener: &impl SampleListener) -> Entry {
    match enter_started(listener) {
        Entry::Recording(entered) if context::is_ending() => {
            drop(entered);
            ends::leave_memory();
            ends::say_farewell();
            phase::end();
            Entry::Bypass
        }
        other => other,
    }
}

/// Enters; a forked child that has not looked for the recorder yet does so first.
pub(crate) fn enter_started(listener: &impl SampleListener) -> Entry {
    match guard::enter() {
        Entry::Start(start) => {
            listener.start(start);
            guard::enter()
        }
        other => other,
    }
}

/// Whether the block, or the added words, of `size` bytes are hit; starts the agent if need be.
pub(crate) fn hit(listener: &impl SampleListener, size: usize) -> Option<(Entered, Draw)> {
    if size > LARGEST - 8 {
        tls::set_countdown(tls::countdown().wrapping_add(footprint(size) as i64));
        return None;
    }
    for _ in 0..2 {
        match guard::countdown_ended(words(size)) {
            Countdown::Hit(entered, draw) => return Some((entered, draw)),
            Countdown::Start(start) => listener.start(start),
            Countdown::Pass => return None,
        }
    }
    None
}
