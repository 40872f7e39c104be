//! The programs that the tests run, and the Debian packages that have them.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::shell;

/// A program or a library, and the package that has it.
const TOOLS: &[(&str, &str)] = &[
    ("gcc", "gcc"),
    ("g++", "g++"),
    ("sqlite3", "sqlite3"),
    ("/usr/bin/python3", "python3"),
    ("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", "libpython3.11"),
    ("/usr/lib/python3.11/ensurepip", "python3-venv"),
    ("perl", "perl"),
    ("php", "php-cli"),
    ("/usr/share/doc/php-sqlite3", "php-sqlite3"),
    ("ruby", "ruby"),
    ("git", "git"),
    ("groff", "groff"),
    ("debootstrap", "debootstrap"),
    ("lintian", "lintian"),
    ("opam", "opam"),
    ("go", "golang-go"),
    ("strip", "binutils"),
    ("dwz", "dwz"),
    ("llvm-dwp", "llvm"),
    ("xz", "xz-utils"),
    ("heaptrack", "heaptrack"),
    ("nginx", "nginx-light"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("chromium", "chromium"),
    ("gdb", "gdb"),
    ("valgrind", "valgrind"),
    ("strace", "strace"),
    ("torsocks", "torsocks"),
    ("faketime", "faketime"),
    ("eatmydata", "eatmydata"),
    ("musl-gcc", "musl-tools"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("/usr/aarch64-linux-gnu/include/stdlib.h", "libc6-dev-arm64-cross"),
    ("qemu-aarch64", "qemu-user"),
    ("setpriv", "util-linux"),
    ("protoc", "protobuf-compiler"),
    ("ocamlopt", "ocaml"),
    ("ocamlfind", "ocaml-findlib"),
    ("/usr/lib/ocaml/lwt/unix", "liblwt-ocaml-dev"),
    ("coqc", "coq"),
    ("menhir", "menhir"),
    ("dune", "ocaml-dune"),
    ("unison", "unison"),
    ("/usr/lib/python3/dist-packages/jsonschema", "python3-jsonschema"),
    ("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "libjemalloc2"),
    ("/usr/lib/x86_64-linux-gnu/libjemalloc.so", "libjemalloc-dev"),
    ("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.a", "libgoogle-perftools-dev"),
    ("/usr/lib/x86_64-linux-gnu/libmimalloc.so.2", "libmimalloc2.0"),
    ("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
];

/// Sees to it that every tool is there: installs what is missing if we may.
///
/// # Errors
/// If something is missing and cannot be installed; the message says what to type.
pub fn ensure() -> Result<()> {
    let packages = missing();
    if packages.is_empty() {
        return Ok(());
    }
    if !may_install() {
        bail!("the tests need more programs; type:\n  sudo apt-get install {}", packages.join(" "));
    }
    install(&packages)
}

/// Whether there is a standard library for a target; asks rustup for it if not. Without one that is said.
///
/// # Errors
/// If rustc cannot be run.
pub fn has_target(target: &str) -> Result<bool> {
    let is_there = || -> Result<bool> {
        let mut list = Command::new("rustc");
        list.args(["--print", "target-libdir", "--target", target]);
        Ok(Path::new(&shell::output(list)?).is_dir())
    };
    let has_it = is_there()? || {
        quietly(Command::new("rustup").args(["target", "add", target]));
        is_there()?
    };
    if !has_it {
        eprintln!("skipped: no {target}: rustup target add {target}");
    }
    Ok(has_it)
}

/// Whether a program can be found, by name in `PATH`, or something by its whole path.
pub fn exists(program: &str) -> bool {
    if program.starts_with('/') {
        return Path::new(program).exists();
    }
    quietly(Command::new("sh").args(["-c", "command -v \"$1\"", "sh", program]))
}

fn missing() -> Vec<&'static str> {
    TOOLS.iter().filter(|(program, _)| !exists(program)).map(|&(_, package)| package).collect()
}

fn may_install() -> bool {
    let mut id = Command::new("id");
    id.arg("-u");
    exists("apt-get") && shell::output(id).is_ok_and(|user| user == "0")
}

fn install(packages: &[&str]) -> Result<()> {
    let mut update = Command::new("apt-get");
    update.args(["update", "-qq"]);
    shell::run(update)?;
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    shell::run(install)
}

fn quietly(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
