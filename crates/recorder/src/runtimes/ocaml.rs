//! OCaml.
//!
//! The linker exports the whole runtime from every OCaml executable (`-Wl,-E`), stripped ones included, so that a few
//! names decide.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;

use lifetrace_trace::frame::FrameKind;
use lifetrace_transport::sources::{SourceName, Unit};

use super::{Language, ManagedHeap, Runtime};
use crate::exports::Elf;
use crate::notice::RuntimeNotice;

/// The runtime of native code, and that of bytecode.
#[derive(Debug)]
pub(crate) struct OCaml;

/// In all runtimes since 4.11, those without a sampler included.
const SAMPLER: &str = "caml_memprof_start";
/// In native programs only.
const NATIVE: &str = "caml_frametable";
/// In all runtimes.
const ANY: &str = "caml_alloc_shr";
const FROM_5_0: &str = "caml_get_domain_state";
/// The first with a sampler again.
const FROM_5_3: &str = "caml_process_pending_actions_res";

/// Linked in from Memtrace's library.
const MEMTRACE: [&str; 3] =
    ["camlMemtrace", "caml_startup__camlMemtrace", "camlMemtrace__code_begin"];

/// Where Memtrace writes to, and how densely it samples.
const MEMTRACE_VARIABLE: &str = "MEMTRACE";
const MEMTRACE_RATE_VARIABLE: &str = "MEMTRACE_RATE";

const SYMBOLS: [&str; 5] = [NATIVE, SAMPLER, ANY, FROM_5_0, FROM_5_3];

/// Of a version without a sampler: 4.10 and older, 5.0 to 5.2. Or it is not known.
const WITHOUT_SAMPLER: RuntimeNotice = RuntimeNotice::unsampled("ocaml-without-sampler");
/// An interpreter of bytecode: only its mallocs are in the trace.
const BYTECODE: RuntimeNotice = RuntimeNotice::unsampled("ocaml-bytecode");
const HIDDEN: RuntimeNotice = RuntimeNotice::unsampled("ocaml-hidden");
const ABSENT: RuntimeNotice = RuntimeNotice::absence("no-ocaml");
/// The heap is left to the Memtrace that the program has linked in.
const MEMTRACE_LINKED: RuntimeNotice = RuntimeNotice::unsampled("ocaml-memtrace");
/// The program has used `Gc.Memprof` itself, which ended our use of it.
const OWN_MEMPROF: RuntimeNotice = RuntimeNotice::unsampled("ocaml-own-memprof");
/// A program that starts `Gc.Memprof` itself gets an exception.
const MEMPROF_UNGUARDED: RuntimeNotice = RuntimeNotice::plain("ocaml-memprof-unguarded");
/// The program had started `Gc.Memprof` itself when it was attached to.
const MEMPROF_TAKEN: RuntimeNotice = RuntimeNotice::unsampled("ocaml-memprof-taken");
/// The sampler of a program that was attached to could not be taken over.
const NOT_ATTACHED: RuntimeNotice = RuntimeNotice::unsampled("ocaml-not-attached");
/// Lifetimes are too short: several domains, and a runtime that mistakes them.
const DOMAINS_MISREPORTED: RuntimeNotice = RuntimeNotice::plain("ocaml-domains-misreported");

/// Snapshots that nobody asks for one by one could not be taken.
const SNAPSHOT_ROOTS: RuntimeNotice = RuntimeNotice::plain("ocaml-snapshot-without-roots");
const SNAPSHOT_CHILD: RuntimeNotice = RuntimeNotice::plain("ocaml-snapshot-without-child");
const SNAPSHOT_STOP: RuntimeNotice = RuntimeNotice::plain("ocaml-snapshot-without-stop");

static NOTICES: [RuntimeNotice; 13] = [
    WITHOUT_SAMPLER,
    MEMTRACE_LINKED,
    OWN_MEMPROF,
    MEMPROF_UNGUARDED,
    MEMPROF_TAKEN,
    NOT_ATTACHED,
    DOMAINS_MISREPORTED,
    SNAPSHOT_ROOTS,
    SNAPSHOT_CHILD,
    SNAPSHOT_STOP,
    BYTECODE,
    HIDDEN,
    ABSENT,
];

