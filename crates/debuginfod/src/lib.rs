//! Debug information from servers that have it by build id: a client of debuginfod, which belongs to elfutils.
//!
//! What it fetches is kept where elfutils' own client keeps it, so that debuggers and Lifetrace fetch a file once for all
//! of them. A server is asked for `URL/buildid/<hex>/debuginfo`; the variables of the environment are those of
//! `debuginfod(7)`:
//!
//! - `DEBUGINFOD_URLS`: the servers, separated by blanks. Nothing is fetched from anywhere if it is not set.
//! - `DEBUGINFOD_CACHE_PATH`: the folder for what is fetched; `debuginfod_client` in the user's cache if it is not set.
//! - `DEBUGINFOD_TIMEOUT`: how many seconds may be spent in all, [`PATIENCE`] if it is not set. Who asks waits for names
//!   while a program is being recorded, so this counts for all files together.
//! - `DEBUGINFOD_MAXSIZE`: the length in bytes above which a file is not fetched.
//!
//! A file appears in the cache when it is whole. That no server has one is noted there by an empty file, and believed for
//! [`MISS_COUNTS`].
#![forbid(unsafe_code)]

mod cache;
mod client;

pub use cache::MISS_COUNTS;
pub use client::{Client, Failure, PATIENCE};
