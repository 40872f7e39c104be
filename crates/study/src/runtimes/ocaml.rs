//! OCaml.

use super::{Runtime, YoungHeap};

pub(super) const OCAML: Runtime = Runtime {
    name: "ocaml",
    notice,
    young: "no collection has met it, so much of it may be dead",
    counted: |_| None,
    young_heap: Some(YoungHeap {
        now: |words| format!("s={words}"),
        then: |words| format!("OCAMLRUNPARAM=s={words}"),
    }),
};

fn notice(code: &str) -> Option<&'static str> {
    Some(match code {
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
        "ocaml-memprof-taken" => {
            "was using Gc.Memprof itself when it was attached to, which serves one at a time: its OCaml heap is left to \
             that, and is not in the trace"
        }
        "ocaml-not-attached" => {
            "has an OCaml runtime that cannot be taken over while it runs (its code is not as it is known, or may not be \
             changed): its OCaml heap is not in the trace (start it by `lifetrace record` to see it)"
        }
        "ocaml-memprof-unguarded" => {
            "does not let itself be watched: should it start Gc.Memprof itself, it gets the exception \
             \"already started\""
        }
        "ocaml-domains-misreported" => {
            "runs several domains on an OCaml that reports blocks as dead which other domains have \
             promoted (ocaml/ocaml#14057): lifetimes are too short, and what lives is too little"
        }
        "ocaml-snapshot-without-roots" => {
            "does not export what is needed to find all roots of its heap: a snapshot that was wanted was not taken"
        }
        "ocaml-snapshot-without-child" => {
            "could not be forked: a snapshot of its heap that was wanted was not taken"
        }
        "ocaml-snapshot-without-stop" => {
            "could not have its domains stopped at its end: the snapshot of its heap that was wanted then was not taken"
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
