//! What a user should know of a trace, in words. The codes are those that the recorder writes; a trace of
//! a later version may have others, which are shown as they are.

use std::borrow::Cow;
use std::time::Duration;

use lifetrace_human as human;
use lifetrace_trace::transfer::CONTINUES;

use crate::runtimes;

/// How notices begin that say that a process had run already when its recording began.
pub const BEGAN_LATE: &str = "began-late";

/// The code of deaths that were told late; nothing else of them is missing.
pub const DEATH_UNHEARD: &str = "death-unheard";

/// That so many events are not in the trace, for a reason that a trace names by a code, or that they are late.
pub fn lost(code: &str, count: u64) -> String {
    let events = human::count(count as f64);
    match code {
        DEATH_UNHEARD => format!(
            "{events} blocks were freed past the agent (by a function of the C library's own, for \
             one): they died some time before the trace says so"
        ),
        _ => {
            let code = human::printable(code);
            format!("{events} events were lost before they reached the trace ({code})")
        }
    }
}

/// What goes on after the program's name.
pub fn of_program(code: &str) -> Option<Cow<'static, str>> {
    let about = code.split_once(':');
    let about = about
        .and_then(|(code, subject)| of_subject(code, subject).or_else(|| of_cut(code, subject)))
        .or_else(|| about.and_then(|(code, subject)| of_recording(code, subject)));
    about.map(Cow::from).or_else(|| of_itself(code).map(Cow::from))
}

/// Of a notice that is about something in particular.
fn of_subject(code: &str, subject: &str) -> Option<String> {
    let why = match code {
        BEGAN_LATE => return of_late_begin(subject),
        "runtime-never-heard" => {
            let runtime = human::printable(subject);
            return Some(format!(
                "waited in its runtime of {runtime}, or ran without coming to a place where the sampling of its heap could \
                 begin: nothing of that heap is in the trace"
            ));
        }
        "runtime-heard-from" => return of_heard_runtime(subject),
        "became-unaware" => "LD_PRELOAD and LIFETRACE_SOCKET are not in its environment",
        "became-static" => "it is statically linked",
        "became-privileged" => "it has other rights, so that the system ignores the agent",
        "became-foreign" => {
            "it is of another C library or processor, or linked with a sanitizer's shared library"
        }
        _ => return of_file(code, subject),
    };
    let program = human::printable(subject);
    Some(format!("executed {program}, which is not traced: {why}; the trace ends there"))
}

/// Of a process that somebody has attached to.
fn of_late_begin(seconds: &str) -> Option<String> {
    let age = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
    Some(format!(
        "had run for {} when it was attached to: blocks from before are not known, and what lives is what was allocated \
         since",
        human::duration(age)
    ))
}

/// Of a runtime that ran already when its process was attached to: its name, and microseconds.
fn of_heard_runtime(subject: &str) -> Option<String> {
    let (runtime, micros) = subject.split_once(':')?;
    let after = human::duration(Duration::from_micros(micros.parse().ok()?));
    let runtime = human::printable(runtime);
    Some(format!(
        "came to a place where the sampling of its heap of {runtime} could begin {after} after the trace had: what it \
         allocated there before is not known"
    ))
}

/// Of a notice that is about a file that the program has loaded.
fn of_file(code: &str, file: &str) -> Option<String> {
    let file = human::printable(file);
    let why = match code {
        "file-unfound" => {
            return Some(format!(
                "has loaded {file}, and where that was there was no file of the same build when its functions were to be \
                 named: they are called by their offsets"
            ));
        }
        "debug-info-compressed" => "is compressed in a way that this build cannot read: no lines",
        "debug-info-split" => {
            "is split, and its .dwo or .dwp files are not there: no inlined functions"
        }
        "debug-info-shared" => {
            "is partly in a file made by dwz, which is not there: some names lack"
        }
        "debug-info-damaged" => "is damaged: no lines",
        "debug-info-unfetched" => {
            "could not be fetched from the servers that DEBUGINFOD_URLS names, at all or in time \
             (DEBUGINFOD_TIMEOUT is in seconds): no lines"
        }
        _ => return None,
    };
    Some(format!("has loaded {file}, whose debug information {why}"))
}

/// Of a notice that says what came before the trace.
fn of_recording(code: &str, subject: &str) -> Option<String> {
    Some(match code {
        CONTINUES => format!(
            "had been recorded before: the trace goes on where {} ends. What lived then is among what lives, and not \
             among what was allocated; `lifetrace join` makes one trace of both",
            human::printable(subject)
        ),
        "unheard" => format!(
            "was not recorded for {} before the trace: what it allocated until then is not in it, neither what lives \
             nor what leaks",
            human::duration(Duration::from_millis(subject.parse().ok()?))
        ),
        _ => return None,
    })
}

