//! What is said on stderr when a recording is over: what there is, what is missing, what to type
//! next.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use lifetrace_human as human;
use lifetrace_recorder::{Notice, Outcome, SessionReport};
use lifetrace_report::Options;
use lifetrace_report::Resident;
use lifetrace_study::notices;
use lifetrace_study::open::Backtraces;

use super::quoting::quoted;
use super::shortcomings::{SHOWN, has_nothing, program, shortcomings, shown};
use super::untraced;
use crate::cmd::{report, snapshot};
use crate::{bar, terminal};

/// Messages about what is missing that are shown; the others are only counted.
const COMPLAINTS: usize = 20;

/// Whether something went wrong on our side: a trace could not be written to its end, or at all. That a program had ended
/// before it could be traced is its own affair.
pub(in super::super) fn has_failed(outcome: &Outcome) -> bool {
    let incomplete = |session: &SessionReport| session.error.is_some();
    let is_unrecorded = has_nothing(outcome) && outcome.missed == 0;
    is_unrecorded || outcome.sessions.iter().any(incomplete)
}

/// Tells about the traces, `command`'s own first; what is missing is told even if `quiet`.
pub fn tell(outcome: &Outcome, command: u32, quiet: bool) {
    if !quiet {
        tell_traces(outcome, command);
    }
    tell_snapshots(outcome, quiet);
    let shortcomings = shortcomings(outcome);
    for text in shortcomings.iter().take(COMPLAINTS) {
        terminal::complain(text);
    }
    if let Some(more @ 1..) = shortcomings.len().checked_sub(COMPLAINTS) {
        terminal::complain(format_args!("and {more} more such messages"));
    }
}

/// What has become of snapshots that nobody waited for: of many, the last ones, but each that failed.
fn tell_snapshots(outcome: &Outcome, quiet: bool) {
    let saved = outcome.snapshots.iter().filter_map(|it| it.result.as_ref().ok());
    let more = saved.clone().count().saturating_sub(SHOWN);
    if !quiet {
        saved.skip(more).for_each(snapshot::tell);
    }
    if more > 0 && !quiet {
        terminal::complain(format_args!("and {more} snapshots before"));
    }
    let failed = outcome.snapshots.iter().filter_map(|it| it.result.as_ref().err());
    failed.take(COMPLAINTS).for_each(terminal::complain);
}

/// What is to be said where a snapshot was to be taken at the end, and none was.
pub fn tell_missing_snapshot(outcome: &Outcome) {
    if outcome.snapshots.is_empty() && !has_nothing(outcome) {
        terminal::complain(
            "--snapshot-at-exit: no snapshot was taken: there was no heap of OCaml's or Ruby's, of which there are snapshots, \
             or its program was killed",
        );
    }
}

/// Tells about a trace that was not recorded here.
pub(super) fn tell_one(trace: &Path, quiet: bool, with_report: bool) {
    if !quiet {
        let path = quoted(trace.as_os_str());
        terminal::complain(format_args!("{}: written by Memtrace", shown(trace)));
        terminal::complain(format_args!("next: lifetrace report {path}"));
    }
    if with_report {
        report_of(trace);
    }
}

/// Prints the report of the command's trace on stdout.
pub(super) fn report(outcome: &Outcome, command: u32) {
    match main_session(outcome, command) {
        Some(session) => report_of(&session.path),
        None => terminal::complain("there is no trace of the command to report"),
    }
}

fn report_of(trace: &Path) {
    match report::print(trace, &Options::default()) {
        Ok(None) => {}
        Ok(Some(damage)) => terminal::complain(damage),
        Err(error) if terminal::is_closed_pipe(&error) => {}
        Err(error) => terminal::complain(format_args!("{error:#}")),
    }
}

/// The command's last program: the one that it has become, if it has executed others.
fn main_session(outcome: &Outcome, command: u32) -> Option<&SessionReport> {
    let own = outcome.sessions.iter().rev().find(|session| session.pid == command);
    own.or(outcome.sessions.first())
}

fn tell_traces(outcome: &Outcome, command: u32) {
    let described = described(outcome, command);
    let mut is_unremarked = true;
    for session in &described {
        let (text, memory) = description(session, &described);
        // One of them is enough to make people look.
        let memory = memory.filter(|_| std::mem::take(&mut is_unremarked));
        terminal::complain(memory.map_or(text.clone(), |memory| format!("{text}\n  {memory}")));
    }
    let remarks = [more(outcome, &described), empty(outcome.empty), untraced::told(outcome)];
    let is_explained = remarks[2].is_some() || !outcome.executions.is_empty();
    remarks.into_iter().flatten().for_each(terminal::complain);
    let is_vain = |session: &&SessionReport| session.samples == 0 && session.error.is_none();
    let hears_all = described.iter().all(|session| session.notices.iter().all(hears_all));
    if !described.is_empty() && described.iter().all(is_vain) && hears_all && !is_explained {
        terminal::complain("nothing was sampled; `--interval 1` records every block");
    }
    let next = worth_reporting(&described);
    let has_any = next.iter().any(|session| !is_vain(session));
    if has_any && next.iter().all(|session| session.path.is_file()) {
        terminal::complain(format_args!("next: {}", next_step(&next)));
    }
}

