//! The closed set of messages that an agent can send.
//!
//! Both sides are always of the same build (the command carries the preload library inside), so
//! there is one version, checked at the handshake, and no compatibility within it.

pub use crate::frames::{
    BacktraceDelta, FRAMES_LEFT_OUT, Frames, MANAGED_FRAME, NATIVE_PLACE, Run, SPAN_FRAME,
};
use crate::sources::SourceName;

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

/// What kind of allocation a sampled block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocationKind {
    /// By an allocation like any other.
    Plain,
    /// Not a block of its own: the words that a realloc added to one. They are sampled, and die, like
    /// a block of that size, but are no new object.
    Growth,
    /// Built from bytes that were read (OCaml's Marshal).
    Deserialised,
    /// Memory outside allocators that the program reports, of a kind that has a name.
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
        SPAN_FRAME | u64::from(self.0)
    }
}

/// Where a block is.
///
/// Whoever looks through a process's memory for pointers to a block is not to find one in what an agent has noted. So an
/// address is never in its memory, nor in a message, as it is, but disguised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first byte's address, in disguise.
    pub(crate) disguised: u64,
    /// In bytes.
    pub size: u64,
}

impl Place {
    /// Of a block of `size` bytes at `address`.
    pub fn new(address: u64, size: u64) -> Place {
        Place { disguised: disguise(address), size }
    }

    /// The first byte's address.
    pub fn address(self) -> u64 {
        disguise(self.disguised)
    }
}

/// What happens to pages of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// Anonymous memory has been mapped, in the place of whatever was there.
    Mapped = 0,
    /// Addresses have been mapped that may not be accessed yet: they have no memory.
    Reserved = 1,
    /// What of them was reserved may be accessed from now on.
    Opened = 2,
    /// They are about to be unmapped, or are something else now, whoever mapped them.
    Unmapped = 3,
    /// What this thread said last to be unmapped is still there: the system has refused. No pages are named.
    StillMapped = 4,
    /// They are about to be moved, or resized where they are, by this thread.
    Lifted = 5,
    /// What this thread has lifted is there now. What it is larger by is new; where it is smaller, its end is gone.
    Landed = 6,
}

impl Step {
    /// All of them, by their numbers.
    pub const ALL: [Step; 7] = [
        Step::Mapped,
        Step::Reserved,
        Step::Opened,
        Step::Unmapped,
        Step::StillMapped,
        Step::Lifted,
        Step::Landed,
    ];
}

/// An address that is none, or that from which it came.
pub const fn disguise(address: u64) -> u64 {
    /// With it no address of a program's half of memory stays one.
    const MASK: u64 = 0xA5C3_96F1_5A3C_695D;
    address ^ MASK
}

