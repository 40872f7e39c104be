//! A program that somebody wants to record.

use std::ffi::OsStr;

use lifetrace_recorder::{DebugInfo, Examined, examine};

use super::finding::{Finding, State};
use super::symbols;

/// Whether it can be recorded, and whether its functions have lines.
pub fn examined(name: &OsStr) -> Vec<Finding> {
    const SUBJECT: &str = "the program";
    match examine(name) {
        Err(error) => vec![Finding::new(SUBJECT, State::Fails, error.to_string())],
        Ok(Examined { path, image }) => {
            let told = match path == image {
                true => format!("{} can be recorded.", path.display()),
                false => {
                    format!("{} can be recorded; {} runs it.", path.display(), image.display())
                }
            };
            let lines = symbols::finding("its lines", &image, DebugInfo::of(&image));
            vec![Finding::new(SUBJECT, State::Works, told), lines]
        }
    }
}
