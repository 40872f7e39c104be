//! Hazards by other versions of OCaml than the system's: 4.11, 4.14, and 5.3 and 5.4, whose runtimes walk
//! their own stacks.
//!
//! `cargo xtask ocaml-versions` fetches their compilers and runs these tests with each.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::ocaml_facts::{check_counters, last_counters};
use crate::ocaml_unheard::check_own_memprof;
use crate::snapshots_of_domains::{check_churning, check_fibers};
use crate::snapshots_of_ocaml::{check_held, check_stacks};
use crate::snapshots_of_waiting::check_waiting;
use crate::support::hazard::{EXACT, check, check_totals};
use crate::support::profile::facts_of;
use crate::support::run::{Target, lifetrace_verb};
use crate::support::{blocks, ledger, ocaml};
use crate::types_of_ocaml::check_typed;

/// The compiler that lies in a folder like a root directory.
fn compiler() -> ocaml::Unpacked {
    let root = std::env::var("LIFETRACE_OCAML").expect("cargo xtask ocaml-versions sets it");
    let library = library(Path::new(&root)).expect("there is OCaml's library");
    let compiler = format!("{root}/usr/bin/ocamlopt.opt");
    let loader = format!("{root}/usr/lib64/ld-linux-x86-64.so.2");
    if !Path::new(&loader).exists() {
        return ocaml::Unpacked { compiler: vec![compiler], library, linker: None };
    }
    // With the C library that it came with, as its programs.
    let libraries = format!("{root}/usr/lib/x86_64-linux-gnu");
    let linker = format!(
        "gcc --sysroot={root} -B{libraries} -L{libraries} -Wl,-E \
         -Wl,--dynamic-linker={loader},-rpath,{libraries}"
    );
    let words = [loader, "--library-path".into(), libraries, compiler];
    ocaml::Unpacked { compiler: words.to_vec(), library, linker: Some(linker) }
}

/// The compiler's own library, which later packages keep by version.
fn library(root: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(root.join("usr/lib/x86_64-linux-gnu/ocaml"));
    let versions = versions.into_iter().flatten().map(|version| version.unwrap().path());
    let mut folders = std::iter::once(root.join("usr/lib/ocaml")).chain(versions);
    folders.find(|folder| folder.join("stdlib.cmxa").exists())
}

fn native(name: &str) -> PathBuf {
    ocaml::native_by(&compiler(), name, &format!("{name}-by-{}", version()))
}

/// As `4.14`.
fn version() -> String {
    std::env::var("LIFETRACE_OCAML_VERSION").expect("cargo xtask ocaml-versions sets it")
}

/// Programs that run already.
#[cfg(target_arch = "x86_64")]
mod attaching {
    use std::process::Command;

    use super::{native, version};
    use crate::support::attached::Attached;
    use crate::{attaching_ocaml, next_collector};

    /// A fixture of this OCaml that is attached to.
    fn running(name: &str, words: &[&str]) -> Attached {
        Attached::of(Command::new(native(name)).args(words))
    }

    #[test]
    #[ignore = "needs another OCaml"]
    fn programs() {
        let program = |words: &[&str]| running("attached", words);
        attaching_ocaml::check_each_word(&program);
        attaching_ocaml::check_what_becomes(&program);
        attaching_ocaml::check_counted(&program);
        attaching_ocaml::check_again(&program);
    }

    #[test]
    #[ignore = "needs another OCaml"]
    fn programs_that_do_otherwise() {
        let program = |words: &[&str]| running("attached", words);
        attaching_ocaml::check_waiting(&program);
        attaching_ocaml::check_threads(&program);
        attaching_ocaml::check_children(&program);
        attaching_ocaml::check_own_memprof(&program);
        attaching_ocaml::check_killed(&program);
    }

    #[test]
    #[ignore = "needs another OCaml"]
    fn whose_collectors_come_and_go() {
        let program = || Command::new(native("attached"));
        next_collector::check_next_collectors(&mut program(), &next_collector::PAIRS);
        next_collector::check_later_collector(&mut program(), &next_collector::PAIRS);
    }

    #[test]
    #[ignore = "needs another OCaml"]
    fn domains() {
        if version().starts_with('5') {
            attaching_ocaml::check_domains(|| running("attached_domains", &[]));
            next_collector::check_domains(&mut Command::new(native("attached_domains")));
        }
    }
}

#[test]
#[ignore = "needs another OCaml"]
fn hazards() {
    for name in ["plain", "inlined", "exceptions", "callstacks", "signals", "systhreads"] {
        check(&native(name), &[], 1);
    }
    check(&native("deep"), &["3000"], 1);
}

#[test]
#[ignore = "needs another OCaml"]
fn other_processes() {
    check(&native("fork"), &[], 3);
    check(&native("exec"), &["replace"], 2);
    check(&native("exec"), &["spawn"], 2);
}

