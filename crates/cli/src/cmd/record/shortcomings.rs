//! What is missing when a recording is over.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;

use lifetrace_human as human;
use lifetrace_recorder::{Execution, Notice, Outcome, SessionEnd, SessionReport, Unheard};
use lifetrace_study::notices;

/// Traces of children that are described; the others are only counted.
pub(super) const SHOWN: usize = 5;

const NOTHING: &str = "nothing was recorded: no process has loaded the agent (statically linked and \
setuid programs do not, nor do programs that are started with an emptied environment, or with a C library older \
than glibc 2.16)";

const TOO_SHORT: &str = "nothing was recorded: what has loaded the agent had ended before it could be \
traced (killed at its start?); run it again";

/// Whether no process has loaded the agent at all.
pub(super) fn has_nothing(outcome: &Outcome) -> bool {
    outcome.sessions.is_empty() && outcome.empty == 0 && outcome.executions.is_empty()
}

/// Everything that a user may expect in the traces and that is not there.
pub(super) fn shortcomings(outcome: &Outcome) -> Vec<String> {
    // A launcher need not have the heap that is sampled in what it starts.
    let is_found = outcome.sessions.iter().any(|session| session.samples > 0);
    // Memory beside malloc is many a program's own business, and no reason to speak up if it is quiet.
    let is_news = |notice: &Notice| match notice {
        _ if notice.is_of_absence() => !is_found,
        Notice::Became { .. } | Notice::UnexplainedMemory => false,
        // What is sampled is there.
        Notice::NotLookedThrough(_) | Notice::HeardFrom(..) => false,
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
        .chain(unheard(outcome))
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
        .filter_map(|(session, notice)| sentence(session, notice))
        .collect();
    let more = told.len().saturating_sub(SHOWN);
    if more > 0 {
        told.truncate(SHOWN);
        let more = human::count(more as f64);
        told.push(format!("{more} more have executed programs that are not traced"));
    }
    told
}

/// What traced programs have become, and was not heard of. Where something was sampled, that is likely to be what was
/// wanted.
fn unheard(outcome: &Outcome) -> Vec<String> {
    if outcome.sessions.iter().any(|session| session.samples > 0) {
        return Vec::new();
    }
    let mut told: Vec<String> = outcome.executions.iter().map(of_execution).collect();
    told.dedup();
    let more = told.len().saturating_sub(SHOWN);
    if more > 0 {
        told.truncate(SHOWN);
        told.push(format!("{more} more have executed programs of which nothing was heard"));
    }
    told
}

fn of_execution(execution: &Execution) -> String {
    let program = human::printable(&execution.program);
    match &execution.what {
        Unheard::Ended => format!(
            "{program} executed a program that is not traced, and had ended before it could be seen why: mostly \
             LD_PRELOAD or LIFETRACE_SOCKET was not in its environment, or its root directory was another one, or \
             it was statically linked"
        ),
        Unheard::Elsewhere { program: other, library } => format!(
            "{program} executed {other}, which is not traced: in its root directory is no {library}; copy that there, to \
             the same path, or run lifetrace in that root",
            other = human::printable(other),
            library = shown(library)
        ),
        Unheard::Silent => format!(
            "{program} executed a program that was told to load the agent and has not, or cannot reach this \
             command's socket; `lifetrace doctor PROGRAM` may say why"
        ),
    }
}

fn sentence(session: &SessionReport, notice: &Notice) -> Option<String> {
    let words = notices::of_program(&notice.code())?;
    Some(format!("{}: {} {words}", shown(&session.path), program(session)))
}

fn shortcomings_of(session: &SessionReport, is_news: impl Fn(&Notice) -> bool) -> Vec<String> {
    let path = shown(&session.path);
    let saved = human::bytes(session.bytes as f64);
    let error = session.error.as_ref().map(|error| {
        let advice = match error.kind() {
            ErrorKind::StorageFull => {
                "; -o names a place with more room, a greater --interval writes less"
            }
            _ => "",
        };
        format!("{path}: {error}; writing ended there, {saved} of whole events are saved{advice}")
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
    // Who attaches knows that it is late.
    let is_told = |notice: &&Notice| is_news(notice) && !matches!(notice, Notice::BeganLate(_));
    let notices = session.notices.iter().filter(is_told);
    let notices = notices.filter_map(|notice| sentence(session, notice));
    error.into_iter().chain(full).chain(damage).chain(losses).chain(notices).collect()
}

pub(super) fn program(session: &SessionReport) -> Cow<'_, str> {
    human::printable(&session.program)
}

/// The name of a trace, which may have a program's name in it, that of a file on the disk.
pub(super) fn shown(path: &Path) -> String {
    human::printable(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use lifetrace_recorder::{LostReason, Refusal, Untraced, plain_notices};
    use lifetrace_trace::ids::Timestamp;

    use super::*;

    fn absence() -> Notice {
        plain_notices().find(Notice::is_of_absence).unwrap()
    }

    pub(in crate::cmd::record) fn session(pid: u32, path: &str) -> SessionReport {
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
    fn a_launcher_that_led_nowhere_is_explained() {
        let execution = |what| Execution { program: "env".into(), what };
        let elsewhere = Unheard::Elsewhere { program: "/bin/x".into(), library: "/c/y.so".into() };
        let what = [Unheard::Ended, Unheard::Ended, elsewhere];
        let executions: Vec<_> = what.map(execution).into();
        let outcome = Outcome { executions: executions.clone(), ..Outcome::default() };
        let told = shortcomings(&outcome);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("env executed a program that is not traced, and had ended"));
        assert!(
            told[1].contains("/bin/x, which is not traced: in its root directory is no /c/y.so")
        );
        let sessions = vec![session(7, "x")];
        assert!(shortcomings(&Outcome { sessions, executions, ..Outcome::default() }).is_empty());
    }

    #[test]
    fn a_launcher_without_the_heap_is_no_news() {
        let launcher = || SessionReport { samples: 0, notices: vec![absence()], ..session(7, "x") };
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
}
