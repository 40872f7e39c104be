//! Reads snapshots.

use std::io::Read;

use lifetrace_trace::lth::{Found, Item, Reader};

use super::loading::Loading;
use super::resolving::finish;
use super::snapshot::{ReadError, Snapshot};

/// Reads a snapshot.
///
/// # Errors
/// [`ReadError`]. Of a snapshot that is damaged in part, what can be read is answered, and the rest is told.
pub fn read(input: impl Read) -> Result<Snapshot, ReadError> {
    let mut reader = Reader::open(input)?;
    let mut loading = Loading::default();
    while let Some(item) = reader.next()? {
        match item {
            Item::Block { number, next, packet, shape, found: Found::Block(block) } => {
                loading.block(number, next, &block, (packet, shape))?;
            }
            Item::Block { number, next, found: Found::Fields(fields), .. } => {
                loading.fields(number, next, fields)?;
            }
            Item::Root(root, next) => loading.root(root, next),
            Item::Kind(id, kind) => loading.kind(id, kind),
            Item::Site(id, site) => loading.site(id, site),
            Item::Sample(sample) => loading.samples.push(sample),
        }
    }
    let (header, outcome) = (reader.header().clone(), reader.outcome().cloned());
    let damages = reader.damages().to_vec();
    drop(reader);
    Ok(Snapshot { damages, ..finish(loading, header, outcome)? })
}
