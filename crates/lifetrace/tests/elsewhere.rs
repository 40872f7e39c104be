//! Programs that are built for another target, or load libraries in Rust with a copy of this crate of
//! their own. What `cargo test` has not built before is built here, which takes minutes for the first time.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Trace, success};

const MUSL: &str = concat!("x86_64", "-unknown-linux-musl");
const GNU: &str = concat!("x86_64", "-unknown-linux-gnu");

/// Where the command is, if it is to be tried.
const COMMAND: &str = "LIFETRACE_COMMAND";

/// Has cargo build examples of this package, with these flags of the compiler, and gives the folder of what it
/// has built.
fn build(words: &[&str], flags: &str, folder: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .args(words)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", flags)
        .output();
    success(output.unwrap());
    target
}

/// Where the library and the program that loads it are.
fn examples() -> PathBuf {
    let built = std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples");
    if built.join("libplugin.so").exists() && built.join("host").exists() {
        return built;
    }
    build(&["--example", "plugin", "--example", "host"], "", "plugin").join("debug/examples")
}

/// The command-line example, on some text, run by a command or by itself.
fn run_example(program: &Path, by: Option<&Path>, folder: &Path) {
    let text = folder.join("text");
    let words: Vec<String> =
        (0..200_000).map(|number| format!("word{}", number % 50_000)).collect();
    std::fs::write(&text, words.join(" ")).unwrap();
    let mut command = match by {
        Some(by) => {
            let mut command = Command::new(by);
            command.args(["record", "-o", "by.lt", "--"]).arg(program);
            command
        }
        None => Command::new(program),
    };
    let output = command.arg("--trace").arg("own.lt").arg(text).current_dir(folder).output();
    assert!(success(output.unwrap()).contains("4 word0"));
}

fn check_trace(path: &Path) {
    let trace = Trace::read(path);
    assert!(trace.is_complete);
    let counting = trace.by("cli::count").filter(|block| block.comes_by("cli::main")).count();
    assert!(counting > 0, "{counting} samples");
}

#[test]
#[ignore = "builds all crates for static linking; `cargo xtask ci` runs it"]
fn a_static_executable_records_itself_and_joins_a_recorder() {
    let flags = "-Ctarget-feature=+crt-static";
    let target = build(&["--example", "cli", "--target", GNU], flags, "static");
    let program = target.join(GNU).join("debug/examples/cli");
    let folder = tempfile::tempdir().unwrap();
    run_example(&program, None, folder.path());
    check_trace(&folder.path().join("own.lt"));

    let Some(command) = std::env::var_os(COMMAND) else {
        eprintln!("skipped: {COMMAND} does not say where the command is");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    run_example(&program, Some(Path::new(&command)), folder.path());
    check_trace(&folder.path().join("by.lt"));
    assert!(!folder.path().join("own.lt").exists());
}

#[test]
#[ignore = "builds all crates for musl; `cargo xtask ci` runs it"]
fn a_static_musl_executable_records_itself() {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap().stdout;
    let sysroot = String::from_utf8(sysroot).unwrap();
    if !Path::new(sysroot.trim()).join("lib/rustlib").join(MUSL).exists() {
        eprintln!("skipped: rustup target add {MUSL}");
        return;
    }
    let target = build(&["--example", "cli", "--target", MUSL], "", "musl");
    let folder = tempfile::tempdir().unwrap();
    run_example(&target.join(MUSL).join("debug/examples/cli"), None, folder.path());
    check_trace(&folder.path().join("own.lt"));
}

/// A program and a library, each with its own allocator, and sessions of their own at the same time.
#[test]
fn a_loaded_library_has_sessions_of_its_own() {
    let examples = examples();
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(examples.join("host"))
        .arg(examples.join("libplugin.so"))
        .current_dir(folder.path())
        .output();
    success(output.unwrap());
    let [host, plugin] = ["host.lt", "plugin.lt"].map(|it| Trace::read(&folder.path().join(it)));
    assert!(host.is_complete && plugin.is_complete);
    assert_eq!(host.by("host_allocates").filter(|block| block.is_live).count(), 100);
    assert_eq!(plugin.by("plugin_allocates").filter(|block| block.is_live).count(), 50);
    assert_eq!((host.by("plugin_allocates").count(), plugin.by("host_allocates").count()), (0, 0));
}