/// The trace that this one goes on from, if it says so: a file's name.
pub fn predecessor<'a>(mut codes: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    codes.find_map(|code| code.strip_prefix(CONTINUES)?.strip_prefix(':'))
}

fn of_itself(code: &str) -> Option<&'static str> {
    Some(match code {
        "own-allocator" => {
            "brings an allocator of its own that cannot be heard: of its blocks nothing is in the trace, \
             neither what lives nor what leaks (a program that keeps its symbols can be heard)"
        }
        "unheard-memory" => {
            "had much more memory than was heard of: it may have come by an allocator of its own, or by \
             mmap; of that nothing is in the trace, neither what lives nor what leaks"
        }
        "began-late" => {
            "was running when recording began: what it had allocated before is not in the trace, neither what lives nor \
             what leaks"
        }
        "recorder-killed" => {
            "lost its recorder, which was killed: of the last moments nothing is in the trace"
        }
        "no-region" => "left no room in its address space: nothing could be sampled",
        _ => return unlooked(code).or_else(|| runtimes::of_notice(code)),
    })
}

/// Why the program was not looked through for blocks that are lost.
fn unlooked(code: &str) -> Option<&'static str> {
    Some(match code {
        "not-looked-permission" => {
            "was not looked through for lost blocks: the system does not permit it (it has another user's \
             rights, or kernel.yama.ptrace_scope is 2 or more)"
        }
        "not-looked-traced" => {
            "was not looked through for lost blocks: a debugger or its like has it"
        }
        "not-looked-busy" => {
            "was not looked through for lost blocks: one of its threads could not be stopped"
        }
        "not-looked-unreadable" => {
            "was not looked through for lost blocks: its memory could not be read"
        }
        "not-looked-losses" => {
            "was not looked through for lost blocks: blocks were freed that nobody heard of, which would \
             seem to be lost"
        }
        _ => return None,
    })
}

/// How many backtraces a notice says to be cut off; 0 if it is about something else.
pub fn cut_backtraces(code: &str) -> u64 {
    let count = |subject: &str| subject.split(':').next()?.parse().ok();
    code.strip_prefix("cut-").and_then(|it| count(it.split_once(':')?.1)).unwrap_or(0)
}

/// Of a notice that says where backtraces end without their outermost frames.
fn of_cut(code: &str, subject: &str) -> Option<String> {
    let (count, file) = subject.split_once(':').unwrap_or((subject, ""));
    let count = human::count(count.parse::<u64>().ok()? as f64);
    let file = human::printable(file);
    Some(match code {
        "cut-at-made-code" => format!(
            "runs code without unwind tables, such as a virtual machine compiles at run time: \
             {count} backtraces end there"
        ),
        "cut-at-file" => format!(
            "has loaded {file}, which lacks unwind tables for some of its code, or whose stack could \
             not be read: {count} backtraces end there"
        ),
        "cut-too-deep" => {
            format!("has very deep stacks: {count} backtraces lack their outermost frames")
        }
        _ => return None,
    })
}

/// A sentence about the traced program.
pub fn sentence(code: &str) -> String {
    match of_program(code) {
        Some(words) => format!("the program {words}"),
        None => format!("the recorder noticed: {}", human::printable(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_sentences() {
        let cut = "the program has loaded /x.so, which lacks unwind tables";
        assert!(sentence("cut-at-file:1200:/x.so").starts_with(cut));
        assert!(
            sentence("cut-at-made-code:1200").ends_with("run time: 1,200 backtraces end there")
        );
        assert_eq!(cut_backtraces("cut-at-file:1200:/x.so"), 1200);
        assert_eq!(cut_backtraces("no-ocaml") + cut_backtraces("cut-else"), 0);
        let executed = sentence("became-static:/bin/a b");
        assert!(executed.starts_with("the program executed /bin/a b, which is not traced: it is"));
    }

    #[test]
    fn what_came_before_the_trace_is_said() {
        let continues = "continues:lifetrace.a.7.20261127T165500Z.lt";
        assert!(sentence(continues).contains("where lifetrace.a.7.20261127T165500Z.lt ends"));
        assert_eq!(predecessor(["x", continues].into_iter()), continues.strip_prefix("continues:"));
        assert_eq!(predecessor(["x", "continuesx"].into_iter()), None);
        assert!(sentence("unheard:5600").contains("5.60 s"), "{}", sentence("unheard:5600"));
        assert!(sentence("unheard:x").starts_with("the recorder noticed"));
    }

    #[test]
    fn what_is_not_known_is_shown_as_it_is() {
        assert_eq!(sentence("later-thing"), "the recorder noticed: later-thing");
        assert!(sentence("no-ocaml").starts_with("the program has no OCaml heap"));
    }
}
