//! What a trace says, whatever its format.

use std::sync::Arc;

use crate::ids::{AllocationId, DomainId, LocationCode, Timestamp, Words};

/// Which allocator a block came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A generational collector's young heap. Sampled by length plus one header word.
    Minor,
    /// A generational collector's old heap, directly. Sampled by length plus one header word.
    Major,
    /// Outside any collected heap: malloc, bigarrays. Sampled by length, at least one word.
    External,
}

/// The birth of a sampled block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation<'a> {
    /// Its name in later events.
    pub id: AllocationId,
    /// Its length.
    pub length: Words,
    /// How many of its words the sampler hit; at least 1.
    pub samples: u64,
    /// Where it lives.
    pub source: Source,
    /// Who allocated it.
    pub domain: DomainId,
    /// Outermost frame first.
    pub backtrace: &'a [LocationCode],
    /// How many leading frames are surely those of the previous allocation's backtrace as the
    /// reader gave it (the first one's is 0): a consumer need only look at the frames after these.
    /// A lower bound: where domains alternate it is 0, whatever the backtraces have in common.
    pub common_prefix: usize,
}

/// The innermost frame of an allocation that is no block of its own, but the words that a realloc
/// added to one. It stands for [`growth_location`]. No runtime's own frame has such a number.
pub const GROWTH: LocationCode = LocationCode(0x3ea1_10c6_7265_6177);

/// What [`GROWTH`] stands for, so that people and other readers see it in a backtrace.
pub fn growth_location() -> Location {
    remark(GROWTH_NAME)
}

/// A location that is no place in a program, but something to know of a backtrace.
pub fn remark(name: &str) -> Location {
    Location { filename: "".into(), line: 0, start_char: 0, end_char: 0, defname: name.into() }
}

/// Whether that is a [`remark`], whose names are in brackets.
pub fn is_remark(location: &Location) -> bool {
    location.filename.is_empty() && location.defname.starts_with('[')
}

/// The name in [`growth_location`].
pub const GROWTH_NAME: &str = "[realloc growth]";

/// The [remark] that is the innermost frame of a block that was built from bytes that were read, as
/// OCaml's Marshal does.
pub const DESERIALISED_NAME: &str = "[deserialised]";

const CLASS_BEGIN: &str = "[class ";
const CLASS_END: &str = "]";

/// The [remark] that is the innermost frame of an object of that class.
pub fn class_remark(class: &str) -> Location {
    remark(&format!("{CLASS_BEGIN}{class}{CLASS_END}"))
}

/// The class of an object that has such an innermost frame; none if it is no [`class_remark`].
pub fn class_of(location: &Location) -> Option<&str> {
    if !is_remark(location) {
        return None;
    }
    location.defname.strip_prefix(CLASS_BEGIN)?.strip_suffix(CLASS_END)
}

/// The [remark] in the place of frames that are missing in the middle of a backtrace.
pub const LEFT_OUT_NAME: &str = "[frames left out]";

/// The [remark] in the place of outermost frames that are missing.
pub const TRUNCATED_NAME: &str = "[truncated backtrace]";

impl Allocation<'_> {
    /// Whether these are words added to a block, so bytes, but no new object.
    pub fn is_growth(&self) -> bool {
        self.backtrace.last() == Some(&GROWTH)
    }
}

/// Something that happened to a sampled block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// It was born.
    Allocation(Allocation<'a>),
    /// It moved from the minor to the major heap.
    Promotion(AllocationId),
    /// It was freed, or found dead.
    Collection(AllocationId),
}

/// A place in source code. A frame's locations are ordered outermost first: a function's own
/// location comes before those of the functions inlined into it. Names are shared, since a trace
/// has many more locations than files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Source file, or the object file where there is no line information.
    pub filename: Arc<str>,
    /// 1-based; 0 when unknown.
    pub line: u32,
    /// First column.
    pub start_char: u32,
    /// One past the last column, counted from the start of `line`.
    pub end_char: u32,
    /// Function (OCaml's "defname").
    pub defname: Arc<str>,
}

/// What a trace says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceInfo {
    /// Probability that a word is hit, in (0, 1].
    pub sample_rate: f64,
    /// Bits of a word: 32 or 64.
    pub word_bits: u8,
    /// Path of the program.
    pub executable_name: String,
    /// Machine.
    pub host_name: String,
    /// OCAMLRUNPARAM and the like, as the runtime prints them; empty elsewhere.
    pub runtime_params: String,
    /// Process.
    pub pid: u64,
    /// When tracing began.
    pub start_time: Timestamp,
    /// The domain that wrote the trace.
    pub initial_domain: DomainId,
    /// Free text of the one who recorded: for native traces, the command line.
    pub context: Option<String>,
}
