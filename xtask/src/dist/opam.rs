//! The package for opam, which is the repository itself: opam builds it where it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::source::Source;
use crate::{shell, tools};

/// What stands for packages that the system has: a name of each and a version.
const OF_THE_SYSTEM: &[(&str, &str)] = &[("ocaml", "4.14.1"), ("dune", "3.6"), ("conf-rust", "1")];

const PROGRAM: &str = "let () = Lifetrace.trace_if_requested ()\n\
     let kept = List.init 100_000 string_of_int\n\
     let () = print_int (List.length kept)\n";

/// Has opam look at the package's description, where opam is.
///
/// # Errors
/// If it finds anything wrong.
pub fn lint(source: &Source) -> Result<()> {
    if !tools::exists("opam") {
        eprintln!("skipped: no opam to look at ocaml/lifetrace.opam");
        return Ok(());
    }
    let mut opam = Command::new("opam");
    opam.env("OPAMROOTISOK", "true").arg("lint");
    // Older ones take SPDX's expressions, here "MIT OR Apache-2.0", for no licence.
    opam.arg("--warnings=-62").arg(source.root.join("ocaml/lifetrace.opam"));
    shell::run(opam)
}

/// Installs the package as a user would who has the system's compiler, and runs a program that traces itself by it.
///
/// # Errors
/// If it cannot be installed, or the program leaves no trace that `lifetrace` finds whole.
pub fn check(source: &Source, lifetrace: &Path) -> Result<()> {
    if !["opam", "dune", "ocamlfind"].iter().all(|program| tools::exists(program)) {
        eprintln!("skipped: no opam, dune and ocamlfind to install the package of OCaml");
        return Ok(());
    }
    let folder = source.work().join("opam");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    install(source, &folder)?;
    fs::write(folder.join("it.ml"), PROGRAM)?;
    let in_it = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(&folder).env("OCAMLPATH", folder.join("root/it/lib"));
        command
    };
    let mut compile = in_it("ocamlfind");
    compile.args(["ocamlopt", "-package", "lifetrace", "-linkpkg", "it.ml", "-o", "it"]);
    shell::run(compile)?;
    let mut program = in_it("./it");
    program.env("LIFETRACE", "it.lt");
    let said = shell::output(program)?;
    ensure!(said == "100000", "the program says: {said}");
    let mut check = in_it(&lifetrace.to_string_lossy());
    check.args(["check", "it.lt"]);
    shell::run(check)
}

/// Into a switch without packages, from a repository that has what the system has, and ours from a copy of its folder:
/// opam's builds see nothing else of the repository.
fn install(source: &Source, folder: &Path) -> Result<()> {
    let packages = repository(folder)?;
    let (root, copy, stubs) =
        (folder.join("root"), folder.join("lifetrace"), folder.join("stubs.a"));
    let mut build = Command::new("sh");
    build.arg(source.root.join("ocaml/src/build-stubs.sh")).arg(&stubs);
    build.env("CARGO_TARGET_DIR", &source.target);
    shell::run(build)?;
    let mut files = Command::new("cp");
    files.arg("--recursive").arg(source.root.join("ocaml")).arg(&copy);
    shell::run(files)?;
    let opam = |words: &[&str], path: Option<&Path>| {
        let mut opam = Command::new("opam");
        opam.envs([("OPAMROOTISOK", "true"), ("OPAMYES", "true"), ("OPAMNOENVNOTICE", "true")]);
        opam.env("OPAMROOT", &root).env("LIFETRACE_STUBS", &stubs).args(words).args(path);
        shell::run(opam)
    };
    // A sandbox needs more rights than a container has.
    opam(&["init", "--bare", "--no-setup", "--disable-sandboxing", "system"], Some(&packages))?;
    opam(&["switch", "create", "it", "--empty"], None)?;
    opam(&["install", "--switch", "it"], Some(&copy))
}

fn repository(folder: &Path) -> Result<PathBuf> {
    let repository = folder.join("repository");
    for (name, version) in OF_THE_SYSTEM {
        let package = repository.join(format!("packages/{name}/{name}.{version}"));
        fs::create_dir_all(&package)?;
        fs::write(package.join("opam"), "opam-version: \"2.0\"\nsynopsis: \"The system's\"\n")?;
    }
    fs::write(repository.join("repo"), "opam-version: \"2.0\"\n")?;
    Ok(repository)
}
