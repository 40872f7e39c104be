//! A snapshot of OCaml's heap, taken by a forked child. \[UNSAFE\]
//!
//! No collection is needed: the child walks for itself from the roots, which the runtime tells of, and so finds what lives,
//! to the block. What each version has where is in [`heap`] and [`roots`]; the walk itself is the
//! [agent's](lifetrace_agent::snapshot).
//!
//! # When
//!
//! OCaml 4 calls a hook at the end of each collection of its young heap: that is empty then, the program's stack is known,
//! and nobody else holds the lock. In OCaml 5 the hook comes when other domains may run again; so all are stopped as the
//! runtime stops them for its own purposes, from within a callback of the sampler's, where C code may do that.
//! A program that waits comes to neither: one of its threads is sent ([`waiting`]). One that computes without allocating
//! is nudged to begin a slice of a collection of the old heap, where OCaml 4.13 and 4.14 look for wishes as well.

mod asking;
mod custom;
mod ephemerons;
mod fibers;
mod five;
mod four;
mod heap;
mod holder;
mod library;
mod ring;
mod roots;
mod stacks;
mod waiting;

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lifetrace_agent::snapshot::marks::{Marks, NoMemory};
use lifetrace_agent::snapshot::walk::{Block, Walk};
use lifetrace_agent::snapshot::{self, is_wanted};
use lifetrace_agent::sys;
use lifetrace_transport::message::Body;
use lifetrace_transport::snapshot::{Answer, Standing, Taken};
use lifetrace_transport::stream::{Form, FramePlace};

use crate::counters;
use crate::debug_info::{MOST_LOCATIONS, Reader, SourceLocation};
use crate::entry;
use crate::memprof;
use crate::runtime::Runtime;
use crate::stopped;
use crate::symbols::{Finder, Symbols, typed};
use crate::terms;
use crate::version::Version;
use custom::Bigarray;
use ephemerons::Ephemerons;
use heap::{Heap, Word};
use holder::{Frame, Holder, MOST_CATEGORY};
use roots::Roots;
pub(crate) use waiting::follow;

/// All that a walk needs to know.
#[derive(Clone, Debug)]
struct Source {
    heap: Heap,
    roots: Roots,
    debug_info: Reader,
    /// OCaml 4's list of ephemerons.
    ephemerons: *const u64,
}

/// Major collections when the last snapshot was taken for their sake.
static COLLECTIONS: AtomicU64 = AtomicU64::new(0);

/// Whether somebody knows that one could not be taken.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Why a snapshot is taken.
#[derive(Clone, Copy, Debug)]
enum Why {
    Asked,
    Unasked(Taken),
}

/// Takes the snapshot that the recorder waits for, if it does: to be called under OCaml 4 at the end of a collection of
/// the young heap.
#[inline]
pub(crate) fn after_minor_collection(runtime: &Runtime) {
    if let Some(why) = wanted(runtime) {
        // SAFETY: called then.
        unsafe { take(why, runtime.version, runtime.symbol, &[]) }
    }
}

/// Takes the snapshot that somebody asks for, if anybody does: to be called under OCaml 4 before a slice of a collection
/// of the old heap, when the heap is whole, and young blocks are as old ones.
pub(crate) fn if_asked(runtime: &Runtime) {
    if is_wanted() {
        // SAFETY: called then.
        unsafe { take(Why::Asked, runtime.version, runtime.symbol, &[]) }
    }
}

/// Takes the snapshot that the recorder waits for, if it does: to be called under OCaml 5 where a callback of the sampler's
/// ends.
#[inline]
pub(crate) fn in_callback(runtime: &Runtime) {
    if let Some(why) = wanted(runtime) {
        take_of_all_domains(why, runtime);
    }
}

/// Takes the snapshot that somebody asks for, if anybody does and all domains can be stopped: to be called by C code that
/// OCaml code has called, whose stack and heap are as they are for a collection.
pub(crate) fn in_call(runtime: &Runtime) {
    if !is_wanted() {
        return;
    }
    match runtime.version.has_fibers() {
        true => drop(take_of_all_domains(Why::Asked, runtime)),
        // SAFETY: called then.
        false => unsafe { take(Why::Asked, runtime.version, runtime.symbol, &[]) },
    }
}