/// The main trace, and of the others those of which most was sampled.
fn described(outcome: &Outcome, command: u32) -> Vec<&SessionReport> {
    let Some(main) = main_session(outcome, command) else { return Vec::new() };
    let is_other = |session: &&SessionReport| !std::ptr::eq(*session, main) && session.samples > 0;
    let mut others: Vec<_> = outcome.sessions.iter().filter(is_other).collect();
    others.sort_by_key(|session| std::cmp::Reverse(session.allocated));
    others.truncate(SHOWN);
    [main].into_iter().chain(others).collect()
}

/// The traces that are not described.
fn more(outcome: &Outcome, described: &[&SessionReport]) -> Option<String> {
    let samples = |sessions: &mut dyn Iterator<Item = &SessionReport>| {
        sessions.map(|session| session.samples).sum::<u64>()
    };
    let all = outcome.sessions.len() as u64 + outcome.others.traces;
    let all_samples = samples(&mut outcome.sessions.iter()) + outcome.others.samples;
    let traces = all - described.len() as u64;
    (traces > 0).then(|| {
        let rest = all_samples - samples(&mut described.iter().copied());
        let rest = self::samples(rest);
        match traces {
            1 => format!("and 1 more trace with {rest}"),
            _ => format!("and {} more traces with {rest}", human::count(traces as f64)),
        }
    })
}

/// Those that were not kept: a process that executes another program may have had several.
fn empty(traces: u64) -> Option<String> {
    match traces {
        0 => None,
        1 => Some(
            "1 trace more is not kept, as nothing was sampled in it (--keep-empty keeps it)"
                .to_owned(),
        ),
        _ => Some(format!(
            "{} traces more are not kept, as nothing was sampled in them (--keep-empty keeps them)",
            human::count(traces as f64)
        )),
    }
}

/// Whether denser sampling would see more.
fn hears_all(notice: &Notice) -> bool {
    !matches!(notice, Notice::OwnAllocator | Notice::UnexplainedMemory)
}

/// The main trace, which is the first one, unless more was sampled in another: then all that have any.
fn worth_reporting<'s>(described: &[&'s SessionReport]) -> Vec<&'s SessionReport> {
    let sampled: Vec<_> = described.iter().copied().filter(|session| session.samples > 0).collect();
    let most = sampled.iter().map(|session| session.allocated).max().unwrap_or(0);
    match described.first() {
        Some(main) if main.allocated >= most => vec![main],
        _ => sampled,
    }
}

fn next_step(sessions: &[&SessionReport]) -> String {
    let paths: Vec<_> = sessions.iter().map(|session| quoted(session.path.as_os_str())).collect();
    let option = if paths.len() > 1 { "--per-process " } else { "" };
    format!("lifetrace report {option}{}", paths.join(" "))
}

fn samples(count: u64) -> String {
    let things = if count == 1 { "sample" } else { "samples" };
    format!("{} {things}", human::count(count as f64))
}

/// One of several. Also how little of its memory that explains, if it is little and no notice has said it.
fn description(session: &SessionReport, described: &[&SessionReport]) -> (String, Option<String>) {
    let samples = match session.error {
        Some(_) => "cut short".to_owned(),
        None => samples(session.samples),
    };
    let mut text = format!(
        "{} (process {}, {}): {}, {samples}",
        shown(&session.path),
        session.pid,
        called(session, described),
        trace_size(session)
    );
    if let Some(peak) = session.peak_resident {
        let _ = write!(text, ", up to {} resident", human::bytes(peak as f64));
    }
    if session.notices.contains(&Notice::UnexplainedMemory)
        && let Some(words) = notices::of_program(&Notice::UnexplainedMemory.code())
    {
        let _ = write!(text, "\n  the program {words}");
    }
    let mut memory = None;
    if session.path.is_file()
        && let Ok(reading) = lifetrace_study::read(&session.path, Backtraces::Skip, bar::watch)
    {
        let summary = reading.profile.summary();
        let allocated = human::amount(&summary.allocated, &summary.sampling);
        let _ = write!(text, "\n  allocated {allocated}");
        let live = human::amount(&summary.live, &summary.sampling);
        let _ = write!(text, "\n  live at the end {live}");
        let resident = Resident::of_all(&reading).filter(|_| summary.sampling.hears_all());
        memory = resident.and_then(|resident| resident.unexplained());
    }
    (text, memory)
}

/// Beside figures of a program's memory the size of a file needs a name.
fn trace_size(session: &SessionReport) -> String {
    format!("{} of trace", human::bytes(session.bytes as f64))
}

