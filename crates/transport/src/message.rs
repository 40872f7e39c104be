//! The closed set of things an agent can say.
//!
//! Both sides are always of the same build (the command carries the preload library inside), so
//! there is one version, checked at the handshake, and no compatibility within it.

pub use crate::frames::{BacktraceDelta, FRAMES_LEFT_OUT, Frames, MANAGED_FRAME, Run, SAID_FRAME};

/// A sampled block, unique within a session, in the order in which agents handed them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SampleId(pub u64);

/// A thread, unique within a session and never reused. 0 is no thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

/// Nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MonotonicNanos(pub u64);

/// Which allocator a sampled block came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SourceKind {
    /// The malloc family and C++ operator new.
    Malloc = 0,
    /// The minor heap of a generational collector.
    Minor = 1,
    /// The major heap of a generational collector.
    Major = 2,
    /// Memory that a managed runtime accounts for but does not hold.
    External = 3,
}

impl SourceKind {
    /// Whether a managed runtime's agent speaks, whose backtraces are a stream of their own: a thread's
    /// managed backtrace is a difference to its last managed one.
    pub fn is_managed(self) -> bool {
        self != SourceKind::Malloc
    }
}

/// How a sampled block came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// By an allocation like any other.
    Plain,
    /// Not a block of its own: the words that a realloc added to one. They are sampled, and die, like
    /// a block of that size, but are no new object.
    Growth,
    /// Built from bytes that were read (OCaml's Marshal).
    Deserialised,
    /// No allocator's, but what the program says of memory elsewhere, of a kind that has a name.
    Outside(MemoryKind),
}

/// A kind of memory that no allocator sees. Its name is that of the frame with [this](MemoryKind::frame) number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryKind(u16);

impl MemoryKind {
    /// How many there can be.
    pub const MOST: u16 = 1 << 12;

    /// `None` if there are not so many.
    pub const fn new(number: u16) -> Option<MemoryKind> {
        if number < MemoryKind::MOST { Some(MemoryKind(number)) } else { None }
    }

    /// Below [`MOST`](MemoryKind::MOST).
    pub fn number(self) -> u16 {
        self.0
    }

    /// Of its [`FrameName`].
    pub fn frame(self) -> u64 {
        SAID_FRAME | u64::from(self.0)
    }
}

/// Something worth telling the user about a session that is not an event of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum NoticeKind {
    /// The program defines its own malloc, ahead of ours: nothing of it can be heard.
    OwnAllocator = 0,
    /// An OCaml runtime whose version has no statistical memory profiler (5.0 to 5.2, before 4.11), or
    /// which is not known: its heap is not sampled.
    UnknownOCaml = 2,
    /// The program has Memtrace linked in and MEMTRACE set: its OCaml heap is Memtrace's.
    Memtrace = 3,
    /// The program has called `Gc.Memprof.start` or `stop` itself: sampling of its OCaml heap, which has
    /// one client at most, has ended here.
    OwnMemprof = 4,
    /// `Gc.Memprof.start` could not be watched: a program that calls it gets the exception
    /// "already started".
    MemprofUnguarded = 5,
    /// Several domains of an OCaml 5.3, which reports blocks as dead that other domains have promoted
    /// (ocaml/ocaml#14057): lifetimes are too short.
    DomainsMisreported = 6,
}

impl NoticeKind {
    /// All of them.
    pub const ALL: [NoticeKind; 6] = [
        NoticeKind::OwnAllocator,
        NoticeKind::UnknownOCaml,
        NoticeKind::Memtrace,
        NoticeKind::OwnMemprof,
        NoticeKind::MemprofUnguarded,
        NoticeKind::DomainsMisreported,
    ];
}

