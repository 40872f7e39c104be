//! Which sampled blocks are *lost*: nothing points to them any more, so nobody can free them.
//!
//! ```text
//! where samples are ─▶ stop all threads ─▶ registers, memory ─▶ let go ─▶ for each sample: lost, or by whom it is held
//! ```
//!
//! A process is stopped, and what it has in its memory and its registers is taken for pointers wherever it may be one.
//! What is found thereby to be lost is a leak, whatever becomes of the program. That something is held says less: the
//! pointer may be one that nobody will use again.
//!
//! - [`mod@regions`]: which parts of memory are looked through.
//! - [`blocks`]: whether a word points to a sample.
//! - [`scan`]: what points to whom; [`kernel`]: what the kernel will point to.
//! - [`globals`]: names of variables.

mod blocks;
mod globals;
mod kernel;
mod memory;
pub(crate) mod pages;
mod regions;
mod scan;

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lifetrace_transport::message::{MonotonicNanos, SampleId};
use rustc_hash::FxHashMap;
use rustix::process::Pid;

pub(crate) use blocks::Candidate;
use blocks::{Blocks, Index};
use globals::Globals;
use regions::{Standing, regions};
use scan::{Pointer, Scan};

use crate::clock::monotonic_now;
use crate::maps::{self, Mapping};
use crate::stop::{StopError, Stopped};

/// What the main thread is called.
const MAIN_THREAD: &str = "main";

/// Why nothing is known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    #[error(transparent)]
    Stop(#[from] StopError),
    #[error("its memory cannot be read: {0}")]
    Memory(#[from] io::Error),
    #[error("none of its memory can be read")]
    Unreadable,
    #[error("the look has failed")]
    Failed,
}

/// What has been found.
#[derive(Debug)]
pub(crate) struct Found {
    /// When the process stood still.
    pub(crate) time: MonotonicNanos,
    /// For how long.
    pub(crate) stopped: Duration,
    /// What was read of its memory.
    pub(crate) bytes: u64,
    pub(crate) verdicts: Vec<(Candidate, Verdict)>,
}

/// What is known of a sample.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// Nothing points to its block.
    Lost,
    /// Nothing but blocks that are lost themselves.
    LostWithOthers,
    /// Something does.
    Held(Holder),
}

/// What points to a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Holder {
    /// A variable, by its name.
    Global(Arc<str>),
    /// Another sampled block.
    Sample(SampleId),
    /// The kernel, which gives the pointer back with an event.
    Kernel,
    /// The stack or the registers of a thread, by its name.
    Thread(Arc<str>),
    /// Memory that is mapped from this file, or shared.
    File(Arc<str>),
    /// Memory of which no more is known.
    Heap,
}

/// Stops a process and looks through its memory for pointers to the candidates. `before_going_on` is called before it
/// is let go. To be called on a thread that ends afterwards: so nothing stays stopped, whatever happens.
///
/// # Errors
/// [`LookError`].
pub(crate) fn look(
    process: Pid,
    candidates: Vec<Candidate>,
    before_going_on: impl Fn(),
) -> Result<Found, LookError> {
    let blocks = Blocks::new(candidates.clone());
    let begun = Instant::now();
    let stopped = Stopped::stop(process)?;
    let time = monotonic_now();
    // The main thread may have ended, and with it what can be asked by its number.
    let thread = stopped.threads().find(|&thread| thread == process);
    let living = thread.or_else(|| stopped.threads().next()).unwrap_or(process);
    let maps = maps::read(Path::new(&format!("/proc/{}", living.as_raw_nonzero())))?;
    let globals = Globals::of(living, &maps);
    let mut scan = Scan::new(living, &blocks)?;
    scan_all(living, &stopped, &maps, &blocks, &mut scan)?;
    if scan.bytes() == 0 {
        return Err(LookError::Unreadable);
    }
    let threads = thread_names(process, &stopped);
    before_going_on();
    drop(stopped);
    let held = begun.elapsed();
    let bytes = scan.bytes();
    let known = Known { blocks: &blocks, maps: &maps, threads };
    let verdicts = known.verdicts(&candidates, &scan.pointers, &globals);
    Ok(Found { time, stopped: held, bytes, verdicts })
}

