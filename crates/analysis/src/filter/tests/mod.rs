//! Tests of what filters mean, across their files.

mod backtraces;
mod canonical;
mod documentation;
mod lives;
mod mistakes;
mod naive;
mod strategies;
mod views;

use super::Filter;

/// A filter that must be one.
fn filter(text: &str) -> Filter {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}
