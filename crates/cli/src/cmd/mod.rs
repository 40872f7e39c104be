//! The verbs, one file each: `Args` says what may be typed, `run` does it and decides the exit code.

use std::process::ExitCode;

use crate::damage::{Damage, Extent};
use crate::terminal;

pub mod completions;
pub mod convert;
pub mod dump;
pub mod info;
pub mod record;
pub mod report;

/// Success, or the complaint about damage that was met after some events.
fn conclude(damage: Option<&Damage>) -> ExitCode {
    match damage {
        None => ExitCode::SUCCESS,
        Some(damage) => {
            terminal::complain(damage.message(Extent::Events));
            ExitCode::FAILURE
        }
    }
}