#[test]
#[ignore = "needs another OCaml"]
fn kinds_of_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counters");
    check(&native("ledger"), &[file.to_str().unwrap()], 1);
    for name in ["comballoc", "compact", "finalisers", "marshal", "weak_pointers", "gc_settings"] {
        check(&native(name), &[], 1);
    }
}

#[test]
#[ignore = "needs another OCaml"]
fn a_program_that_samples_its_own_heap() {
    check_own_memprof(&native("own_memprof"));
}

#[test]
#[ignore = "needs another OCaml"]
fn domains_that_sample_their_own_heaps() {
    if version().starts_with('4') {
        return;
    }
    let target = Target::new(&[&native("own_memprof_domains")]);
    let bare = target.bare();
    // They start at the same time, but don't meet each time.
    for _ in 0..20 {
        let outcome = target.record(EXACT).outcome;
        assert_eq!((outcome.code, &outcome.stdout), (0, &bare.stdout), "{outcome:?}");
        assert!(outcome.stderr_text().contains("Gc.Memprof"), "{outcome:?}");
    }
}

/// Those of OCaml 5 are of the last collection of the minor heap; the major heap's are counted later.
#[test]
#[ignore = "needs another OCaml"]
fn the_collectors_counters() {
    let behind = if version().starts_with('4') { 0 } else { 2_000 };
    check_counters(&native("ledger"), behind);
}

/// The recorder knows the version by what the program exports.
#[test]
#[ignore = "needs another OCaml"]
fn the_version() {
    let recording = Target::new(&[&native("plain")]).record(EXACT);
    let info = lifetrace_verb(&[OsStr::new("info"), recording.traces()[0].as_os_str()]);
    let line = format!("ocaml {}", version());
    assert!(info.stdout_text().contains(&line), "{info:?}");
}

#[test]
#[ignore = "needs another OCaml"]
fn snapshots() {
    check_held(&native("held"));
    check_stacks(&native("held"));
}

#[test]
#[ignore = "needs another OCaml"]
fn snapshots_of_fibers_and_domains() {
    if version().starts_with('5') {
        check_fibers(&native("held_by_fibers"));
    }
}

#[test]
#[ignore = "needs another OCaml"]
fn snapshots_of_domains_that_compute() {
    if version().starts_with('5') {
        check_churning(&native("churning_domains"));
    }
}

#[test]
#[ignore = "needs another OCaml"]
fn snapshots_of_programs_that_wait() {
    let has_loops = version().starts_with('4') && version() != "4.11";
    check_waiting(&native("waiting"), has_loops);
}

/// 5.3 takes blocks for dead that other domains are about to promote (ocaml/ocaml#14057). All births are
/// heard, and the words of domains that have ended are counted.
#[test]
#[ignore = "needs another OCaml"]
fn domains_whose_lifetimes_are_misreported() {
    if version() != "5.3" {
        return;
    }
    let target = Target::new(&[&native("domains")]);
    let (bare, exact) = (target.bare(), target.record(EXACT));
    assert_eq!((exact.outcome.code, &exact.outcome.stdout), (0, &bare.stdout), "{bare:?}");
    let [ref trace] = exact.traces()[..] else { panic!("{:?}", exact.traces()) };
    let heard = ledger::recorded(&[trace]);
    for (function, expected) in ledger::expected(&bare.stdout_text()) {
        let heard = heard[&function];
        assert_eq!((heard.blocks, heard.words), (expected.blocks, expected.words), "{function}");
        assert!(heard.live <= expected.live, "{function}: {heard:?}");
    }
    assert!(blocks::of(trace).iter().any(|block| block.is_promoted));
    let words: i64 =
        ledger::expected(&bare.stdout_text()).values().map(|totals| totals.words).sum();
    let counted = last_counters(&facts_of(trace)).minor_words.unwrap();
    assert!(counted >= words as u64, "{counted} of {words}");
    let info = lifetrace_verb(&[OsStr::new("info"), trace.as_os_str()]);
    assert!(info.stdout_text().contains("ocaml/ocaml#14057"), "{info:?}");
}

/// 5.4 has that repaired.
#[test]
#[ignore = "needs another OCaml"]
fn domains_whose_lifetimes_are_right() {
    if version() != "5.4" {
        return;
    }
    let [exact, _] = check_totals(&Target::new(&[&native("domains")]));
    let [ref trace] = exact.traces()[..] else { panic!("{:?}", exact.traces()) };
    assert!(blocks::of(trace).iter().any(|block| block.is_promoted));
    let info = lifetrace_verb(&[OsStr::new("info"), trace.as_os_str()]);
    assert!(!info.stdout_text().contains("14057"), "{info:?}");
}

#[test]
#[ignore = "needs another OCaml"]
fn declared_types() {
    // There are no .cmt files of 4.11 and 5.4 that are known.
    if !matches!(&*version(), "4.14" | "5.3") {
        return;
    }
    check_typed(&native("typed"), ocaml::types_by(&compiler(), "typed").path());
}
