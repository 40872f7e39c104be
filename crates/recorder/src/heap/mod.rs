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
//! It is bounded by the samples that are live (some 32 bytes each) and the distinct backtraces that have
//! been (some 100 bytes for each frame in which they differ, and for each class of sizes). Nothing grows with
//! time, or with samples that have died.
//!
//! There are no estimates here: [`Snapshot`] has counts, and the rates to make estimates with.

mod blocks;
mod snapshot;
mod tree;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use lifetrace_trace::event::{GROWTH, TraceInfo};
use lifetrace_trace::fact::{Fact, Module, RuntimeCount, Sampler};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, Bytes, LocationCode, SamplerId, Timestamp};
use rustc_hash::FxHashMap;

use crate::birth::Birth;
use crate::samplers::WORD_BITS;
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
    executable: Arc<Path>,
    from: SystemTime,
    tree: Tree,
    kinds: Kinds,
    live: FxHashMap<AllocationId, Live>,
    samplers: Vec<Sampler>,
    modules: BTreeMap<u32, Arc<Module>>,
    counts: Vec<RuntimeCount>,
    lost: u64,
}

/// A sampled block that has not died.
#[derive(Clone, Copy, Debug)]
struct Live {
    kind: u32,
    /// At its birth.
    bytes: u64,
    /// When it was measured last.
    taken: u64,
}

impl Heap {
    /// One that no recording fills yet.
    pub fn new() -> Heap {
        Heap::default()
    }

    /// All processes that are being recorded, in the order in which that began.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.states().iter().map(|state| snapshot(state)).collect()
    }

    /// The process with that id, if it is being recorded.
    pub fn snapshot(&self, pid: u32) -> Option<Snapshot> {
        let states = self.states();
        let state = states.iter().rev().find(|state| lock(state).pid == pid)?;
        Some(snapshot(state))
    }

    /// What the runtime of the process with that id has counted last under a name, in its own terms; 0 if it has not.
    pub fn count(&self, pid: u32, name: &str) -> u64 {
        let of = |state: &Arc<Mutex<State>>| {
            let state = lock(state);
            (state.pid == pid).then(|| state.count_of(name))
        };
        self.states().iter().rev().find_map(of).unwrap_or(0)
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

fn wall(time: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(time.0)
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
            executable: Path::new(&info.executable_name).into(),
            from: wall(info.start_time),
            tree: Tree::default(),
            kinds: Kinds::default(),
            live: FxHashMap::default(),
            samplers: Vec::new(),
            modules: BTreeMap::new(),
            counts: Vec::new(),
            lost: 0,
        }
    }

    /// Sampling begins.
    pub(crate) fn begin(&mut self, time: Timestamp) {
        self.from = wall(time);
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
        self.live.insert(id, Live { kind, bytes, taken: bytes });
    }

    pub(crate) fn free(&mut self, id: AllocationId) {
        if let Some(Live { kind, bytes, taken }) = self.live.remove(&id) {
            self.kinds.free(kind, bytes, taken);
        }
    }

    /// A block takes so much now.
    pub(crate) fn measure(&mut self, id: AllocationId, Bytes(now): Bytes) {
        if let Some(Live { kind, taken, .. }) = self.live.get_mut(&id) {
            self.kinds.measure(*kind, *taken, now);
            *taken = now;
        }
    }

    pub(crate) fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Sampler(sampler) => self.samplers.push(sampler.clone()),
            Fact::RuntimeCount(count) => self.count(count),
            Fact::Lost(lost) => self.lost = self.lost.saturating_add(lost.count),
            Fact::Module(module) => {
                if self.modules.len() >= MOST_MODULES {
                    let used = snapshot::modules(self.tree.frames());
                    self.modules.retain(|number, _| used.contains(number));
                }
                self.modules.insert(module.number, Arc::new(module.clone()));
            }
            _ => {}
        }
    }

    fn count_of(&self, name: &str) -> u64 {
        self.counts.iter().find(|count| &*count.name == name).map_or(0, |count| count.value)
    }

    fn count(&mut self, new: &RuntimeCount) {
        match self.counts.iter_mut().find(|count| count.name == new.name) {
            Some(count) => count.value = new.value,
            None => self.counts.push(new.clone()),
        }
    }

    /// The place of the sampler that was told last under that name; before any was, of the first to be.
    fn sampler(&self, id: SamplerId) -> u8 {
        let place = self.samplers.iter().rposition(|sampler| sampler.id == id);
        u8::try_from(place.unwrap_or(0)).unwrap_or(u8::MAX)
    }

    fn outline(&self) -> (Arc<Path>, [usize; 5]) {
        (Arc::clone(&self.executable), self.lengths())
    }

    fn lengths(&self) -> [usize; 5] {
        [
            self.kinds.all.len(),
            self.tree.backtraces.len(),
            self.tree.frames().len(),
            self.modules.len(),
            self.samplers.len(),
        ]
    }

    /// Copies all that there is, if there is room for it.
    fn copy_to(&self, room: &mut Snapshot) -> bool {
        let fits = self.lengths().into_iter().zip(room.capacities()).all(|(len, room)| len <= room);
        if fits {
            room.blocks
                .extend(self.kinds.all.iter().map(|(kind, balance)| Blocks::of(kind, balance)));
            room.nodes
                .extend(self.tree.backtraces.nodes().map(|(_, caller, frame)| (caller, frame)));
            room.frames.extend(self.tree.frames().iter().cloned());
            room.modules.extend(self.modules.values().cloned());
            room.samplers.extend(self.samplers.iter().cloned());
            (room.pid, room.session, room.lost) = (self.pid, self.session, self.lost);
            (room.from, room.until) = (self.from, SystemTime::now());
        }
        fits
    }
}

/// Nothing is allocated or freed while the state is locked: whoever looks may be a thread that is being
/// recorded, whose own allocation waits for the session's thread, which would wait for the lock.
fn snapshot(state: &Mutex<State>) -> Snapshot {
    loop {
        let (executable, lengths) = lock(state).outline();
        let lengths = lengths.map(|length| length + length / 8 + 64);
        let mut room = Snapshot::with_room(executable, lengths);
        if lock(state).copy_to(&mut room) {
            room.forget_unused_modules();
            return room;
        }
    }
}
