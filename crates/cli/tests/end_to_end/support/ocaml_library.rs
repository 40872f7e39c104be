//! Programs with the OCaml library linked in, built as its users build theirs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use super::run::Target;

/// The ways in which one program is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked {
    /// By dune, as usual.
    Dynamically,
    /// By ocamlfind, against the library as dune installs it.
    Statically,
}

pub const BOTH: [Linked; 2] = [Linked::Dynamically, Linked::Statically];

/// The program, to do what `words` say.
pub fn traced(linked: Linked, words: &[&str]) -> Target {
    static PROGRAMS: LazyLock<[PathBuf; 2]> = LazyLock::new(build);
    Target::new(&[&PROGRAMS[linked as usize]]).arguments(words)
}

/// In the order of [`BOTH`].
fn build() -> [PathBuf; 2] {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ocaml"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ocaml-library");
    std::fs::create_dir_all(&folder).unwrap();
    let stubs = folder.join("liblifetrace_stubs.a");
    let mut script = Command::new("sh");
    script.arg(source.join("src/build-stubs.sh")).arg(&stubs);
    run(script.env("CARGO_TARGET_DIR", folder.join("../..")));

    let (built, installed) = (folder.join("_build"), folder.join("installed"));
    let dune = |verb: &str, arguments: &[&str]| {
        let mut dune = Command::new("dune");
        dune.arg(verb).args(arguments).arg("--root").arg(source).arg("--build-dir").arg(&built);
        run(dune.env("LIFETRACE_STUBS", &stubs));
    };
    dune("build", &["@install", "./test/traced.exe"]);
    dune("install", &["--prefix", installed.to_str().unwrap()]);

    let copy = folder.join("traced.ml");
    std::fs::copy(source.join("test/traced.ml"), &copy).unwrap();
    let program = folder.join("traced-static");
    let mut ocamlfind = Command::new("ocamlfind");
    ocamlfind.args(["ocamlopt", "-g", "-thread", "-linkpkg", "-ccopt", "-static"]);
    ocamlfind.args(["-package", "lifetrace,unix,threads.posix", "-o"]).arg(&program).arg(&copy);
    run(ocamlfind.env("OCAMLPATH", installed.join("lib")));
    [built.join("default/test/traced.exe"), program]
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{told}", output.status);
}
