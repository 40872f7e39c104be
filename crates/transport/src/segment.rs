//! The layout of a session's shared memory.
//!
//! ```text
//! 0                 SegmentHeader (one page)
//! 4096              ring 0: RingHeader, ring_bytes of data
//! 4096 + stride     ring 1 …
//! behind the rings  patches, `LEN` bytes each
//! ```
//!
//! The recorder writes `settings` before it passes the descriptor on; they never change. The
//! heartbeat and the switches, `stopped`, `paused`, `rate` and `looked`, are the recorder's; the counts of what is
//! lost, the last words, and where an errand leads are the agent's.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::errand::Errand;
use crate::last_words::LastWords;
use crate::patch;
use crate::ring::RingHeader;
use crate::snapshot::{Standing, Wish};
pub use crate::sources::Sources;

/// Changes whenever a layout or a message does; both sides must agree.
pub const PROTOCOL_VERSION: u32 = 21;

const HEADER_BYTES: usize = 4096;

/// What the recorder wants of an agent.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Settings {
    /// Number of rings.
    pub ring_count: u32,
    /// Data bytes of each ring, a power of two.
    pub ring_bytes: u32,
    /// Seed of the sampler's generator; the same seed gives a single-threaded program the same
    /// samples.
    pub seed: u64,
    /// 1 if processes that this one starts are to be traced too.
    pub follow_children: u32,
    /// The recorder's process id, as it sees itself; for messages only.
    pub recorder_pid: u32,
    /// What is to be sampled, and how densely.
    pub sources: Sources,
    /// Most frames of a managed backtrace; of deeper ones both ends are kept. At most
    /// [`MAX_FRAMES`](crate::codec::MAX_FRAMES).
    pub stack_limit: u32,
    /// How many functions of an allocator in the program are to be patched.
    pub patches: u32,
    /// 1 if the process's memory is to be looked through before it ends: then agents say where blocks are, and wait at
    /// the exit until that is done.
    pub looks_for_lost: u32,
    /// 1 if the recorder may go and come again: then agents go on looking for it.
    pub is_standing: u32,
}

impl Settings {
    /// Whether everything of a source is sampled: then nothing may be lost, and the target waits for
    /// the ring.
    pub fn exact(&self) -> bool {
        self.sources.any_exact()
    }
}

/// Why an event that should be in the trace is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum LostReason {
    /// The recorder did not make room in the ring within the bounded wait.
    RingFull = 0,
    /// Another thread held the ring for longer than the bounded wait.
    RingBusy = 1,
    /// The allocation was made by a signal handler that interrupted the agent.
    Reentrant = 2,
    /// No memory for the agent's record of a sampled block.
    NoBlockRecord = 3,
    /// No memory for the agent's record of the thread.
    NoThreadRecord = 4,
    /// The thread was at the end of its stack.
    NoStack = 5,
    /// No memory for the agent's record of a managed frame, or there are too many.
    NoFrameRecord = 6,
    /// A block was freed by somebody whom the agent does not hear; its death was told when that was
    /// found out, at the latest when its address came back.
    DeathUnobserved = 7,
}

impl LostReason {
    /// All of them, in the order of the counters.
    pub const ALL: [LostReason; 8] = [
        LostReason::RingFull,
        LostReason::RingBusy,
        LostReason::Reentrant,
        LostReason::NoBlockRecord,
        LostReason::NoThreadRecord,
        LostReason::NoStack,
        LostReason::NoFrameRecord,
        LostReason::DeathUnobserved,
    ];

    /// For programs.
    pub fn code(self) -> &'static str {
        match self {
            LostReason::RingFull => "ring-full",
            LostReason::RingBusy => "ring-busy",
            LostReason::Reentrant => "reentrant",
            LostReason::NoBlockRecord => "no-block-record",
            LostReason::NoThreadRecord => "no-thread-record",
            LostReason::NoStack => "no-stack",
            LostReason::NoFrameRecord => "no-frame-record",
            LostReason::DeathUnobserved => "death-unheard",
        }
    }

    /// For people: "lost 12 events: ring full".
    pub fn description(self) -> &'static str {
        match self {
            LostReason::RingFull => "ring full",
            LostReason::RingBusy => "ring busy",
            LostReason::Reentrant => "in a signal handler that interrupted the agent",
            LostReason::NoBlockRecord => "no memory for the record of a block",
            LostReason::NoThreadRecord => "no memory for the record of a thread",
            LostReason::NoStack => "at the end of a thread's stack",
            LostReason::NoFrameRecord => "no memory for the record of a frame",
            LostReason::DeathUnobserved => "blocks freed unheard, whose deaths were told late",
        }
    }
}

/// The first page of a segment.
#[derive(Debug)]
#[repr(C)]
pub struct SegmentHeader {
    settings: Settings,
    heartbeat: AtomicU64,
    stopped: AtomicU32,
    paused: AtomicU32,
    lost: [AtomicU64; LostReason::ALL.len()],
    last_words: LastWords,
    wish: Wish,
    standing: Standing,
    looked: AtomicU32,
    errand: Errand,
    rate: AtomicU64,
    small_objects_left_out: AtomicU32,
}

