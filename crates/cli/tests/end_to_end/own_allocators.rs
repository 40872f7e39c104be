//! Allocators that are a part of the program: they are heard where symbols tell their functions, and where
//! they are not, nothing is said of what lives.

use std::path::Path;

use serde_json::Value;

use crate::support::fixture;
use crate::support::hazard::{EXACT, SHORT_INTERVAL, check, same};
use crate::support::profile::read_through;
use crate::support::run::{Target, file_name, lifetrace_verb};

const RUST: [&str; 2] = ["with_mimalloc", "with_jemalloc"];

/// The notice of an allocator that is not heard.
const UNHEARD: &str = "brings an allocator of its own";

/// An archive or a library of Debian's, if it is installed; CI must have it.
fn installed(name: &str) -> Option<std::path::PathBuf> {
    let path = Path::new("/usr/lib/x86_64-linux-gnu").join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "CI must have {name}");
    eprintln!("skipped: no {name}");
    None
}

/// Threads, a forked child, blocks that grow: two traces.
#[test]
fn rust_programs() {
    for name in RUST {
        check(&fixture::rust_with_allocator(name), &[], 2);
    }
}

#[test]
fn a_program_that_defines_malloc() {
    check(&fixture::c("own_allocator"), &[], 1);
    check(&fixture::c_fixed("own_allocator"), &[], 1);
}

/// What is heard by two ways is counted once.
#[test]
fn wrappers_of_the_c_library() {
    check(&fixture::c("wrapper"), &[], 1);
}

/// The C library asks for it by name, so stripping leaves that name.
#[test]
fn a_stripped_program_that_defines_malloc() {
    let samples = |program: &Path| {
        let target = Target::new(&[program]);
        let recording = target.record(EXACT);
        same(&target.bare(), &recording);
        read_through(&recording.trace_of(&file_name(program))).allocated.samples
    };
    let (whole, stripped) = (fixture::c("own_allocator"), fixture::c_stripped("own_allocator"));
    assert!(samples(&whole) > 1000);
    assert_eq!(samples(&whole), samples(&stripped));
}

#[test]
fn jemalloc_linked_statically() {
    let Some(archive) = installed("libjemalloc.a") else { return };
    check(&fixture::c_with_archive("realloc", "realloc-jemalloc", &archive), &[], 1);
    check(&fixture::c_with_archive("cross_thread_free", "crossing-jemalloc", &archive), &[], 1);
    check(&fixture::c_with_archive("fork", "fork-jemalloc", &archive), &[], 5);
    check(&fixture::cpp_with_archive("operators", "operators-jemalloc", &archive), &[], 1);
    check(&fixture::cpp_with_archive("exceptions", "exceptions-jemalloc", &archive), &[], 1);
}

#[test]
fn tcmalloc_linked_statically() {
    let Some(archive) = installed("libtcmalloc_minimal.a") else { return };
    check(&fixture::c_with_archive("realloc", "realloc-tcmalloc", &archive), &[], 1);
    check(&fixture::c_with_archive("cross_thread_free", "crossing-tcmalloc", &archive), &[], 1);
    check(&fixture::c_with_archive("fork", "fork-tcmalloc", &archive), &[], 5);
    check(&fixture::cpp_with_archive("operators", "operators-tcmalloc", &archive), &[], 1);
    check(&fixture::cpp_with_archive("exceptions", "exceptions-tcmalloc", &archive), &[], 1);
}

const NAMED: [(&str, &str); 2] = [("mi_", "libmimalloc.so.2"), ("tc_", "libtcmalloc_minimal.so.4")];

/// Two traces each: there is a forked child.
#[test]
fn functions_of_libraries_by_other_names() {
    for (prefix, library) in NAMED {
        let Some(library) = installed(library) else { return };
        check(&fixture::c_by_other_names(prefix, &library, &[]), &[], 2);
    }
    let pool = fixture::c_library("pool");
    check(&fixture::c_by_other_names("je_", &pool, &["-DALONE"]), &[], 2);
}

