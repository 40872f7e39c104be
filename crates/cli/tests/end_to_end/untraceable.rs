//! Programs into which no agent can be loaded: `record` says why, and what to do, and starts nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fixture;
use crate::support::run::Target;

const OUR_FAILURE: i32 = 125;

fn refuses(program: &Path, words: &[&str]) {
    let outcome = Target::new(&[program, Path::new("return")]).record_as(&["-q"]);
    let told = outcome.stderr_text();
    assert_eq!((outcome.code, outcome.stdout.len()), (OUR_FAILURE, 0), "{outcome:?}");
    assert!(words.iter().all(|word| told.contains(word)), "{words:?} in {outcome:?}");
}

/// Builds the fixture `ending`, which would print, with another compiler.
fn built(compiler: &str, arguments: &[&str], output: &Path) -> PathBuf {
    let source = fixture::source("c/ending.c");
    let mut command = Command::new(compiler);
    let status = command.args(["-w", "-o"]).arg(output).arg(source).args(arguments).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?}");
    output.to_owned()
}

#[test]
fn a_static_program_that_can_be_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let program = built("gcc", &["-static-pie", "-pthread"], &folder.path().join("static"));
    refuses(&program, &["statically linked", "-static"]);
}

#[test]
fn programs_of_another_c_library() {
    let folder = tempfile::tempdir().unwrap();
    let program = built("musl-gcc", &["-static"], &folder.path().join("static"));
    refuses(&program, &["statically linked", "-static"]);
    refuses(&fixture::c_musl("ending"), &["musl", "-gnu"]);
}

/// Their shared libraries end a program in which ours comes before them.
#[test]
fn programs_with_a_sanitizer_as_a_shared_library() {
    let folder = tempfile::tempdir().unwrap();
    for (sanitizer, library) in
        [("address", "libasan.so"), ("leak", "liblsan.so"), ("thread", "libtsan.so")]
    {
        let option = format!("-fsanitize={sanitizer}");
        let program = built("gcc", &[&option, "-pthread"], &folder.path().join(sanitizer));
        refuses(&program, &[library, "build it without", "-static-libasan"]);
    }
}

/// Made by the assembler, as there may be no C library for it.
#[test]
fn a_program_of_32_bits() {
    let folder = tempfile::tempdir().unwrap();
    let [source, object, program] = ["a.s", "a.o", "a"].map(|name| folder.path().join(name));
    std::fs::write(&source, ".globl _start\n_start: mov $1, %eax\nxor %ebx, %ebx\nint $0x80\n")
        .unwrap();
    let run = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    run(Command::new("as").args(["--32", "-o"]).args([&object, &source]));
    run(Command::new("ld").args(["-m", "elf_i386", "-o"]).args([&program, &object]));
    refuses(&program, &["32 bits"]);
}
