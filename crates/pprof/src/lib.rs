//! Profiles for pprof, and for all that read its files: gzipped protocol buffers, in which a sample is a
//! backtrace with its numbers.
//!
//! [`proto`] has the messages, [`tables`] what they refer to by number, [`whole`] makes whole numbers of
//! estimates; [`write()`] packs. What a profile is about is up to the user; of a heap as it is now, [`heap`]
//! knows it.
//! The same profile has the same bytes: no time of writing, and tables in the order in which they were
//! filled.

#![forbid(unsafe_code)]

pub mod heap;
#[expect(missing_docs, reason = "most fields say what they are")]
pub mod proto;
pub mod tables;
pub mod whole;

use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use prost::Message;

/// Writes a profile, gzipped.
///
/// # Errors
/// The output's.
pub fn write(profile: &proto::Profile, output: impl Write) -> io::Result<()> {
    let mut output = GzBuilder::new().mtime(0).write(output, Compression::default());
    output.write_all(&profile.encode_to_vec())?;
    output.finish()?.flush()
}
