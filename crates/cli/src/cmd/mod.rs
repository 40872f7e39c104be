//! The verbs, one file each: `Args` says what may be typed, `run` does it and decides the exit code.

use std::process::ExitCode;

use lifetrace_study::damages::Damages;

use crate::viewing::Made;
use crate::{gates, terminal};

pub mod attach;
pub mod check;
pub mod collect;
pub mod completions;
pub mod convert;
pub mod detach;
pub mod diff;
pub mod doctor;
pub mod dump;
pub mod env;
pub mod export;
pub mod heap;
pub mod help;
pub mod import;
pub mod info;
pub mod join;
pub mod library;
pub mod live;
mod lth;
pub mod man;
pub mod ps;
pub mod rate;
pub mod record;
pub mod repair;
pub mod report;
pub mod slice;
pub mod snapshot;
pub mod strip;
pub mod view;

/// Success, or the complaint about damage that was met. A trace that was not finished is no failure.
fn conclude(damages: &Damages) -> ExitCode {
    damages.messages().iter().for_each(terminal::complain);
    if damages.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What is to be said of traces that are in a page.
fn conclude_page(made: &Made) -> ExitCode {
    gates::conclude_sought(&made.sought, false);
    worst(made.damages.iter().map(conclude).collect::<Vec<_>>())
}

/// Success if all are that.
fn worst(codes: impl IntoIterator<Item = ExitCode>) -> ExitCode {
    codes.into_iter().find(|code| *code != ExitCode::SUCCESS).unwrap_or(ExitCode::SUCCESS)
}
