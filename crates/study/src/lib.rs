//! Opens a trace, and reads it into what reports and exports are made of.
//!
//! ```text
//! input ─→ open ─→ reading ─→ Study ─→ replay(observer)
//!            │        │         twice: an input that is read again
//!            │        ├─ facts, origin: what it tells beside events, and what an import cannot answer
//!            │        └─ sought: frames that were typed, and that it has not
//!            ├─ damage, damages: what is wrong with it
//!            └─ glance: its head and its end only
//! succession: the files of one process as one trace
//! choice, sieve, question: what of it is looked at      accounts: what several views are made of
//! ```
//!
//! Nothing here knows of a command line or a terminal; [`watch`] shows how far reading has come.
#![forbid(unsafe_code)]

pub mod accounts;
pub mod choice;
pub mod damage;
pub mod damages;
pub mod facts;
pub mod glance;
pub mod input;
pub mod notices;
pub mod open;
pub mod origin;
pub mod question;
mod reading;
pub mod runtimes;
pub mod sieve;
pub mod sought;
mod study;
pub mod succession;
pub mod twice;
pub mod watch;

pub use reading::{Reading, read, read_admitted};
pub use study::{Study, admission, origin_of, replay};
