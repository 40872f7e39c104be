//! What a user should know of a trace, in words. The codes are those that the recorder writes; a trace of
//! a later version may have others, which are shown as they are.

use crate::human;

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
        _ => format!("{events} events were lost before they reached the trace ({code})"),
    }
}

/// What goes on after the program's name.
pub fn of_program(code: &str) -> Option<&'static str> {
    Some(match code {
        "own-allocator" => "brings its own malloc: its allocations cannot be heard",
        "no-region" => "left no room in its address space: nothing could be sampled",
        "ocaml-without-sampler" => {
            "has an OCaml runtime without a statistical memory profiler (4.11 to 4.14 have one, and 5.3 \
             and later): its OCaml heap is not in the trace"
        }
        "ocaml-memtrace" => {
            "has Memtrace linked in, and MEMTRACE is set: its OCaml heap is left to that (unset MEMTRACE \
             to record it here)"
        }
        "ocaml-own-memprof" => {
            "has used Gc.Memprof itself, which serves one at a time: from then on its OCaml heap is not \
             in the trace"
        }
        "ocaml-memprof-unguarded" => {
            "does not let itself be watched: should it start Gc.Memprof itself, it gets the exception \
             \"already started\""
        }
        "ocaml-domains-misreported" => {
            "runs several domains on an OCaml that reports blocks as dead which other domains have \
             promoted (ocaml/ocaml#14057): lifetimes are too short, and what lives is too little"
        }
        "ocaml-bytecode" => {
            "is OCaml bytecode, whose heap cannot be sampled: the trace has what its interpreter gets \
             from malloc (compile it with ocamlopt to see its heap)"
        }
        "ocaml-hidden" => {
            "has an OCaml runtime that it does not export: its OCaml heap is not in the trace (link it \
             with -rdynamic, as ocamlopt does by itself)"
        }
        "no-ocaml" => "has no OCaml heap: nothing was sampled (--sources native samples malloc)",
        _ => return None,
    })
}

/// A sentence about the traced program.
pub fn sentence(code: &str) -> String {
    match of_program(code) {
        Some(words) => format!("the program {words}"),
        None => format!("the recorder noticed: {}", crate::human::printable(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lifetrace_recorder::Notice;

    #[test]
    fn there_are_words_for_whatever_is_recorded() {
        for notice in Notice::ALL {
            assert!(of_program(notice.code()).is_some(), "{notice:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_shown_as_it_is() {
        assert_eq!(sentence("later-thing"), "the recorder noticed: later-thing");
        assert!(sentence("no-ocaml").starts_with("the program has no OCaml heap"));
    }
}