/// Takes the snapshot that is wanted at the program's end, if it is: to be called in its exit handlers.
pub(crate) fn at_exit(runtime: &Runtime) {
    let taken = snapshot::standing().and_then(Standing::at_exit);
    let Some(why) = taken.map(Why::Unasked).filter(|_| counters::are_readable(runtime)) else {
        return;
    };
    match runtime.version.has_fibers() {
        true if !take_at_last(why, runtime) => tell_unasked(why, terms::NO_SNAPSHOT_STOP),
        true => {}
        // SAFETY: `exit` is called by OCaml code, whose stack and heap are as they are in any call of C.
        false => unsafe { take(why, runtime.version, runtime.symbol, &[]) },
    }
}

/// There is no other time.
fn take_at_last(why: Why, runtime: &Runtime) -> bool {
    const TRIES: usize = 100;
    (0..TRIES).any(|_| take_of_all_domains(why, runtime))
}

/// Whether `symbol` finds all that one needs.
#[cfg(test)]
pub(crate) fn can_be_taken(version: Version, symbol: &Symbols<'_>) -> bool {
    let can_stop = !version.has_fibers() || stopped::run_on_all(symbol).is_some();
    can_stop && Source::find(version, symbol).is_some()
}

fn wanted(runtime: &Runtime) -> Option<Why> {
    if is_wanted() {
        return Some(Why::Asked);
    }
    let (every, taken) = snapshot::standing()?.after_collections()?;
    let now = counters::read(runtime)?.major_collections?;
    let last = COLLECTIONS.load(Ordering::Relaxed);
    (now.wrapping_sub(last) >= every).then(|| {
        COLLECTIONS.store(now, Ordering::Relaxed);
        Why::Unasked(taken)
    })
}

/// Whether all domains could be stopped for it.
fn take_of_all_domains(why: Why, runtime: &Runtime) -> bool {
    let (version, symbol) = (runtime.version, runtime.symbol);
    // SAFETY: all domains are stopped.
    let work = |domains: &[*const u64]| unsafe { take(why, version, symbol, domains) };
    stopped::with_all_domains(&symbol, work)
}

/// Tells, once, that what was wanted without being asked for could not be taken.
fn tell_unasked(why: Why, code: &'static [u8]) {
    if matches!(why, Why::Unasked(_))
        && !IS_TOLD.swap(true, Ordering::Relaxed)
        && let Some(mut entered) = entry::enter()
    {
        entered.send(Body::Notice { code });
    }
}

/// # Safety
/// The heap is whole, and nobody changes it meanwhile; `domains` are the states of all, in OCaml 5.
unsafe fn take(why: Why, version: Version, symbol: Finder, domains: &[*const u64]) {
    let Some(mut source) = Source::find(version, &symbol) else {
        tell_unasked(why, terms::NO_SNAPSHOT_ROOTS);
        return snapshot::refuse(Answer::UnknownRuntime);
    };
    // SAFETY: what the child does takes no lock and allocates nothing.
    unsafe {
        match why {
            Why::Asked => snapshot::take(|walk| source.tell(domains, walk)),
            Why::Unasked(taken) => {
                if !snapshot::take_unasked(taken, |walk| source.tell(domains, walk)) {
                    tell_unasked(why, terms::NO_SNAPSHOT_CHILD);
                }
            }
        }
    }
}

impl Source {
    fn find(version: Version, symbol: &Symbols<'_>) -> Option<Source> {
        let heap = Heap::of(version, symbol)?;
        let roots = Roots::of(version, symbol)?;
        let ephemerons = match version.has_fibers() {
            true => core::ptr::null(),
            // SAFETY: a variable of that type.
            false => unsafe { typed(symbol, c"caml_ephe_list_head").ok()? },
        };
        let debug_info = Reader::of(version, symbol).ok()?;
        Some(Source { heap, roots, debug_info, ephemerons })
    }

    /// In the child.
    ///
    /// # Safety
    /// As [`take`].
    unsafe fn tell(&mut self, domains: &[*const u64], walk: &mut Walk<'_>) {
        self.heap.remember_regions(walk.budget());
        // SAFETY: by contract.
        let told = unsafe { self.try_to_tell(domains, walk) };
        if told.is_err() {
            walk.give_up();
        }
    }

