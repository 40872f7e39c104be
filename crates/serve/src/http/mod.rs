//! HTTP for programs on this machine: one request a connection, over loopback or a Unix socket.
//!
//! ```text
//! Listener ─ peer: whose is it ─ server: heads are read, many at once, without threads ─ a thread ─ Site ─ Response
//! ```
//!
//! Heads of requests are parsed by the crate `httparse`; the rest is here, since what is wanted is less than what servers
//! do: no bodies, no second request, and nothing that grows with what others send. A connection that says nothing costs
//! some bytes and a descriptor, gives way to newer ones, and is closed after a few seconds.

pub mod address;
mod listener;
mod peer;
pub mod request;
pub mod response;
mod server;
mod stream;

pub use address::Address;
pub use listener::Listener;
pub use request::{Method, Request};
pub use response::{Body, Response};
pub use server::{Refused, Site, Stop, serve};
