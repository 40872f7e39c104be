//! What a trace tells beside the lives of sampled blocks. These are exact, not estimated.

use std::sync::Arc;

use crate::ids::{AllocationId, Bytes, SamplerId, Size, ThreadId, Timestamp};

/// Something that is so, or was at one moment. The moment is told with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Figures of the whole process.
    Counters(Counters),
    /// What a thread is called, from now on.
    ThreadName(ThreadName),
    /// An object file that backtraces run through.
    Module(Module),
    /// How blocks are sampled from now on.
    Sampler(Sampler),
    /// A garbage collector begins or ends a cycle.
    Cycle(Cycle),
    /// A block has another size from now on.
    Resize(Resize),
    /// What the user wants to be told of this trace.
    Label(Label),
    /// What the user wants to be told of this moment.
    Marker(Arc<str>),
    /// Events that were lost before they reached the trace.
    Lost(Lost),
    /// The traced process.
    Process(Process),
    /// The trace of the process that this one was forked from.
    Parent(Parent),
    /// How the process ended.
    Exit(Exit),
    /// What the wall clock showed at this moment; it may be set forward and back.
    WallClock(Timestamp),
    /// Figures of a managed runtime's heap.
    Collector(Collector),
    /// What a managed runtime has counted of its own, up to this moment.
    RuntimeCount(RuntimeCount),
    /// What a user should know of this trace, by a code for programs: `ocaml-domains-misreported`.
    Notice(Arc<str>),
    /// The process's memory was looked through for pointers to sampled blocks.
    Looked(Looked),
    /// What pointed to some blocks when it was looked through.
    Held(Held),
}

/// A look through the memory of a process, which stood still meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// So much of it was read.
    pub bytes: Bytes,
    /// For so many microseconds it stood still.
    pub micros: u64,
}

/// What pointed to some blocks at a look. Of several that do, one is told. A fact has not more than
/// [`MOST`](Held::MOST) blocks; those of a trace's last look count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// It.
    pub by: Holder,
    /// The blocks.
    pub blocks: Vec<AllocationId>,
}

impl Held {
    /// Blocks that are told of at once.
    pub const MOST: usize = 1 << 10;
}

/// Who can still find a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// Nobody: the block is lost.
    Nothing,
    /// Nobody but who finds blocks that are lost.
    Lost,
    /// A variable of the program or a library, by its name.
    Variable(Arc<str>),
    /// Another sampled block.
    Block(AllocationId),
    /// The kernel, which gives the pointer back with an event.
    Kernel,
    /// The stack or the registers of a thread, by its name.
    Thread(Arc<str>),
    /// Memory that is mapped from this file, or shared.
    File(Arc<str>),
    /// Other memory: a block that was not sampled.
    Memory,
}

impl Holder {
    /// Whether the block is lost.
    pub fn is_lost(&self) -> bool {
        matches!(self, Holder::Nothing | Holder::Lost)
    }
}

/// What a managed runtime has counted, in its own terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeCount {
    /// As the runtime calls it: `total_allocated_objects` of Ruby's `GC.stat`.
    pub name: Arc<str>,
    /// So many.
    pub value: u64,
}

/// Figures of the whole process at one moment, as the system and the allocator give them; `None`
/// where nobody says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Resident memory.
    pub resident: Option<Bytes>,
    /// Resident memory, what is shared divided by the number of those who share it.
    pub proportional: Option<Bytes>,
    /// Page faults since the start that needed no I/O.
    pub minor_faults: Option<u64>,
    /// Page faults since the start that needed I/O.
    pub major_faults: Option<u64>,
    /// What the program has asked its allocator for and not given back.
    pub allocator_in_use: Option<Bytes>,
    /// What the allocator has asked the system for and not given back.
    pub allocator_held: Option<Bytes>,
    /// The most resident memory that the program has had so far.
    pub most_resident: Option<Bytes>,
}

/// What a managed runtime's collector has counted since the process began (a forked one by its fork), and what its
/// heap holds, at one moment; `None` where nobody says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collector {
    /// Words allocated in the young heap.
    pub minor_words: Option<u64>,
    /// Words that moved from there to the old heap.
    pub promoted_words: Option<u64>,
    /// Words allocated in the old heap, the promoted ones included.
    pub major_words: Option<u64>,
    /// Finished collections of the young heap.
    pub minor_collections: Option<u64>,
    /// Finished collections of the whole heap.
    pub major_collections: Option<u64>,
    /// Finished compactions.
    pub compactions: Option<u64>,
    /// Words that the old heap has from the system.
    pub heap_words: Option<u64>,
    /// The most that it has had.
    pub top_heap_words: Option<u64>,
    /// Words that the young heap has room for; of several (one for each domain), the most that one has had.
    pub young_heap_words: Option<u64>,
    /// They are those of the last collection of the young heap: what came after it is not in them.
    pub is_behind: bool,
    /// What the runtime's own sampler has allocated for the recording is in them.
    pub has_samplers_share: bool,
}

