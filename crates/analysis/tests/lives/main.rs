//! What observers find out about lives, against naive twins and programs whose habits are known.
//!
//! ```text
//! program    blocks with births and deaths, told in order to an observer
//! lifetimes  ages and collections by callsite, what is temporary
//! leaks      who leaks, and who does not
//! ```

mod leaks;
mod lifetimes;
mod program;
