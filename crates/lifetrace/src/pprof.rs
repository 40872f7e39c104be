//! Profiles for `/debug/pprof/heap` and `/debug/pprof/allocs`, which `go tool pprof`, Parca, Pyroscope and
//! others fetch.
//!
//! Both have Go's four numbers (objects and bytes, allocated since the session began and in use now), in
//! gzipped protocol buffers: answer with the content type `application/octet-stream`. They differ in what
//! readers show first. For `?seconds=N` take a [`snapshot`](crate::snapshot()), wait, and answer with what
//! happened [since](crate::Snapshot::since). The example `server` has handlers for axum.

use crate::error::Error;
use crate::session::snapshot;

/// The session that is under way, in which readers show first what is in use.
///
/// # Errors
/// [`Error::NoSession`], [`Error::TooLarge`].
pub fn heap() -> Result<Vec<u8>, Error> {
    snapshot().ok_or(Error::NoSession)?.to_pprof()
}

/// The session that is under way, in which readers show first what was allocated.
///
/// # Errors
/// As of [`heap`].
pub fn allocs() -> Result<Vec<u8>, Error> {
    snapshot().ok_or(Error::NoSession)?.to_pprof_allocs()
}
