//! Snapshots in our own format, `.lth`: read, and written of what another program has dumped.

mod loading;
mod reading;
mod resolving;
mod snapshot;
mod target;
mod writing;

pub use reading::read;
pub use snapshot::{ReadError, Snapshot};
pub use writing::{Described, write};

#[cfg(test)]
mod tests;