impl Language for OCaml {
    fn name(&self) -> SourceName {
        SourceName::new("ocaml")
    }

    fn frame_kinds(&self) -> &'static [FrameKind] {
        &[FrameKind::OCaml]
    }

    fn notices(&self) -> &'static [RuntimeNotice] {
        &NOTICES
    }
}

impl Runtime for OCaml {
    fn title(&self) -> &'static str {
        "OCaml"
    }

    fn takes_snapshots(&self) -> bool {
        true
    }

    fn unit(&self) -> Unit {
        Unit::WORD
    }

    fn auto_has_malloc(&self) -> bool {
        false
    }

    fn symbols(&self) -> &'static [&'static str] {
        &SYMBOLS
    }

    fn heap(&self, exports: &dyn Fn(&str) -> bool) -> ManagedHeap {
        let [native, sampler, any, from_5_0, from_5_3] = SYMBOLS.map(exports);
        match (native, sampler) {
            (false, false) if !any => ManagedHeap::None,
            (false, _) => ManagedHeap::Unsampled(&BYTECODE),
            // Not every one of these exports what says that it is of OCaml 5.
            (true, true) if from_5_3 || !from_5_0 => ManagedHeap::Sampled,
            (true, _) => ManagedHeap::Unsampled(&WITHOUT_SAMPLER),
        }
    }

    /// The variable that each runtime looks for.
    fn mark(&self) -> &'static [u8] {
        b"OCAMLRUNPARAM"
    }

    fn of_static_program(&self) -> &'static str {
        "is a statically linked OCaml program, so that no agent can be loaded into it; link it without \
         -ccopt -static to trace it"
    }

    fn absence(&self) -> &'static RuntimeNotice {
        &ABSENT
    }

    fn hidden(&self) -> &'static RuntimeNotice {
        &HIDDEN
    }
}

/// Whether a program has Memtrace linked in.
pub(crate) fn has_memtrace(program: &File) -> bool {
    let elf = Elf::open(program);
    let exports = elf.as_ref().and_then(Elf::exports);
    exports.is_some_and(|exports| MEMTRACE.into_iter().any(|name| exports.has(name)))
}

/// The variables by which Memtrace is told where to write its trace, and how densely to sample.
pub(crate) fn memtrace_variables(trace: PathBuf, per_word: f64) -> Vec<(&'static str, OsString)> {
    vec![(MEMTRACE_VARIABLE, trace.into()), (MEMTRACE_RATE_VARIABLE, per_word.to_string().into())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::programs::tests::program;

    fn check(exported: &[&str], expected: ManagedHeap) {
        assert_eq!(OCaml.heap(&|name| exported.contains(&name)), expected, "{exported:?}");
    }

    #[test]
    fn a_program_is_known_by_what_it_exports() {
        check(&[], ManagedHeap::None);
        check(&[NATIVE, SAMPLER, ANY], ManagedHeap::Sampled);
        check(&[NATIVE, ANY], ManagedHeap::Unsampled(&WITHOUT_SAMPLER));
        check(&[SAMPLER, ANY], ManagedHeap::Unsampled(&BYTECODE));
        check(&[ANY], ManagedHeap::Unsampled(&BYTECODE));
        check(&[NATIVE, SAMPLER, FROM_5_0], ManagedHeap::Unsampled(&WITHOUT_SAMPLER));
        check(&[NATIVE, SAMPLER, FROM_5_0, FROM_5_3], ManagedHeap::Sampled);
        check(&[NATIVE, SAMPLER, FROM_5_3], ManagedHeap::Sampled);
    }

    #[test]
    fn memtrace_is_known_by_its_module() {
        assert!(has_memtrace(&program(&[MEMTRACE[2]], &["-rdynamic"])));
        assert!(!has_memtrace(&program(&[NATIVE], &["-rdynamic"])));
    }
}