fn scan_all(
    process: Pid,
    stopped: &Stopped,
    maps: &[Mapping],
    blocks: &Blocks,
    scan: &mut Scan<'_>,
) -> io::Result<()> {
    let mut standing = Vec::new();
    for thread in stopped.threads() {
        let registers = stopped.registers(thread)?;
        scan.words(registers.words(), Pointer::Thread(thread.as_raw_nonzero().get()));
        let (stack_pointer, thread_pointer) =
            (registers.stack_pointer(), registers.thread_pointer());
        standing.push(Standing { thread, stack_pointer, thread_pointer });
    }
    scan.words(kernel::words(process).into_iter(), Pointer::Kernel);
    let has_block = |range: &Range<u64>| {
        let first = blocks.first_behind(range.start);
        first < blocks.count() && blocks.range(first).start < range.end
    };
    for region in regions(maps, &standing, has_block) {
        scan.region(&region)?;
    }
    scan.follow()?;
    scan.finish()
}

/// What threads are called; the first one is the main thread.
fn thread_names(process: Pid, stopped: &Stopped) -> FxHashMap<i32, Arc<str>> {
    let id = process.as_raw_nonzero();
    let name = |thread: Pid| -> Arc<str> {
        let thread = thread.as_raw_nonzero();
        let path = format!("/proc/{id}/task/{thread}/comm");
        match fs::read(path) {
            _ if thread == id => MAIN_THREAD.into(),
            Ok(name) => String::from_utf8_lossy(&name).trim_end().into(),
            Err(_) => "".into(),
        }
    };
    stopped.threads().map(|thread| (thread.as_raw_nonzero().get(), name(thread))).collect()
}

/// What tells who a pointer belongs to.
struct Known<'a> {
    blocks: &'a Blocks,
    maps: &'a [Mapping],
    threads: FxHashMap<i32, Arc<str>>,
}

impl Known<'_> {
    fn verdicts(
        &self,
        candidates: &[Candidate],
        pointers: &[Option<Pointer>],
        globals: &Globals,
    ) -> Vec<(Candidate, Verdict)> {
        let variables = pointers.iter().filter_map(|pointer| match pointer {
            Some(Pointer::Global(address)) => Some(*address),
            _ => None,
        });
        let names = globals.names(variables);
        let of_sample: FxHashMap<SampleId, Verdict> = self
            .blocks
            .samples()
            .iter()
            .map(|&(block, sample)| (sample, self.verdict(pointers[block as usize], &names)))
            .collect();
        let known =
            candidates.iter().filter_map(|it| Some((*it, of_sample.get(&it.sample)?.clone())));
        known.collect()
    }

    fn verdict(&self, pointer: Option<Pointer>, variables: &FxHashMap<u64, Arc<str>>) -> Verdict {
        Verdict::Held(match pointer {
            None => return Verdict::Lost,
            Some(Pointer::Lost) => return Verdict::LostWithOthers,
            Some(Pointer::Global(address)) => {
                variables.get(&address).map_or(Holder::Heap, |name| Holder::Global(name.clone()))
            }
            Some(Pointer::Block(block)) => Holder::Sample(self.first_sample(block)),
            Some(Pointer::Kernel) => Holder::Kernel,
            Some(Pointer::Thread(thread)) => {
                Holder::Thread(self.threads.get(&thread).cloned().unwrap_or_default())
            }
            Some(Pointer::File(at)) => Holder::File(self.maps[at].name.to_string_lossy().into()),
            Some(Pointer::Heap) => Holder::Heap,
        })
    }

    fn first_sample(&self, block: Index) -> SampleId {
        let samples = self.blocks.samples();
        samples[samples.partition_point(|it| it.0 < block)].1
    }
}
