//! The agent on another processor, aarch64, under emulation.
//!
//! The recorder is this machine's; the emulator, not preloaded itself, preloads the agent into the program
//! that it runs. How many traces there are is not checked, as what starts the emulator is recorded, too.
//! `cargo xtask aarch64` builds that agent and runs these tests.

use std::path::{Path, PathBuf};

use crate::support::hazard::{EXACT, SHORT_INTERVAL, same_ledger};
use crate::support::profile::assert_complete;
use crate::support::run::Target;
use crate::support::{fixture, ocaml};

/// With the folder of the other processor's loader and C library.
const EMULATOR: &[&str] = &["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"];

/// The emulator itself is not preloaded.
const UNHEARD: &[&str] = &["env", "-u", "LD_PRELOAD"];

/// The recorder sees the emulator, and not that the program in it has an OCaml heap.
const EXACT_OCAML: &[&str] = &["--rate", "1", "--sources", "ocaml"];
const SAMPLED_OCAML: &[&str] = &["--interval", "4KiB", "--sources", "ocaml"];

fn told(variable: &str) -> PathBuf {
    std::env::var_os(variable).expect("cargo xtask aarch64 sets it").into()
}

fn emulated(program: &Path) -> Target {
    let preload = format!("LD_PRELOAD={}", told("LIFETRACE_AARCH64_LIBRARY").display());
    let words = [UNHEARD, EMULATOR, &["-E", &preload, program.to_str().unwrap()]].concat();
    Target::new(&words)
}

fn check_totals(target: &Target) {
    check_totals_by(target, [EXACT, SHORT_INTERVAL]);
}

/// As for other programs, but for what `record` says of the emulator.
fn check_totals_by(target: &Target, options: [&[&str]; 2]) {
    let bare = target.bare();
    let recordings = options.map(|options| target.record(options));
    for recording in &recordings {
        let outcome = &recording.outcome;
        assert_eq!((outcome.code, &outcome.stdout), (bare.code, &bare.stdout), "{outcome:?}");
        assert_eq!(without_the_emulator(&outcome.stderr_text()), bare.stderr_text(), "{outcome:?}");
        recording.traces().iter().for_each(|trace| assert_complete(trace));
    }
    same_ledger(&bare, &recordings[0]);
}

/// It looks for libraries behind a prefix of its own, which nobody else knows: what it calls `/lib/libc.so.6` is not there.
fn without_the_emulator(said: &str) -> String {
    let is_become = |line: &str| line.contains(": env executed ") && line.contains("qemu-aarch64");
    let is_prefixed = |line: &str| {
        line.contains("qemu-aarch64 has loaded /lib/") && line.contains("no file of the same build")
    };
    let others = said.split_inclusive('\n').filter(|line| !is_become(line) && !is_prefixed(line));
    others.collect()
}

fn check(name: &str, arguments: &[&str]) {
    check_totals(&emulated(&fixture::c_aarch64(name)).arguments(arguments));
}

fn check_ocaml(name: &str) {
    let usr = told("LIFETRACE_AARCH64_OCAML").join("usr");
    let mut words: Vec<String> = EMULATOR.iter().map(|&word| word.to_owned()).collect();
    words.push(usr.join("bin/ocamlopt.opt").display().to_string());
    let compiler =
        ocaml::Unpacked { compiler: words, library: usr.join("lib/ocaml"), linker: None };
    let program = ocaml::native_by(&compiler, name, &format!("{name}-aarch64"));
    check_totals_by(&emulated(&program), [EXACT_OCAML, SAMPLED_OCAML]);
}

#[test]
#[ignore = "needs an agent for aarch64"]
fn every_function_of_the_malloc_family() {
    check("family", &[]);
    check("realloc", &[]);
    check("function_pointers", &[]);
    check("dlsym", &[]);
    check("late", &[]);
}

#[test]
#[ignore = "needs an agent for aarch64"]
fn threads() {
    check("cross_thread_free", &[]);
    check("small_stacks", &[]);
}

#[test]
#[ignore = "needs an agent for aarch64"]
fn stacks() {
    for name in ["longjmp", "coroutines", "deep", "huge_stack"] {
        check(name, &[]);
    }
    check("alternate_stack", &["64"]);
}

#[test]
#[ignore = "needs an agent for aarch64"]
fn signals() {
    check("signals", &["safe"]);
    check("signals", &["allocating"]);
}

#[test]
#[ignore = "needs an agent for aarch64"]
fn fork_and_fork_of_a_process_with_threads() {
    check("fork", &[]);
}

#[test]
#[ignore = "needs an agent for aarch64, and a compiler"]
fn hazards_of_ocaml() {
    for name in ["plain", "inlined", "exceptions", "callstacks", "signals", "systhreads", "fork"] {
        check_ocaml(name);
    }
}

#[test]
#[ignore = "needs an agent for aarch64, and a compiler"]
fn kinds_of_blocks_in_ocaml() {
    for name in ["comballoc", "compact", "finalisers", "marshal", "weak_pointers", "ephemerons"] {
        check_ocaml(name);
    }
}
