//! The OCaml programs of `fixtures/targets/ocaml`, compiled when first asked for.
//!
//! The compiler leaves its files beside the sources, so each program is compiled in a folder of its own, on copies.
//! There the sources have no folder in their names, and so they are called in traces.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::fixture::{made, run, source};

/// As Debian's own programs: with debug information.
const NATIVE: &[&str] = &["ocamlopt", "-g"];

/// A native program.
pub fn native(name: &str) -> PathBuf {
    program(name, name, NATIVE)
}

/// A native program that is compiled with more options.
pub fn native_with(name: &str, output: &str, options: &[&str]) -> PathBuf {
    program(name, output, &[NATIVE, options].concat())
}

/// A native program without debug information.
pub fn without_debug_information(name: &str) -> PathBuf {
    program(name, &format!("{name}-without-g"), &["ocamlopt"])
}

/// Bytecode, which starts with the name of the program that runs it.
pub fn bytecode(name: &str) -> PathBuf {
    program(name, &format!("{name}-bytecode"), &["ocamlc", "-g"])
}

/// Bytecode in one file with what runs it.
pub fn custom_bytecode(name: &str) -> PathBuf {
    program(name, &format!("{name}-custom"), &["ocamlc", "-g", "-custom"])
}

/// A native program without its table of symbols.
pub fn stripped(name: &str) -> PathBuf {
    let whole = native(name);
    made(&format!("ocaml/{name}-stripped"), |output| {
        run(Command::new("strip").arg("-s").arg(whole).arg("-o").arg(output));
    })
}

/// A compiler that is not installed, but lies in a folder.
pub struct Unpacked {
    /// The program, and what runs it.
    pub compiler: Vec<String>,
    /// Where its standard library is.
    pub library: PathBuf,
    /// What its programs are linked with, if not what it knows.
    pub linker: Option<String>,
}

/// A native program by another compiler, in the file `output`.
pub fn native_by(compiler: &Unpacked, name: &str, output: &str) -> PathBuf {
    made(&format!("ocaml/{output}"), |output| {
        let folder = Folder::with_sources_of(name);
        let (program, arguments) = compiler.compiler.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env("OCAMLLIB", &compiler.library).current_dir(folder.0.path());
        command.args(["-g", "-w", "-a", "-I", "+unix", "-I", "+threads"]);
        command.args(archives(libraries(name)));
        command.args(compiler.linker.iter().flat_map(|linker| ["-cc", linker]));
        run(command.arg("account.ml").arg(module(name)).arg("-o").arg(output));
    })
}

/// The files of libraries that come with the compiler.
fn archives(libraries: &str) -> &'static [&'static str] {
    match libraries {
        "unix" => &["unix.cmxa"],
        "threads.posix" => &["unix.cmxa", "threads.cmxa"],
        _ => &[],
    }
}

/// A folder with what the compiler has left of the program's types.
pub fn types(name: &str) -> TempDir {
    let folder = Folder::with_sources_of(name);
    run(folder.ocamlfind(&["ocamlc"]).args(["-bin-annot", "-c", "account.ml", &module(name)]));
    folder.0
}

/// A folder with what another compiler than the system's has left of the program's types.
pub fn types_by(compiler: &Unpacked, name: &str) -> TempDir {
    let folder = Folder::with_sources_of(name);
    let (program, arguments) = compiler.compiler.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).env("OCAMLLIB", &compiler.library).current_dir(folder.0.path());
    command.args(["-w", "-a", "-bin-annot", "-stop-after", "typing", "-c"]);
    run(command.arg(module(name)));
    folder.0
}

/// A part that a native program loads, which has `account.ml` already.
pub fn plugin(name: &str) -> PathBuf {
    made(&format!("ocaml/{name}.cmxs"), |output| {
        let folder = Folder::with_sources_of(name);
        run(folder.ocamlfind(NATIVE).args(["-c", "account.ml"]));
        run(folder.ocamlfind(NATIVE).args(["-shared", &module(name), "-o"]).arg(output));
    })
}

