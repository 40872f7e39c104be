//! What is said on stderr when a recording is over: what there is, what is missing, what to type
//! next.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use lifetrace_recorder::{Notice, Outcome, SessionEnd, SessionReport};

use super::untraced;
use crate::cmd::report::{self, Options};
use crate::open::Backtraces;
use crate::report::Resident;
use crate::{human, notices, summary, terminal};

/// Traces of children that are described; the others are only counted.
const SHOWN: usize = 5;

/// Messages about what is missing that are shown; the others are only counted.
const COMPLAINTS: usize = 20;

const NOTHING: &str = "nothing was recorded: no process has loaded the agent (statically linked and \
setuid programs do not, nor do programs that are started with an emptied environment, or with a C library older \
than glibc 2.16)";

const TOO_SHORT: &str = "nothing was recorded: what has loaded the agent had ended before it could be \
traced";

/// Whether something went wrong on our side: a trace could not be written to its end, or at all.
pub(super) fn has_failed(outcome: &Outcome) -> bool {
    let incomplete = |session: &SessionReport| session.error.is_some();
    has_nothing(outcome) || outcome.sessions.iter().any(incomplete)
}

fn has_nothing(outcome: &Outcome) -> bool {
    outcome.sessions.is_empty() && outcome.empty == 0
}