/// Each sample's is copied once or twice on its way: what is larger and rare goes by reference.
const _: () = assert!(size_of::<Body<'static>>() <= 72);

/// What happened, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A block was sampled.
    Allocation {
        /// Named by later releases and promotions.
        id: SampleId,
        /// As the program asked for it, in bytes; of a growth, the bytes added.
        size: u64,
        /// How many of the block's sampling units were hit; at least 1. A block has at least one, and of a heap that
        /// is sampled by words one for its header.
        samples: u64,
        /// Where the block lives.
        source: SourceKind,
        /// How it came to be.
        kind: AllocationKind,
        /// Who asked for it.
        backtrace: BacktraceDelta<'a>,
    },
    /// Where the block is that a sample of malloc's is a part of: sent after its birth, and whenever the block has
    /// moved or has another size.
    Placed {
        /// The sample.
        id: SampleId,
        /// Where it is.
        block: Place,
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
    /// What a sampled block takes now, with what belongs to it elsewhere; it may have grown or shrunk since its birth.
    Measured {
        /// The block.
        id: SampleId,
        /// In bytes.
        size: u64,
    },
    /// An object file is mapped; sent before any frame inside it.
    ModuleLoaded(Module<'a>),
    /// The object file whose `ModuleLoaded` had this `start` is gone, or about to be.
    ModuleUnloaded {
        /// First address of the module's text.
        start: u64,
    },
    /// A thread sends its first message; its next backtrace is whole.
    ThreadStarted {
        /// The kernel's number for it.
        os_id: u32,
    },
    /// A thread is gone and will send nothing more.
    ThreadEnded,
    /// A word to the user.
    Notice {
        /// Which, as traces call it: `own-allocator`. At most [`MAX_BUILD_ID`](crate::codec::MAX_BUILD_ID) bytes. The
        /// recorder takes none that it does not know.
        code: &'a [u8],
    },
    /// What a frame of a managed runtime stands for; sent before its first use in a session.
    FrameName(FrameName<'a>),
    /// The return address of a managed runtime's frame of which no more is known; sent before its first use in a
    /// session.
    FrameAddress {
        /// The frame's number, as in [`FrameName`].
        frame: u64,
        /// A return address.
        address: u64,
    },
    /// Which managed runtime there is.
    Runtime {
        /// What its source is called.
        name: SourceName,
        /// Whether what it hands out of its arenas is told as malloc's blocks.
        blocks_are_mallocs: bool,
        /// As the runtime says it, or as far as it can be told: `4.13`. At most [`MAX_BUILD_ID`] bytes.
        ///
        /// [`MAX_BUILD_ID`]: crate::codec::MAX_BUILD_ID
        version: &'a [u8],
    },
    /// What a managed runtime's collector has counted.
    CollectorTotals(EncodedTotals<'a>),
    /// What a managed runtime has counted of its own, in its own terms.
    RuntimeCount {
        /// As the runtime calls it: `total_allocated_objects`. At most [`MAX_BUILD_ID`](crate::codec::MAX_BUILD_ID) bytes.
        name: &'a [u8],
        /// So many.
        value: u64,
    },
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
        /// Innermost first: [`MANAGED_FRAME`]s. Those that an interpreter runs in several of its native frames are followed
        /// by a [`NATIVE_PLACE`], in the place of which they stand.
        frames: Frames<'a>,
    },
    /// Whether there are managed frames in use whose names the runtime has still to be asked for. As long as there are,
    /// nothing that comes is to be written: their [`FrameName`]s are on their way.
    NamesPending {
        /// Whether there are.
        are_pending: bool,
    },
    /// Something happens to pages of memory.
    Pages {
        /// What.
        step: Step,
        /// Which: whole pages.
        pages: Place,
        /// Who asked for it, where memory may be new; else no frames.
        backtrace: BacktraceDelta<'a>,
    },
    /// What this thread samples of malloc's blocks from now on was drawn at this rate; at that of the settings before it
    /// has said so.
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
    /// Which of its runtime's kinds of frames it is of.
    pub kind: FrameKind,
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

/// A kind of frames that a managed runtime has. The recorder's file about the runtime has a list of them, in which this
/// is the place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameKind(pub u8);

/// What a managed runtime's collector has counted. None of the figures need be known.
///
/// Since the start of the process, which of a forked one is the fork, but for what the heap holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectorTotals {
    /// Whose they are.
    pub runtime: SourceName,
    /// Words allocated in the minor heap.
    pub minor_words: Option<u64>,
    /// Words that survived it.
    pub promoted_words: Option<u64>,
    /// Words allocated in the major heap, the promoted ones included.
    pub major_words: Option<u64>,
    /// Finished collections of the minor heap.
    pub minor_collections: Option<u64>,
    /// Finished cycles of the major heap.
    pub major_collections: Option<u64>,
    /// Finished compactions.
    pub compactions: Option<u64>,
    /// Words that the major heap has from the system now.
    pub heap_words: Option<u64>,
    /// The most that it has had.
    pub top_heap_words: Option<u64>,
    /// Words that the minor heap has room for; of several domains', the most that one has had.
    pub young_heap_words: Option<u64>,
}

impl CollectorTotals {
    /// How many figures there are.
    pub const FIGURES: usize = 9;

    /// All figures, in the order in which they are told.
    pub fn figures(&self) -> [Option<u64>; CollectorTotals::FIGURES] {
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

    /// A runtime's, from what [`figures`](Self::figures) gives.
    pub fn of_figures(
        runtime: SourceName,
        figures: [Option<u64>; CollectorTotals::FIGURES],
    ) -> CollectorTotals {
        let [minor_words, promoted_words, major_words, rest @ ..] = figures;
        let [minor_collections, major_collections, compactions, heaps @ ..] = rest;
        let [heap_words, top_heap_words, young_heap_words] = heaps;
        CollectorTotals {
            runtime,
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

    /// The runtime's name, a bit for each figure that is known, the first one lowest, and the figures, 0 where they
    /// are not known.
    pub(crate) fn words(&self) -> [u64; CollectorTotals::WORDS] {
        let figures = self.figures();
        let mut words = [self.runtime.word(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for (index, figure) in figures.into_iter().enumerate() {
            words[1] |= u64::from(figure.is_some()) << index;
            words[2 + index] = figure.unwrap_or(0);
        }
        words
    }

    /// From what [`words`](Self::words) gives.
    pub(crate) fn of_words(words: [u64; CollectorTotals::WORDS]) -> CollectorTotals {
        let [runtime, known, figures @ ..] = words;
        let is_known = |index: usize| known >> index & 1 != 0;
        let figures = core::array::from_fn(|index| is_known(index).then_some(figures[index]));
        CollectorTotals::of_figures(SourceName::of_word(runtime), figures)
    }

    pub(crate) const WORDS: usize = 2 + CollectorTotals::FIGURES;

    /// Bytes of a message's part.
    pub const BYTES: usize = 8 * CollectorTotals::WORDS;

    /// As a message has them.
    pub fn to_bytes(&self) -> [u8; CollectorTotals::BYTES] {
        let words = self.words();
        core::array::from_fn(|index| words[index / 8].to_le_bytes()[index % 8])
    }
}

/// A collector's figures as a message has them: what is seldom sent is not to make every message large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedTotals<'a>(&'a [u8; CollectorTotals::BYTES]);

impl<'a> EncodedTotals<'a> {
    /// From what [`CollectorTotals::to_bytes`] gives; `None` if there can be no such figures.
    pub fn new(bytes: &'a [u8; CollectorTotals::BYTES]) -> Option<EncodedTotals<'a>> {
        let encoded = EncodedTotals(bytes);
        let [_, known, ..] = encoded.words();
        (known >> CollectorTotals::FIGURES == 0).then_some(encoded)
    }

    /// The figures.
    pub fn totals(self) -> CollectorTotals {
        CollectorTotals::of_words(self.words())
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        self.0
    }

    fn words(self) -> [u64; CollectorTotals::WORDS] {
        let byte = |word: usize, index| self.0[8 * word + index];
        core::array::from_fn(|word| u64::from_le_bytes(core::array::from_fn(|it| byte(word, it))))
    }
}

impl<'a> From<&'a [u8; CollectorTotals::BYTES]> for Body<'a> {
    /// The figures of a collector, from what [`CollectorTotals::to_bytes`] gives.
    fn from(bytes: &'a [u8; CollectorTotals::BYTES]) -> Body<'a> {
        Body::CollectorTotals(EncodedTotals(bytes))
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