    /// # Safety
    /// As [`take`].
    unsafe fn try_to_tell(
        &self,
        domains: &[*const u64],
        walk: &mut Walk<'_>,
    ) -> Result<(), NoMemory> {
        // SAFETY: by contract.
        unsafe {
            let ephemerons = self.ephemerons(domains, walk)?;
            self.tell_roots(domains, walk)?;
            self.tell_samples(domains, walk);
            let mut proxies = Marks::new(walk.budget());
            while let Some(block) = walk.next_block() {
                self.look_ahead(walk);
                self.tell_block(block, &ephemerons, &mut proxies, walk)?;
            }
        }
        Ok(())
    }

    /// A heap is larger than a processor's caches, and blocks are met in no order of their places: most of a walk would be
    /// waiting for memory. So what is told of soon is fetched in the meantime, in two steps: the block, then what it
    /// refers to.
    ///
    /// # Safety
    /// As [`take`].
    #[inline]
    unsafe fn look_ahead(&self, walk: &Walk<'_>) {
        const BLOCK: usize = 24;
        const REFERENCES: usize = 12;
        if let Some(block) = walk.peek(BLOCK) {
            sys::prefetch(block - 8);
        }
        if let Some(block) = walk.peek(REFERENCES) {
            // SAFETY: by contract.
            unsafe { self.heap.prefetch_references(block, walk) };
        }
    }