/// Tells about the traces, `command`'s own first; what is missing is told even if `quiet`.
pub(super) fn tell(outcome: &Outcome, command: u32, quiet: bool) {
    if !quiet {
        tell_traces(outcome, command);
    }
    let shortcomings = shortcomings(outcome);
    for text in shortcomings.iter().take(COMPLAINTS) {
        terminal::complain(text);
    }
    if let Some(more @ 1..) = shortcomings.len().checked_sub(COMPLAINTS) {
        terminal::complain(format_args!("and {more} more such messages"));
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
    let is_explained = remarks[2].is_some();
    remarks.into_iter().flatten().for_each(terminal::complain);
    let is_vain = |session: &&SessionReport| session.samples == 0 && session.error.is_none();
    let hears_all = described.iter().all(|session| session.notices.iter().all(hears_all));
    if !described.is_empty() && described.iter().all(is_vain) && hears_all && !is_explained {
        terminal::complain(
            "nothing was sampled; a smaller --interval or a greater --rate sees more",
        );
    }
    let next = worth_reporting(&described);
    if !next.is_empty() && next.iter().all(|session| session.path.is_file()) {
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
        let (count, rest) = (human::count(traces as f64), human::count(rest as f64));
        match traces {
            1 => format!("and 1 more trace with {rest} samples"),
            _ => format!("and {count} more traces with {rest} samples"),
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
    !matches!(notice, Notice::OwnAllocator | Notice::UnheardMemory)
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

/// One of several. Also how little of its memory that explains, if it is little and no notice has said it.
fn description(session: &SessionReport, described: &[&SessionReport]) -> (String, Option<String>) {
    let samples = match session.error {
        Some(_) => "cut short".to_owned(),
        None => format!("{} samples", human::count(session.samples as f64)),
    };
    let mut text = format!(
        "{} (process {}, {}): {}, {samples}",
        shown(&session.path),
        session.pid,
        called(session, described),
        human::bytes(session.bytes as f64)
    );
    if let Some(peak) = session.peak_resident {
        let _ = write!(text, ", up to {} resident", human::bytes(peak as f64));
    }
    if session.notices.contains(&Notice::UnheardMemory)
        && let Some(words) = notices::of_program(&Notice::UnheardMemory.code())
    {
        let _ = write!(text, "\n  the program {words}");
    }
    let mut memory = None;
    if session.path.is_file()
        && let Ok(reading) = summary::read(&session.path, Backtraces::Skip)
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

/// Everything that a user may expect in the traces and that is not there.
fn shortcomings(outcome: &Outcome) -> Vec<String> {
    // A launcher need not have the heap that is sampled in what it starts.
    let is_found = outcome.sessions.iter().any(|session| session.samples > 0);
    // Memory beside malloc is many a program's own business, and no reason to speak up if it is quiet.
    let is_news = |notice: &Notice| match notice {
        Notice::NoOCaml => !is_found,
        Notice::Became { .. } | Notice::UnheardMemory => false,
        _ => true,
    };
    let of_sessions = outcome.sessions.iter().flat_map(|it| shortcomings_of(it, is_news));
    let refusals = outcome.refusals.iter().map(|refusal| {
        let program = human::printable(&refusal.program);
        format!("process {} ({program}) is not traced: {}", refusal.pid, refusal.reason)
    });
    let others = (outcome.others.incomplete > 0).then(|| {
        let count = human::count(outcome.others.incomplete as f64);
        format!("{count} more traces are incomplete")
    });
    let is_empty = has_nothing(outcome) && outcome.refusals.is_empty();
    let nothing = if outcome.missed == 0 { NOTHING } else { TOO_SHORT };
    let became = executions(&outcome.sessions);
    of_sessions
        .chain(became)
        .chain(refusals)
        .chain(others)
        .chain(is_empty.then(|| nothing.to_owned()))
        .collect()
}

/// Where programs have executed others that are not traced. A build may do that a thousand times.
fn executions(sessions: &[SessionReport]) -> Vec<String> {
    let is_one = |notice: &Notice| matches!(notice, Notice::Became { .. });
    // A launcher of which nothing was sampled has done what it is there for.
    let notices = sessions
        .iter()
        .filter(|session| session.samples > 0 || session.end != SessionEnd::Exec)
        .flat_map(|session| session.notices.iter().map(move |notice| (session, notice)));
    let mut told: Vec<String> = notices
        .filter(|(_, notice)| is_one(notice))
        .filter_map(|(session, notice)| said(session, notice))
        .collect();
    let more = told.len().saturating_sub(SHOWN);
    if more > 0 {
        told.truncate(SHOWN);
        let more = human::count(more as f64);
        told.push(format!("{more} more have executed programs that are not traced"));
    }
    told
}

fn said(session: &SessionReport, notice: &Notice) -> Option<String> {
    let words = notices::of_program(&notice.code())?;
    Some(format!("{}: {} {words}", shown(&session.path), program(session)))
}

fn shortcomings_of(session: &SessionReport, is_news: impl Fn(&Notice) -> bool) -> Vec<String> {
    let path = shown(&session.path);
    let saved = human::bytes(session.bytes as f64);
    let error = session.error.as_ref().map(|error| {
        format!("{path}: {error}; writing ended there, {saved} of whole events are saved")
    });
    let full = session.is_full.then(|| {
        let program = program(session);
        format!("{path}: the trace ended at {saved}, by --max-size; {program} went on without us")
    });
    let damage = (session.end == SessionEnd::Damaged).then(|| {
        let pid = session.pid;
        format!(
            "{path}: process {pid} has written over the memory shared with its agent; the trace \
             has what was recorded before"
        )
    });
    let losses = session.lost.iter().map(|(reason, count)| match reason.code() {
        code @ notices::DEATH_UNHEARD => format!("{path}: {}", notices::lost(code, *count)),
        _ => {
            let count = human::count(*count as f64);
            format!("{path}: lost {count} events: {}", reason.description())
        }
    });
    let notices = session.notices.iter().filter(|notice| is_news(notice));
    let notices = notices.filter_map(|notice| said(session, notice));
    error.into_iter().chain(full).chain(damage).chain(losses).chain(notices).collect()
}

fn program(session: &SessionReport) -> Cow<'_, str> {
    human::printable(&session.program)
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

/// The name of a trace, which may have a program's name in it, that of a file on the disk.
fn shown(path: &Path) -> String {
    human::printable(&path.to_string_lossy()).into_owned()
}

/// As a shell has to be told.
fn quoted(path: &OsStr) -> String {
    let text = path.to_string_lossy();
    if text.contains(human::is_unsafe) {
        return format!("$'{}'", text.chars().map(ansi_c).collect::<String>());
    }
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%".contains(c);
    if text.chars().all(plain) && !text.starts_with('-') {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A character within `$'...'`.
fn ansi_c(character: char) -> String {
    match character {
        '\'' | '\\' => format!("\\{character}"),
        _ if human::is_unsafe(character) => format!("\\u{:04x}", u32::from(character)),
        _ => character.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lifetrace_recorder::{LostReason, Refusal, Untraced};
    use lifetrace_trace::ids::Timestamp;

    fn session(pid: u32, path: &str) -> SessionReport {
        SessionReport {
            path: path.into(),
            pid,
            parent: 1,
            program: "perl".into(),
            executable: "/usr/bin/perl".into(),
            command_line: "perl".into(),
            title: "".into(),
            start: Timestamp(1_000_000 * u64::from(pid)),
            samples: 1234,
            allocated: 1234,
            events: 2000,
            bytes: 2048,
            peak_resident: None,
            is_full: false,
            lost: Vec::new(),
            notices: Vec::new(),
            end: SessionEnd::Died,
            error: None,
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
    }

    #[test]
    fn what_is_missing_is_told() {
        let mut cut = session(7, "x");
        cut.error = Some(std::io::ErrorKind::StorageFull.into());
        cut.end = SessionEnd::Damaged;
        cut.is_full = true;
        cut.lost = vec![(LostReason::RingFull, 12)];
        cut.notices = vec![Notice::OwnAllocator];
        let refusal = Refusal { pid: 9, program: "ls".into(), reason: "no room".into() };
        let outcome =
            Outcome { sessions: vec![cut], refusals: vec![refusal], ..Outcome::default() };
        let told = shortcomings(&outcome);
        let parts = [
            "x: no storage space; writing ended there, 2 KiB",
            "x: the trace ended at 2 KiB, by --max-size",
            "x: process 7 has written over the memory",
            "x: lost 12 events: ring full",
            "x: perl brings an allocator of its own",
            "process 9 (ls) is not traced: no room",
        ];
        assert_eq!(told.len(), parts.len(), "{told:?}");
        for (text, part) in told.iter().zip(parts) {
            assert!(text.starts_with(part), "{text:?}");
        }
        assert_eq!(shortcomings(&Outcome::default()), [NOTHING]);
        let outcome = Outcome { missed: 3, ..Outcome::default() };
        assert_eq!(shortcomings(&outcome), [TOO_SHORT]);
        let sessions = vec![session(7, "x")];
        assert!(shortcomings(&Outcome { sessions, missed: 3, ..Outcome::default() }).is_empty());
    }

    #[test]
    fn a_launcher_without_the_heap_is_no_news() {
        let launcher =
            || SessionReport { samples: 0, notices: vec![Notice::NoOCaml], ..session(7, "x") };
        let told = |sessions| shortcomings(&Outcome { sessions, ..Outcome::default() });
        assert_eq!(told(vec![launcher()]).len(), 1);
        assert_eq!(told(vec![launcher(), session(8, "y")]), [""; 0]);
        assert_eq!(told(vec![launcher(), launcher()]).len(), 2);
    }

    #[test]
    fn of_many_programs_that_execute_others_a_few_are_told() {
        let became = || Notice::Became { why: Untraced::Static, program: "/bin/x".into() };
        let sessions = (0..2 * SHOWN as u32)
            .map(|pid| SessionReport { notices: vec![became()], ..session(pid, "x") });
        let told = shortcomings(&Outcome { sessions: sessions.collect(), ..Outcome::default() });
        assert_eq!(told.len(), SHOWN + 1);
        assert!(told[0].starts_with("x: perl executed /bin/x, which is not traced"), "{told:?}");
        assert!(told[SHOWN].starts_with(&format!("{SHOWN} more have executed")), "{told:?}");
    }

    #[test]
    fn a_trace_that_is_no_file_has_no_totals() {
        let mut device = session(7, "/dev/null");
        let text = "/dev/null (process 7, perl): 2 KiB, 1,234 samples";
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

    #[test]
    fn paths_can_be_pasted() {
        for (path, expected) in [
            ("a.ctf", "a.ctf"),
            ("a b.ctf", "'a b.ctf'"),
            ("it's", r"'it'\''s'"),
            ("-o", "'-o'"),
            ("a\u{202e}\x1b'", r"$'a\u202e\u001b\''"),
        ] {
            assert_eq!(quoted(OsStr::new(path)), expected);
        }
    }
}
