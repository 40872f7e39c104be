//! Our own format: `docs/format.md` has every bit of it, `docs/internals.md` why it is as it is.
//!
//! A trace is a sequence of packets, each with a mark, a length and a checksum. Data packets hold
//! four columns, each a stream of its own: events, their backtraces, the frames in these, and facts.
//! A stream is a sequence of binary decisions; for each a model says how likely it is, and learns
//! from the answer; an entropy coder spends as many bits as it was surprised by. What models have
//! learnt lasts from one checkpoint to the next. A checkpoint tells all that a reader must know to
//! go on from there: what comes before it may be damaged, or not be there at all.
//!
//! ```text
//! header header | checkpoint data data … | checkpoint data … | … | index end
//!
//! Writer -> segment (models) -> draft (encoders) -> data, packet -> Write
//! Reader <- piece <- decoding: segment (models) <- current (decoders) <- packets <- framing <- Read
//!                   in threads, where they are wanted: ahead
//!
//! models    events (live), backtraces (kept, runs, candidates, stacks), frames (text), facts (fact_codec)
//! beneath   number, probability, mixer -> coder
//! ```
//!
//! Both sides run the same code: each model takes a coder, gives it the answer, and gets it back;
//! when reading, what it gives means nothing.
//!
//! Memory is bounded on both sides, whatever the input: the models of one segment, one packet, 64
//! backtraces, 65 536 living blocks; in the writer the frames of one segment, in the reader all frames.
//! A packet tells of no more than a multiple of its length.

mod ahead;
mod backtraces;
mod candidates;
mod checkpoint;
mod class;
mod closing;
mod coder;
mod contexts;
mod current;
mod damages;
mod data;
mod decoding;
mod dictionary;
mod draft;
mod error;
mod events;
mod fact_codec;
mod facts;
mod frames;
mod header;
mod held_codec;
mod index;
mod kept;
mod listing;
mod live;
mod mixer;
mod names;
mod new_birth;
mod number;
mod opinions;
mod packet;
mod packets;
mod piece;
mod probability;
mod reader;
mod runs;
mod segment;
mod stacks;
mod text;
mod writer;

pub use closing::Closing;
pub use error::{Cause, Damage, Error};
pub use index::{CheckpointPosition, Index, Summary};
pub use listing::{ColumnSizes, Listing, PacketFacts, PacketKind};
pub use new_birth::NewBirth;
pub use reader::{BirthDetails, Item, Passed, Reader};
pub use writer::Writer;

/// What is written. Readers of an earlier major version cannot read it; this one reads all earlier ones.
pub const MAJOR: u64 = 2;

/// Readers of an earlier minor version pass over what is new.
pub const MINOR: u64 = 1;

/// A version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// See [`MAJOR`].
    pub major: u64,
    /// See [`MINOR`].
    pub minor: u64,
}

impl Version {
    /// The one that is written.
    pub const CURRENT: Version = Version { major: MAJOR, minor: MINOR };
}
