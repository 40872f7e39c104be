//! Heap snapshots: `docs/format-heap.md` has every byte of the format.
//!
//! A snapshot is a sequence of packets, each with a mark, a length and a checksum, and compressed by itself. There are
//! packets of kinds, roots, blocks, sites and samples; each tells the number of its first record, so that what is lost
//! with one is known, and is nothing but its own records.
//!
//! ```text
//! header header | kinds roots kinds blocks blocks … sites samples | end
//!
//! Writer -> drafts (kinds, roots, blocks, sites, samples) -> deflate -> framing -> Write
//! Reader <- records <- parts  <- deflate <- framing <- Read
//! ```
//!
//! Blocks come in the order in which a walk discovers them, so most references need no address: they are to the *next*
//! block that was not referred to before, and blocks are numbered in that order.
//!
//! Memory is bounded on both sides: by one packet, and by what a packet of its length may tell.

mod blocks;
mod deflate;
mod draft;
mod error;
mod header;
mod kinds;
mod listing;
mod losses;
mod model;
mod outcome;
mod packet;
mod reader;
mod roots;
mod samples;
mod shapes;
mod sites;
mod strings;
mod writer;

pub use crate::framing::fault::Cause;
pub use blocks::Found;
pub use error::{Damage, Error};
pub use header::Header;
pub use listing::{Listing, Stretch};
pub use model::{
    Address, Block, BlockNumber, Field, Form, Frame, Kind, KindId, Root, Sample, Site, SiteId,
};
pub use outcome::{Outcome, Totals};
pub use reader::{Item, Reader, detail};
pub use writer::Writer;

/// What is written. Readers of an earlier major version cannot read it.
pub const MAJOR: u64 = 1;

/// Readers of an earlier minor version pass over what is new.
pub const MINOR: u64 = 0;

/// Whether a file that begins so is a snapshot, perhaps a damaged one.
pub fn is_snapshot(beginning: &[u8]) -> bool {
    beginning.starts_with(&packet::MARK.0)
}
