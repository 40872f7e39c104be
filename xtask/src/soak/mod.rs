//! Long runs that must pass: `cargo xtask soak` and a name.
//!
//! Each is a program that does much, run bare and recorded, or killed over and over, with a rule that
//! says what counts as a failure, and figures at the end. What is kept of a run lies in the folder
//! `soak` of cargo's target folder until the next run of the same name. The latest results are in
//! `docs/verification.md`.

mod alike;
mod attach;
mod collector;
mod compare;
mod cpython;
mod fixture;
mod friends;
mod junit;
mod killers;
mod kills;
mod package;
mod random;
mod smaps;
mod snapshots;
mod sqlite;
mod stress;
mod twice;
mod workshop;

use anyhow::{Context, Result, bail};

/// Runs the soak of that name; `stress` and `collector` can be told how long.
///
/// # Errors
/// If it fails, or cannot be run.
pub fn run(words: &[&str]) -> Result<()> {
    match *words {
        ["cpython", ref tests @ ..] => cpython::run(tests),
        ["sqlite"] => sqlite::run(),
        ["stress"] => stress::run(10),
        ["stress", "--minutes", minutes] => stress::run(minutes.parse().context("--minutes N")?),
        ["collector"] => collector::run(4),
        ["collector", "--sessions", sessions] => {
            collector::run_crowd(sessions.parse().context("--sessions N")?)
        }
        ["collector", "--minutes", minutes] => {
            collector::run(minutes.parse().context("--minutes N")?)
        }
        ["kills"] => kills::run(),
        ["killers", ref names @ ..] => killers::run(names),
        ["attach", ref words @ ..] => attach::run(words),
        ["friends", ref names @ ..] => friends::run(names),
        ["snapshots", ref names @ ..] => snapshots::run(names),
        _ => bail!(
            "soak cpython [TEST]..., soak sqlite, soak stress [--minutes N], soak kills, \
            soak killers [NAME]..., soak friends [NAME]..., soak snapshots [NAME]..., \
            soak attach [ROUNDS] [NAME]..., soak collector [--minutes N | --sessions N]"
        ),
    }
}