impl Collector {
    /// All figures, in the order in which they are told.
    pub fn figures(&self) -> [Option<u64>; 9] {
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
}

impl From<[Option<u64>; 9]> for Collector {
    /// From what [`figures`](Collector::figures) gives.
    fn from(figures: [Option<u64>; 9]) -> Self {
        let [minor_words, promoted_words, major_words, rest @ ..] = figures;
        let [minor_collections, major_collections, compactions, heaps @ ..] = rest;
        let [heap_words, top_heap_words, young_heap_words] = heaps;
        Self {
            minor_words,
            promoted_words,
            major_words,
            minor_collections,
            major_collections,
            compactions,
            heap_words,
            top_heap_words,
            young_heap_words,
            is_behind: false,
            has_samplers_share: false,
        }
    }
}

/// What a thread is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadName {
    /// The thread.
    pub thread: ThreadId,
    /// The kernel's number for it; used again after its end.
    pub os_id: u32,
    /// At most 15 bytes on Linux.
    pub name: Arc<str>,
}

/// An object file, as it was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// What frames call it. The first is 0, and so on; one that is mapped anew has a new number.
    pub number: u32,
    /// First address of its text.
    pub start: u64,
    /// One past the last address of its text.
    pub end: u64,
    /// Run-time address minus the address stated in the file.
    pub bias: u64,
    /// The linker's fingerprint of its contents; empty if it has none.
    pub build_id: Vec<u8>,
    /// As the loader knew it.
    pub path: Arc<str>,
}

/// One of the sources of samples: an allocator, a runtime's heap, a library's tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampler {
    /// What allocations call it. 0 is the one that the trace's own sampling rate is of.
    pub id: SamplerId,
    /// For people: `malloc`, `ocaml`, `ruby`.
    pub name: Arc<str>,
    /// What is hit.
    pub unit: SampledUnit,
    /// Probability that a unit is hit, in (0, 1], from now on.
    pub rate: f64,
}

impl Eq for Sampler {}

/// What a sampler hits or misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampledUnit {
    /// Each byte of a block.
    Byte,
    /// Each word of a block.
    Word,
    /// A block as a whole.
    Object,
}

/// A step of a garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Which part of the heap.
    pub generation: Generation,
    /// As the runtime counts them. Those between the last number of this generation that was told and
    /// this one have passed as well, and nobody says when.
    pub number: u64,
    /// Whether it begins; else it ends.
    pub begins: bool,
}

/// Which part of a heap a garbage collector goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// Young blocks.
    Minor,
    /// All blocks.
    Major,
    /// All blocks, which are moved together.
    Compaction,
}

/// A block that realloc or truncation changed in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resize {
    /// The block.
    pub id: AllocationId,
    /// Its new size.
    pub size: Size,
}

/// `key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// What it is called.
    pub key: Arc<str>,
    /// What it is.
    pub value: Arc<str>,
}

/// Events that are not in the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Why, for people and programs: `ring-full`.
    pub reason: Arc<str>,
    /// How many since the last such fact with the same reason.
    pub count: u64,
}

/// What is known of a process; empty or 0 where nobody says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its arguments, the program's name first.
    pub arguments: Vec<Arc<str>>,
    /// Path of the program.
    pub executable: Arc<str>,
    /// Its number.
    pub pid: u64,
    /// Its parent's number.
    pub parent_pid: u64,
    /// Machine.
    pub host: Arc<str>,
    /// The container it runs in.
    pub container: Arc<str>,
    /// `native`, `ocaml`, `ruby`.
    pub runtime: Arc<str>,
    /// The runtime's version.
    pub runtime_version: Arc<str>,
    /// The version of what watches it.
    pub agent_version: Arc<str>,
    /// When it began, by the wall clock.
    pub start: Option<Timestamp>,
    /// What it was run as: of `redis-server`, which is a link to `redis-check-rdb`, the first.
    pub name: Arc<str>,
    /// What it has called itself since, for `ps`: `postgres: checkpointer`.
    pub title: Arc<str>,
}

/// Where a forked process's blocks were born that have no birth in its own trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The parent's number.
    pub pid: u64,
    /// The file name of its trace; empty if it has none.
    pub trace: Arc<str>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// By becoming another program.
    Exec,
    /// Nobody saw it.
    Unknown,
}