    /// # Safety
    /// As [`take`].
    unsafe fn ephemerons<'a>(
        &self,
        domains: &[*const u64],
        walk: &Walk<'a>,
    ) -> Result<Ephemerons<'a>, NoMemory> {
        // SAFETY: by contract.
        unsafe {
            let of_four = self.ephemerons.as_ref().copied();
            let of_five = domains.iter().flat_map(|&domain| self.roots.ephemerons_of(domain));
            let lists = of_four.into_iter().chain(of_five);
            let mut ephemerons = Ephemerons::of(lists, &self.heap, walk.budget())?;
            let roots = |reach: &mut dyn FnMut(u64)| {
                self.roots.each(domains, &mut |_, _, word| {
                    if let Word::Block(block) = self.heap.word(word) {
                        reach(block);
                    }
                });
            };
            let references = |block, reach: &mut dyn FnMut(u64)| self.each_reference(block, reach);
            ephemerons.find_living(&self.heap, walk.budget(), roots, references)?;
            Ok(ephemerons)
        }
    }

    /// # Safety
    /// As [`take`].
    unsafe fn each_reference(&self, block: u64, reach: &mut dyn FnMut(u64)) {
        let mut reach_word = |word| {
            // SAFETY: by contract.
            if let Word::Block(block) = unsafe { self.heap.word(word) } {
                reach(block);
            }
        };
        // SAFETY: by contract.
        unsafe {
            self.heap.fields(block).iter().for_each(|&word| reach_word(word));
            if self.heap.block(block).form == Form::Continuation {
                self.roots.of_fiber(block, &mut |_, _, word| reach_word(word));
            }
        }
    }

    /// # Safety
    /// As [`take`].
    unsafe fn tell_roots(
        &self,
        domains: &[*const u64],
        walk: &mut Walk<'_>,
    ) -> Result<(), NoMemory> {
        let mut slots = Marks::new(walk.budget());
        let (mut last, mut result) = (None, Ok(()));
        let mut told = |holder: Holder, slot: u64, word: u64| {
            // SAFETY: by contract.
            let Word::Block(block) = (unsafe { self.heap.word(word) }) else { return };
            match slots.insert(slot) {
                Ok(true) => {
                    let of_stack = Holder { frame: None, ..holder };
                    if last.replace(of_stack) != Some(of_stack) {
                        walk.category(of_stack.name(&mut [0; MOST_CATEGORY]));
                    }
                    let frame = holder.frame.map(|frame| self.frame(frame, walk));
                    walk.root_of_frame(frame, slot, block);
                }
                Ok(false) => {}
                Err(error) => result = Err(error),
            }
        };
        // SAFETY: by contract.
        unsafe { self.roots.each(domains, &mut told) };
        result
    }

    /// The number of a frame. Where others are inlined there, it is told as the function that they are inlined into.
    fn frame(&self, Frame { code, slot }: Frame, walk: &mut Walk<'_>) -> u64 {
        walk.frame(code, || {
            let SourceLocation { file, function, line, .. } = self.location(slot);
            FramePlace { code, line: line.into(), function, file }
        })
    }

    /// Of the function that all others are inlined into.
    fn location(&self, slot: u64) -> SourceLocation {
        let mut locations = [SourceLocation::default(); MOST_LOCATIONS];
        let count = self.debug_info.locations(slot, &mut locations);
        count.checked_sub(1).map_or(SourceLocation::default(), |at| locations[at])
    }

    /// # Safety
    /// As [`take`].
    unsafe fn tell_samples(&self, domains: &[*const u64], walk: &mut Walk<'_>) {
        if memprof::took_over() {
            return memprof::each_living(|id, block| walk.sample(id, block));
        }
        let mut sample = |metadata: u64, word| {
            // SAFETY: by contract.
            if let (1, Word::Block(block)) = (metadata & 1, unsafe { self.heap.word(word) }) {
                walk.sample(metadata >> 1, block);
            }
        };
        // SAFETY: by contract.
        unsafe { self.roots.each_sample(domains, &mut sample) };
    }

    /// # Safety
    /// As [`take`].
    unsafe fn tell_block(
        &self,
        address: u64,
        ephemerons: &Ephemerons<'_>,
        proxies: &mut Marks<'_>,
        walk: &mut Walk<'_>,
    ) -> Result<(), NoMemory> {
        // SAFETY: by contract.
        unsafe {
            let mut block = self.heap.block(address);
            let mut name: &[u8] = b"";
            match block.form {
                Form::Custom => block.outside = self.outside(&block, proxies)?,
                Form::Abstract if ephemerons.contains(address) => block.form = Form::Ephemeron,
                Form::Continuation => {
                    if let Some(Frame { code, slot }) = self.roots.frame_of_fiber(address) {
                        (block.word, name) = (code, self.location(slot).function);
                    }
                }
                _ => {}
            }
            walk.begin(&block, || if name.is_empty() { self.heap.name(&block) } else { name });
            match block.form {
                Form::Ephemeron => self.tell_ephemeron(address, ephemerons, walk),
                Form::Continuation => {
                    self.roots.of_fiber(address, &mut |_, _, word| self.tell_word(word, walk));
                }
                _ => self.tell_fields(address, walk),
            }
        }
        walk.end_of_fields();
        Ok(())
    }

    /// # Safety
    /// As [`take`].
    #[inline]
    unsafe fn tell_fields(&self, address: u64, walk: &mut Walk<'_>) {
        // SAFETY: by contract.
        unsafe {
            for _ in 0..self.heap.skipped(address) {
                walk.value();
            }
            for &word in self.heap.fields(address) {
                self.tell_word(word, walk);
            }
        }
    }

    /// # Safety
    /// As [`take`].
    #[inline]
    unsafe fn tell_word(&self, word: u64, walk: &mut Walk<'_>) {
        // SAFETY: by contract.
        match unsafe { self.heap.word(word) } {
            Word::Value => walk.value(),
            Word::Outside => walk.refer_outside(),
            Word::Block(block) => walk.refer_to(block),
        }
    }

    /// # Safety
    /// As [`take`].
    unsafe fn tell_ephemeron(
        &self,
        address: u64,
        ephemerons: &Ephemerons<'_>,
        walk: &mut Walk<'_>,
    ) {
        // Its link to the next one is none of its own.
        walk.value();
        // SAFETY: by contract.
        if let Some(Word::Block(data)) = unsafe { ephemerons.data(&self.heap, address) } {
            walk.refer_to(data);
        }
    }

    /// # Safety
    /// As [`take`].
    unsafe fn outside(&self, block: &Block, proxies: &mut Marks<'_>) -> Result<u64, NoMemory> {
        // SAFETY: by contract.
        Ok(match unsafe { self.heap.outside(block) } {
            Some(Bigarray::Own(bytes)) => bytes,
            Some(Bigarray::Shared { proxy, bytes }) if proxies.insert(proxy)? => bytes,
            _ => 0,
        })
    }
}
