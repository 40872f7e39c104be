//! Memtrace's CTF format, versions 1 to 3: `docs/format-memtrace.md` has every byte of it.
//!
//! A trace is a sequence of packets of at most 32 KiB, each with a header that bounds its times and
//! ids. Whatever is written is written a whole packet at a time, so a recorder that is killed leaves
//! a readable trace. Backtraces are coded against a cache of frames that lives as long as the trace;
//! each packet's header quotes one entry of the writer's cache, so that a reader that has drifted
//! finds out.
//!
//! ```text
//! Reader  <- Packets (headers, cut and foreign packets) <- Read
//!    \- Decoder: one event at a time, state per domain
//! Writer  -> Stream, one per domain: the packet being filled -> Write
//! both sides of: packet (headers), info, event_codec, backtrace_codec, location_codec, cursor
//! ```
//!
//! Memory is bounded on both sides: one packet, one cache per domain (at most [`MAX_DOMAINS`] of
//! them when reading), the last backtrace (at most [`MAX_DEPTH`] frames when reading), and, in the
//! reader, each distinct frame's locations.

mod backtrace_codec;
mod copy;
mod cursor;
mod decoder;
mod error;
mod event_codec;
mod info;
mod listing;
mod location_codec;
mod lookalike;
mod new_allocation;
mod packet;
mod packets;
mod reader;
mod stream;
mod writer;

pub use backtrace_codec::MAX_DEPTH;
pub use copy::{CopyError, copy};
pub use error::Error;
pub use listing::{Listing, PacketFacts};
pub use lookalike::Lookalike;
pub use new_allocation::NewAllocation;
pub use packet::{MAX_PACKET, Version};
pub use reader::Reader;
pub use writer::Writer;

/// Most domains whose traces are kept apart when reading: twice what OCaml's runtime allows at a
/// time by default.
pub const MAX_DOMAINS: usize = 256;
