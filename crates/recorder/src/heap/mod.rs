//! What is live now in the processes that are recorded, without a file that grows.
//!
//! # The model
//!
//! ```text
//! sink ── birth ──> Tree: the backtrace ──> Kinds: allocated + 1      live: id ─> kind, bytes
//!      ── death ──────────────────────────> Kinds: freed + 1     <──── live
//! Heap::snapshots(), on any thread ───────> a copy of Tree and Kinds
//! ```
//!
//! A session's [`State`] is its sink's; a [`Heap`] is the handle by which others look at the
//! sessions that are under way. Whoever looks holds up that session's thread, never the program.
//!
//! # Memory
//!
//! It is bounded by the samples that are live (some 24 bytes each) and the distinct backtraces that have
//! been (some 100 bytes for each frame in which they differ, and for each class of sizes). Nothing grows with
//! time, or with samples that have died.
//!
//! There are no estimates here: [`Snapshot`] has counts, and the rates to make estimates with.

mod blocks;
mod snapshot;
mod tree;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use lifetrace_trace::event::{GROWTH, TraceInfo};
use lifetrace_trace::fact::{Fact, Module, Sampler};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, LocationCode, SamplerId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::samplers::WORD_BITS;
use crate::sink::Birth;
use blocks::{Kind, Kinds};
use tree::Tree;

pub use blocks::Sum;
pub use snapshot::{Backtrace, Blocks, Snapshot};

/// More object files than these are not kept unless frames are in them.
const MOST_MODULES: usize = 1024;

static NEXT_SESSION: AtomicU64 = AtomicU64::new(0);

/// Looks at what is live in the processes of a recording; for any thread, at any time.
#[derive(Clone, Debug, Default)]
pub struct Heap(Arc<Mutex<Vec<Weak<Mutex<State>>>>>);

/// What a session has said.
#[derive(Debug)]
pub(crate) struct State {
    session: u64,
    pid: u32,
    executable: PathBuf,
    from: SystemTime,
    tree: Tree,
    kinds: Kinds,
    live: FxHashMap<AllocationId, Live>,
    samplers: Vec<Sampler>,
    modules: BTreeMap<u32, Module>,
    lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Live {
    kind: u32,
    bytes: u64,
}

impl Heap {
    /// One that no recording fills yet.
    pub fn new() -> Heap {
        Heap::default()
    }

    /// All processes that are being recorded, in the order in which that began.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.states().iter().map(|state| lock(state).snapshot()).collect()
    }

    /// The process with that id, if it is being recorded.
    pub fn snapshot(&self, pid: u32) -> Option<Snapshot> {
        self.states()
            .iter()
            .rev()
            .map(|state| lock(state))
            .find(|it| it.pid == pid)?
            .snapshot()
            .into()
    }

    /// Those whose sessions go on, without holding up whoever begins one.
    fn states(&self) -> Vec<Arc<Mutex<State>>> {
        let mut sessions = lock(&self.0);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.iter().filter_map(Weak::upgrade).collect()
    }

    /// A session has begun.
    pub(crate) fn enter(&self, info: &TraceInfo) -> Arc<Mutex<State>> {
        let state = Arc::new(Mutex::new(State::new(info)));
        let mut sessions = lock(&self.0);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(&state));
        state
    }
}

/// A panic while it was held is the session's, and has left whole numbers.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn new(info: &TraceInfo) -> State {
        State {
            session: NEXT_SESSION.fetch_add(1, Ordering::Relaxed),
            pid: u32::try_from(info.pid).unwrap_or_default(),
            executable: info.executable_name.clone().into(),
            from: SystemTime::UNIX_EPOCH + Duration::from_micros(info.start_time.0),
            tree: Tree::default(),
            kinds: Kinds::default(),
            live: FxHashMap::default(),
            samplers: Vec::new(),
            modules: BTreeMap::new(),
            lost: 0,
        }
    }

    pub(crate) fn allocate(
        &mut self,
        id: AllocationId,
        birth: &Birth<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Frame,
    ) {
        let node = self.tree.node(birth.backtrace, birth.common_prefix, locate);
        let is_growth = birth.backtrace.last() == Some(&GROWTH);
        let sampler = self.sampler(birth.sampler);
        let kind = Kind::new(node, birth.source, is_growth, sampler, birth.size);
        let bytes = birth.size.bytes(WORD_BITS).0;
        let kind = self.kinds.allocate(kind, bytes);
        self.live.insert(id, Live { kind, bytes });
    }

    pub(crate) fn free(&mut self, id: AllocationId) {
        if let Some(Live { kind, bytes }) = self.live.remove(&id) {
            self.kinds.free(kind, bytes);
        }
    }

    pub(crate) fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Sampler(sampler) => self.samplers.push(sampler.clone()),
            Fact::Lost(lost) => self.lost = self.lost.saturating_add(lost.count),
            Fact::Module(module) => {
                if self.modules.len() >= MOST_MODULES {
                    let used = self.used_modules();
                    self.modules.retain(|number, _| used.contains(number));
                }
                self.modules.insert(module.number, module.clone());
            }
            _ => {}
        }
    }

    /// The place of the sampler that was told last under that name; before any was, of the first to be.
    fn sampler(&self, id: SamplerId) -> u8 {
        let place = self.samplers.iter().rposition(|sampler| sampler.id == id);
        u8::try_from(place.unwrap_or(0)).unwrap_or(u8::MAX)
    }

    fn used_modules(&self) -> FxHashSet<u32> {
        self.tree.frames.iter().filter_map(|frame| frame.module).collect()
    }

    fn snapshot(&self) -> Snapshot {
        let used = self.used_modules();
        let blocks = self.kinds.all.iter().map(|(kind, balance)| Blocks {
            backtrace: Backtrace(kind.node),
            source: kind.source,
            is_growth: kind.is_growth,
            sampler: kind.sampler.into(),
            mean_bytes: balance.allocated.bytes / balance.allocated.blocks.max(1),
            allocated: balance.allocated,
            freed: balance.freed,
        });
        Snapshot {
            pid: self.pid,
            executable: self.executable.clone(),
            from: self.from,
            until: SystemTime::now(),
            samplers: self.samplers.clone(),
            modules: self
                .modules
                .values()
                .filter(|it| used.contains(&it.number))
                .cloned()
                .collect(),
            lost: self.lost,
            blocks: blocks.collect(),
            nodes: self.tree.nodes.clone(),
            frames: self.tree.frames.clone(),
            session: self.session,
        }
    }
}