/// Operators are not counted twice where the library has them, which is patched.
#[test]
fn operators_of_libraries_that_are_called_by_other_names() {
    for (prefix, library) in NAMED {
        let Some(library) = installed(library) else { return };
        let function = format!("{prefix}malloc");
        check(&fixture::cpp_that_wants("exceptions", &function, &library), &[], 1);
        // mimalloc's own nothrow operators do not align, bare as recorded.
        if prefix == "tc_" {
            check(&fixture::cpp_that_wants("operators", &function, &library), &[], 1);
        }
    }
}

/// A function that cannot be patched, and a heap of the program's own.
#[test]
fn functions_of_libraries_that_are_not_heard() {
    let Some(library) = installed("libmimalloc.so.2") else { return };
    for wanted in ["-Wl,-u,mi_cfree", "-Wl,-u,mi_heap_malloc"] {
        let program = fixture::c_by_other_names("mi_", &library, &[wanted]);
        let target = Target::new(&[&program]);
        let (bare, recording) = (target.bare(), target.record(EXACT));
        let outcome = &recording.outcome;
        assert_eq!((outcome.code, &outcome.stdout), (bare.code, &bare.stdout), "{outcome:?}");
        assert!(outcome.stderr_text().contains(UNHEARD), "{outcome:?}");
    }
}

/// 50 MiB at the default interval: within five standard deviations.
#[test]
fn estimates_of_what_lives() {
    const KEPT: f64 = (50 << 20) as f64;
    for name in RUST {
        let program = fixture::rust_with_allocator(name);
        let recording = Target::new(&[&program]).arguments(&["keep"]).record(&["--seed", "7"]);
        let peak = read_through(&recording.traces()[0]).peak.amount.bytes;
        let distance = (peak.value - KEPT).abs() / peak.variance.sqrt();
        assert!(distance < 5.0, "{name}: {peak:?}");
    }
}

/// Stripped programs run as they do bare, and no report of them says how much lives, or that nothing leaks.
#[test]
fn what_is_not_heard_is_told() {
    for name in RUST {
        let program = fixture::rust_with_allocator_stripped(name);
        let target = Target::new(&[&program]).arguments(&["keep"]);
        let bare = target.bare();
        for options in [&["--seed", "7"][..], EXACT, SHORT_INTERVAL] {
            let recording = target.record(options);
            let outcome = &recording.outcome;
            assert_eq!((outcome.code, &outcome.stdout), (bare.code, &bare.stdout), "{outcome:?}");
            assert!(outcome.stderr_text().contains(UNHEARD), "{outcome:?}");
            claims_nothing(&recording.traces()[0]);
        }
    }
}

fn claims_nothing(trace: &Path) {
    let page = |arguments: &[&str]| {
        let trace = trace.to_str().unwrap();
        lifetrace_verb(&[&["report", trace], arguments].concat())
    };
    for view in ["summary", "leaks", "peak"] {
        let text = page(&["--view", view]).stdout_text();
        assert!(text.contains(UNHEARD), "{text}");
        assert!(!text.contains("No leak") && !text.contains("none sampled"), "{text}");
    }
    let json: Value = serde_json::from_slice(&page(&["--view", "leaks", "--json"]).stdout).unwrap();
    assert_eq!(
        (&json["verdict"], &json["trace"]["hears_all"]),
        (&"not-heard".into(), &false.into())
    );
    let gate = page(&["--fail-if", "live > 1MB"]);
    assert!(gate.code == 0 && gate.stderr_text().contains("cannot be judged"), "{gate:?}");
    assert_eq!(page(&["--fail-if", "live > 1MB", "--strict"]).code, 1);
    assert_eq!(page(&["--fail-if", "growth > 1MB/h", "--strict"]).code, 1);
}

/// What the program maps itself is no allocator's, but would be a lot to pass over in silence.
#[test]
fn memory_that_nobody_has_heard_of() {
    let recording = Target::new(&[&fixture::c("mapped")]).record(&["--seed", "7"]);
    assert_eq!(recording.outcome.stderr_text(), "");
    let trace = &recording.traces()[0];
    let page =
        lifetrace_verb(&["report", "--view", "leaks", trace.to_str().unwrap()]).stdout_text();
    assert!(page.contains("had much more memory than was heard of"), "{page}");
    assert!(page.contains("cannot be told") && !page.contains("No leak"), "{page}");
}