/// What happened, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A block was sampled.
    Allocation {
        /// Named by later releases and promotions.
        id: SampleId,
        /// As the program asked for it, in bytes; of a growth, the bytes added.
        size: u64,
        /// How many of the block's sampling units were hit; at least 1. Of malloc these are 8-byte words,
        /// at least one a block; of a managed heap, its words and its header.
        samples: u64,
        /// Where the block lives.
        source: SourceKind,
        /// How it came to be.
        manner: Manner,
        /// Who asked for it.
        backtrace: BacktraceDelta<'a>,
    },
    /// A sampled block was freed or found dead.
    Release {
        /// The block.
        id: SampleId,
    },
    /// A sampled block moved from the minor to the major heap.
    Promotion {
        /// The block.
        id: SampleId,
    },
    /// An object file is mapped; sent before any frame inside it.
    ModuleLoaded(Module<'a>),
    /// The object file whose `ModuleLoaded` had this `start` is gone, or about to be.
    ModuleUnloaded {
        /// First address of the module's text.
        start: u64,
    },
    /// A thread was heard for the first time; its next backtrace is whole.
    ThreadStarted {
        /// The kernel's number for it.
        os_id: u32,
    },
    /// A thread is gone and will not be heard again.
    ThreadEnded,
    /// A word to the user.
    Notice {
        /// Which.
        kind: NoticeKind,
    },
    /// What a frame of a managed runtime stands for; sent before its first use in a session.
    FrameName(FrameName<'a>),
    /// Likewise, of a frame of which no more is known than its code.
    FrameAddress {
        /// The frame's number, as in [`FrameName`].
        frame: u64,
        /// A return address.
        address: u64,
    },
    /// Which managed runtime is being sampled.
    Runtime {
        /// As the runtime says it, or as far as it can be told: `4.13`. At most [`MAX_BUILD_ID`] bytes.
        ///
        /// [`MAX_BUILD_ID`]: crate::codec::MAX_BUILD_ID
        version: &'a [u8],
    },
    /// What a managed runtime's collector has counted.
    CollectorTotals(CollectorTotals),
    /// What the allocator says of the whole process, the agent's own memory for samples included.
    AllocatorTotals {
        /// Bytes that the program has asked for and not given back, as the allocator counts them.
        in_use: u64,
        /// Bytes that the allocator has from the system.
        held: u64,
    },
    /// The process is leaving by way of its exit handlers. More may follow, from later handlers.
    Exiting,
    /// What this thread is at, in the program's own terms: until it says otherwise, its malloc's backtraces
    /// have these frames outside of all others.
    Context {
        /// Innermost first: [`MANAGED_FRAME`]s.
        frames: Frames<'a>,
    },
    /// Malloc's blocks are sampled at another rate from now on.
    Rate {
        /// Probability that a word is hit, in (0, 1], as the bits of an `f64`.
        bits: u64,
    },
}

/// One location of a managed frame. A frame has as many as functions were inlined into one another
/// there; they come one after the other, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameName<'a> {
    /// The frame's number, at least 1, below [`MANAGED_FRAME`].
    pub frame: u64,
    /// Whether this is the frame's first location. What was said of the frame before is void: its end was lost.
    pub is_first: bool,
    /// Whether this is the frame's last location.
    pub is_last: bool,
    /// 1-based; 0 when unknown.
    pub line: u32,
    /// First column.
    pub start_char: u32,
    /// One past the last column, counted from the start of `line`.
    pub end_char: u32,
    /// The function's name; at most [`MAX_BUILD_ID`](crate::codec::MAX_BUILD_ID) bytes, longer ones are cut.
    pub function: &'a [u8],
    /// The source file; at most [`MAX_PATH`](crate::codec::MAX_PATH) bytes, longer ones are cut.
    pub file: &'a [u8],
}

/// Since the start of the process, which of a forked one is the fork, but for what the heap holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectorTotals {
    /// Words allocated in the minor heap.
    pub minor_words: u64,
    /// Words that survived it.
    pub promoted_words: u64,
    /// Words allocated in the major heap, the promoted ones included.
    pub major_words: u64,
    /// Finished collections of the minor heap.
    pub minor_collections: u64,
    /// Finished cycles of the major heap.
    pub major_collections: u64,
    /// Finished compactions.
    pub compactions: u64,
    /// Words that the major heap has from the system now.
    pub heap_words: u64,
    /// The most that it has had.
    pub top_heap_words: u64,
    /// Words that the minor heap has room for; of several domains', the most that one has had. 0 if that is not known.
    pub young_heap_words: u64,
}

impl CollectorTotals {
    /// All of them, in the order in which they are told.
    pub fn words(&self) -> [u64; 9] {
        [
            self.minor_words,
            self.promoted_words,
            self.major_words,
            self.minor_collections,
            self.major_collections,
            self.compactions,
            self.heap_words,
            self.top_heap_words,
            self.young_heap_words,
        ]
    }

    /// From what [`words`](Self::words) gives.
    pub fn of_words(words: [u64; 9]) -> CollectorTotals {
        let [minor_words, promoted_words, major_words, rest @ ..] = words;
        let [minor_collections, major_collections, compactions, heaps @ ..] = rest;
        let [heap_words, top_heap_words, young_heap_words] = heaps;
        CollectorTotals {
            minor_words,
            promoted_words,
            major_words,
            minor_collections,
            major_collections,
            compactions,
            heap_words,
            top_heap_words,
            young_heap_words,
        }
    }
}

/// A mapped object file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module<'a> {
    /// Run-time address minus the address stated in the file.
    pub bias: u64,
    /// First run-time address of its executable segments.
    pub start: u64,
    /// One past the last run-time address of its executable segments.
    pub end: u64,
    /// From its PT_NOTE; empty if it has none. At most 255 bytes.
    pub build_id: &'a [u8],
    /// As the loader knows it; at most 4095 bytes, longer ones are cut.
    pub path: &'a [u8],
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// When.
    pub time: MonotonicNanos,
    /// By whom.
    pub thread: ThreadId,
    /// What.
    pub body: Body<'a>,
}