/// A program in C that has `part` in it, a program in OCaml; with its symbols exported or not.
pub fn embedded(c: &str, part: &str, exported: bool) -> PathBuf {
    let (output, export) = if exported { ("-exported", "-rdynamic") } else { ("", "-no-pie") };
    made(&format!("ocaml/{c}{output}"), |output| {
        let folder = Folder::with_sources_of(part);
        let whole = folder.whole(part, &[]);
        run(in_c(c).arg(export).arg(whole).args(["-lm", "-ldl", "-o"]).arg(output));
    })
}

/// A program in C with `part`, a program in OCaml, and its runtime in a library that lies beside it.
pub fn in_library(c: &str, part: &str) -> PathBuf {
    let library = made(&format!("ocaml/lib{part}.so"), |output| {
        let folder = Folder::with_sources_of(part);
        let whole = folder.whole(part, &["-runtime-variant", "_pic"]);
        run(Command::new("gcc").arg("-shared").arg(whole).args(["-lm", "-ldl", "-o"]).arg(output));
    });
    made(&format!("ocaml/{c}-with-library"), |output| {
        run(in_c(c).arg(&library).arg("-Wl,-rpath,$ORIGIN").arg("-o").arg(output));
    })
}

/// A compiler for a program in C, which it is told.
fn in_c(c: &str) -> Command {
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-g", "-fno-inline", "-fno-optimize-sibling-calls", "-fno-builtin"]);
    gcc.arg("-I").arg(headers()).arg(source(&format!("ocaml/{c}.c")));
    gcc
}

fn program(name: &str, output: &str, compiler: &[&str]) -> PathBuf {
    made(&format!("ocaml/{output}"), |output| {
        let folder = Folder::with_sources_of(name);
        let mut command = folder.ocamlfind(compiler);
        command.args(["-package", libraries(name), "-thread", "-linkpkg", "account.ml"]);
        run(command.arg(module(name)).args(folder.in_c(name)).arg("-o").arg(output));
    })
}

/// Threads, once linked, change how signals are handled, so only who needs a library has it.
fn libraries(name: &str) -> &'static str {
    match name {
        "attached" | "held" | "held_by_fibers" | "systhreads" | "waiting" => "threads.posix",
        "lwt_workers" => "lwt.unix",
        "plugin_host" => "dynlink",
        "ends" | "exec" | "ending" | "fork" | "four_behaviours" | "own_readlink" | "signals"
        | "stub_leak" | "churning" => "unix",
        _ => "",
    }
}

/// Where OCaml's C headers are.
fn headers() -> String {
    let output = Command::new("ocamlfind").args(["ocamlopt", "-where"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn module(name: &str) -> String {
    format!("{name}.ml")
}

/// A folder in which one thing is compiled.
struct Folder(TempDir);

impl Folder {
    /// With copies of all that the program `name` may be made of.
    fn with_sources_of(name: &str) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        for file in ["account.ml".to_owned(), module(name), format!("{name}_c.c")] {
            let original = source(&format!("ocaml/{file}"));
            if original.exists() {
                std::fs::copy(original, folder.path(&file)).unwrap();
            }
        }
        folder
    }

    /// A program in OCaml with its runtime, to be linked into another program.
    fn whole(&self, part: &str, options: &[&str]) -> PathBuf {
        let mut compiler = self.ocamlfind(NATIVE);
        compiler.args(options).args(["-output-complete-obj", "account.ml", &module(part)]);
        run(compiler.args(["-o", "all.o"]));
        self.path("all.o")
    }

    /// Warnings are for those who write programs, not for those who build them.
    fn ocamlfind(&self, compiler: &[&str]) -> Command {
        let mut command = Command::new("ocamlfind");
        command.args(compiler).args(["-w", "-a"]).current_dir(self.0.path());
        command
    }

    /// The part in C, if it has one.
    fn in_c(&self, name: &str) -> Option<PathBuf> {
        Some(self.path(&format!("{name}_c.c"))).filter(|file| file.exists())
    }

    fn path(&self, file: &str) -> PathBuf {
        Path::join(self.0.path(), file)
    }
}