/// The program, and what tells the process from others of the same program.
fn called(session: &SessionReport, others: &[&SessionReport]) -> String {
    let (program, title) = (program(session), human::printable(&session.title));
    let mut called = match title.is_empty() {
        true => program.into_owned(),
        false if title.starts_with(&*program) => title.into_owned(),
        false => format!("{program}, which calls itself {title}"),
    };
    let first = others.iter().map(|session| session.start).min().unwrap_or(session.start);
    let after = Duration::from_micros(session.start.0.saturating_sub(first.0));
    let is_alike = |other: &&&SessionReport| other.program == session.program;
    if others.iter().filter(is_alike).count() > 1 && !after.is_zero() {
        let _ = write!(called, ", started after {}", human::duration(after));
    }
    called
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::record::shortcomings::tests::session;
    use lifetrace_recorder::{Unlooked, Unread, Untraced, plain_notices};

    #[test]
    fn there_are_words_for_whatever_is_recorded() {
        let became = Untraced::ALL.map(|why| Notice::Became { why, program: "/x".into() });
        let unread = Unread::ALL.map(|what| Notice::Unread { what, file: "/x.so".into() });
        let unlooked = Unlooked::ALL.map(Notice::NotLookedThrough);
        let late = [
            Notice::BeganLate(None),
            Notice::BeganLate(Some(std::time::Duration::from_secs(7200))),
            Notice::Unheard(std::time::Duration::from_secs(5)),
            Notice::NeverHeard(lifetrace_recorder::SourceName::MALLOC),
            Notice::HeardFrom(lifetrace_recorder::SourceName::MALLOC, std::time::Duration::ZERO),
        ];
        for notice in plain_notices().chain(became).chain(unread).chain(unlooked).chain(late) {
            assert!(notices::of_program(&notice.code()).is_some(), "{notice:?}");
        }
    }

    #[test]
    fn the_main_trace_is_of_what_the_command_became() {
        let sessions = vec![session(7, "shim"), session(8, "child"), session(7, "perl")];
        let outcome = Outcome { sessions, ..Outcome::default() };
        assert_eq!(main_session(&outcome, 7).unwrap().path, Path::new("perl"));
        assert_eq!(main_session(&outcome, 9).unwrap().path, Path::new("shim"));
        assert!(main_session(&Outcome::default(), 7).is_none());
    }

    #[test]
    fn a_trace_cut_short_is_a_failure() {
        let mut outcome = Outcome { sessions: vec![session(7, "x")], ..Outcome::default() };
        assert!(!has_failed(&outcome));
        outcome.sessions[0].error = Some(std::io::ErrorKind::StorageFull.into());
        assert!(has_failed(&outcome));
        assert!(has_failed(&Outcome::default()));
        assert!(!has_failed(&Outcome { missed: 1, ..Outcome::default() }));
    }

    #[test]
    fn a_trace_that_is_no_file_has_no_totals() {
        let mut device = session(7, "/dev/null");
        let text = "/dev/null (process 7, perl): 2 KiB of trace, 1,234 samples";
        assert_eq!(description(&device, &[]), (text.to_owned(), None));
        device.peak_resident = Some(3 << 20);
        assert_eq!(description(&device, &[]).0, format!("{text}, up to 3 MiB resident"));
    }

    #[test]
    fn what_was_not_kept_is_no_failure() {
        let outcome = Outcome { empty: 1500, ..Outcome::default() };
        assert!(!has_failed(&outcome) && shortcomings(&outcome).is_empty());
        let told = empty(outcome.empty).unwrap();
        assert!(told.starts_with("1,500 traces more are not kept"), "{told}");
        assert_eq!(empty(0), None);
    }

    #[test]
    fn processes_of_one_program_are_told_apart() {
        let titled = |pid, title: &str| SessionReport { title: title.into(), ..session(pid, "x") };
        let sessions = [titled(7, "perl: writer"), titled(9, "cleaner"), titled(10, "")];
        let others: Vec<_> = sessions.iter().collect();
        let told: Vec<_> = others.iter().map(|session| called(session, &others)).collect();
        let expected = [
            "perl: writer",
            "perl, which calls itself cleaner, started after 2.00 s",
            "perl, started after 3.00 s",
        ];
        assert_eq!(told, expected);
        assert_eq!(called(others[2], &others[2..]), "perl");
    }

    #[test]
    fn what_has_most_samples_is_worth_a_look() {
        let check = |samples: &[u64], expected: &str| {
            let named = samples.iter().enumerate().map(|(number, samples)| SessionReport {
                samples: *samples,
                allocated: *samples,
                ..session(7, &format!("{number}.lt"))
            });
            let sessions: Vec<_> = named.collect();
            let next = next_step(&worth_reporting(&sessions.iter().collect::<Vec<_>>()));
            assert_eq!(next, format!("lifetrace report {expected}"), "{samples:?}");
        };
        check(&[0], "0.lt");
        check(&[9], "0.lt");
        check(&[9, 9, 3], "0.lt");
        check(&[9, 10, 3], "--per-process 0.lt 1.lt 2.lt");
        check(&[0, 10], "1.lt");
        check(&[0, 10, 1], "--per-process 1.lt 2.lt");
    }
}
