//! What a user should know of a trace, in words. The codes are those that the recorder writes; a trace of
//! a later version may have others, which are shown as they are.

/// What goes on after the program's name.
pub fn of_program(code: &str) -> Option<&'static str> {
    Some(match code {
        "own-allocator" => {
            "brings an allocator of its own that cannot be heard: of its blocks nothing is in the trace, \
             neither what lives nor what leaks (a program that keeps its symbols can be heard)"
        }
        "unheard-memory" => {
            "had much more memory than was heard of: it may have come by an allocator of its own, or by \
             mmap; of that nothing is in the trace, neither what lives nor what leaks"
        }
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