const _: () = assert!(size_of::<SegmentHeader>() <= HEADER_BYTES);

impl SegmentHeader {
    /// Where in it the word of four bytes is that is 1 once [`stop`](Self::stop) has been said: whoever finds a process
    /// whose recorder is gone can say so from outside.
    pub const STOPPED_AT: u64 = core::mem::offset_of!(SegmentHeader, stopped) as u64;

    /// A header as the recorder first writes it.
    pub fn new(settings: Settings) -> Self {
        SegmentHeader {
            settings,
            heartbeat: AtomicU64::new(1),
            stopped: AtomicU32::new(0),
            paused: AtomicU32::new(0),
            lost: Default::default(),
            last_words: LastWords::default(),
            wish: Wish::default(),
            standing: Standing::default(),
            looked: AtomicU32::new(0),
            errand: Errand::default(),
            rate: AtomicU64::new(0),
            small_objects_left_out: AtomicU32::new(0),
        }
    }

    /// What the recorder wants.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The recorder's sign of life, at every pass over the rings.
    pub fn beat(&self) {
        self.heartbeat.fetch_add(1, Ordering::Relaxed);
    }

    /// Grows while the recorder lives.
    pub fn heartbeat(&self) -> u64 {
        self.heartbeat.load(Ordering::Relaxed)
    }

    /// Tells the agent that nobody listens any more.
    pub fn stop(&self) {
        self.stopped.store(1, Ordering::Release);
    }

    /// Whether the recorder has said [`stop`](Self::stop).
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire) != 0
    }

    /// Says whether blocks are to be sampled from now on. Those sampled before are still reported
    /// when they die.
    pub fn set_paused(&self, paused: bool) {
        self.paused.store(paused.into(), Ordering::Relaxed);
    }

    /// Whether no blocks are to be sampled now. Agents look when a countdown has ended, and nowhere
    /// else.
    pub fn paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed) != 0
    }

    /// Has malloc's blocks sampled at another rate from now on: the probability of a word, in (0, 1]. Each thread goes on
    /// at the rate of before until its next sample, and says of each sample at which rate it was drawn
    /// ([`Body::Rate`](crate::message::Body::Rate)).
    pub fn set_rate(&self, per_word: f64) {
        self.rate.store(per_word.to_bits(), Ordering::Relaxed);
    }

    /// The rate that was [set](Self::set_rate) last; `None` if it is that of the settings.
    pub fn rate(&self) -> Option<f64> {
        Some(self.rate.load(Ordering::Relaxed)).filter(|&bits| bits != 0).map(f64::from_bits)
    }

    /// Says, before the agent sees it, that a runtime's small blocks for which it has an allocator of its own are not wanted.
    /// Recorders and agents that do not know of this hear them, or have none.
    pub fn leave_small_objects_out(&self) {
        self.small_objects_left_out.store(1, Ordering::Relaxed);
    }

    /// Whether small blocks are wanted for which a runtime has an allocator of its own.
    pub fn wants_small_objects(&self) -> bool {
        self.small_objects_left_out.load(Ordering::Relaxed) == 0
    }

    /// Counts one lost event.
    pub fn count_lost(&self, reason: LostReason) {
        self.lost[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Tells an agent whose process is about to end that its memory has been looked through, or will not be.
    pub fn release_exit(&self) {
        self.looked.store(1, Ordering::Release);
    }

    /// Whether the recorder has said [`release_exit`](Self::release_exit).
    pub fn may_exit(&self) -> bool {
        self.looked.load(Ordering::Acquire) != 0
    }

    /// What the agent leaves behind.
    pub fn last_words(&self) -> &LastWords {
        &self.last_words
    }

    /// For a snapshot of the heap.
    pub fn wish(&self) -> &Wish {
        &self.wish
    }

    /// Snapshots of the heap that nobody asks for one by one.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// What a thread that waits can be sent on.
    pub fn errand(&self) -> &Errand {
        &self.errand
    }

    /// Events lost for `reason` so far.
    pub fn lost(&self, reason: LostReason) -> u64 {
        self.lost[reason as usize].load(Ordering::Relaxed)
    }
}

/// Length of a segment with these settings, in bytes.
pub fn segment_bytes(settings: &Settings) -> usize {
    let patches = settings.patches as usize * patch::LEN;
    patches_offset(settings) + patches.next_multiple_of(4096)
}

/// Where the patches begin, in bytes from the segment's start.
pub fn patches_offset(settings: &Settings) -> usize {
    HEADER_BYTES + settings.ring_count as usize * ring_stride(settings)
}

/// Where ring `index` begins: its [`RingHeader`], then its data, in bytes from the segment's start.
pub fn ring_offsets(settings: &Settings, index: usize) -> (usize, usize) {
    let header = HEADER_BYTES + index * ring_stride(settings);
    (header, header + size_of::<RingHeader>())
}

fn ring_stride(settings: &Settings) -> usize {
    (size_of::<RingHeader>() + settings.ring_bytes as usize).next_multiple_of(4096)
}
