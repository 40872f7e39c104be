//! `--fail-if`: what is typed, and what is told and returned in the end. Messages go to stderr, after the
//! report; a true condition makes the exit code 1.

use std::process::ExitCode;
use std::str::FromStr;

use lifetrace_analysis::filter::ParseError;
use lifetrace_report::Judged;
use lifetrace_study::sought::Sought;

use crate::terminal;

/// Reads conditions as they were typed.
///
/// # Errors
/// At the first that means nothing.
pub fn parse<T: FromStr<Err = ParseError>>(texts: &[String]) -> Result<Vec<T>, ParseError> {
    texts.iter().map(|text| text.parse()).collect()
}

/// Tells of the conditions that are true, or may be. Fails if one failed.
pub fn conclude(judged: &[Judged]) -> ExitCode {
    judged.iter().filter_map(Judged::message).for_each(terminal::complain);
    let has_failed = judged.iter().any(|judged| judged.failed);
    if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Tells of frames that were typed and that no trace has. Fails if that is to.
pub fn conclude_sought(sought: &Sought, is_failure: bool) -> ExitCode {
    let complaints: Vec<_> = sought.complaints().collect();
    complaints.iter().for_each(terminal::complain);
    if is_failure && !complaints.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
