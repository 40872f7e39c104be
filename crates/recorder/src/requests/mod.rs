//! What commands want of a recorder that runs: what it is recording ([`listed`]), a snapshot ([`snapshot`]), the end of a
//! recording ([`release`]).
//!
//! Who asks says hello at the recorder's socket and sends one packet of fields with zero bytes between them, of which the
//! first says what is wanted ([`asking`]); [`answering`] tells them apart.

mod answering;
mod asking;
mod listed;
mod listing;
mod release;
mod snapshot;

pub(crate) use answering::answer;
pub use asking::AskError;
#[cfg(target_arch = "x86_64")]
pub(crate) use asking::{exchange, reach, socket_in};
pub(crate) use listed::{Listed, now};
pub use listed::{ListedSession, Recorded};
pub use listing::{Recorder, recorder_of, recorders};
pub(crate) use release::Release;
#[cfg(target_arch = "x86_64")]
pub(crate) use release::{request as request_release, understand as understand_release};
pub use snapshot::{Done, ask};
