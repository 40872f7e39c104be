//! What a snapshot of an OCaml program's heap costs, by the system's compiler and by that of OCaml 5: for how long the
//! program stands still, what the child takes, how large the file is, and what it takes to analyse it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::program;
use super::record::Record;
use super::snapshots::{Asked, analyse, read};
use crate::ocaml_versions::{ALWAYS, OCAML};
use crate::shell;

/// How what is on the heap lies there, and how many blocks, about.
const HEAPS: [(&str, u64); 4] =
    [("made", 1_000_000), ("mixed", 1_000_000), ("made", 10_000_000), ("mixed", 10_000_000)];

const ROUNDS: usize = 3;

/// Measures some times.
///
/// # Errors
/// If something cannot be built or run.
pub fn run() -> Result<()> {
    let folder = program::folder()?;
    let lifetrace = program::lifetrace()?;
    let columns =
        "ocaml,heap,blocks,heap_bytes,stopped_us,child_ms,file_bytes,analysis_ms,analysis_bytes";
    let mut record = Record::open("ocaml-snapshots", columns)?;
    let later = OCAML.root(ALWAYS)?;
    let compilers = [("system", None)].into_iter().chain(later.map(|root| (ALWAYS, Some(root))));
    for (name, root) in compilers {
        let program = compile(&folder, name, root.as_deref())?;
        for (heap, blocks) in HEAPS {
            for _ in 0..ROUNDS {
                let words = [program.clone().into(), heap.into(), blocks.to_string().into()];
                let row = measure(&lifetrace, &folder, &words)?;
                record.add(&format!("{name},{heap},{row}"))?;
            }
        }
    }
    Ok(())
}

fn measure(lifetrace: &Path, folder: &Path, words: &[OsString]) -> Result<String> {
    let snapshot = folder.join("graphs.lth");
    Asked::start(lifetrace, &folder.join("graphs.lt"), words)?
        .ask(lifetrace, &snapshot)?
        .finish()?;
    let heap = read(&snapshot)?;
    let usage = analyse(lifetrace, folder, &snapshot)?;
    let length = std::fs::metadata(&snapshot)?.len();
    Ok(format!(
        "{},{},{},{:.1},{length},{:.1},{:.0}",
        heap.objects,
        heap.bytes,
        heap.stopped_us,
        heap.child_ms,
        usage.cpu * 1e3,
        usage.peak_bytes
    ))
}

fn compile(folder: &Path, name: &str, root: Option<&Path>) -> Result<PathBuf> {
    let (source, program) =
        (program::source("ocaml/graphs.ml"), folder.join(format!("graphs-{name}")));
    // The compiler leaves its files beside the source.
    let copy = folder.join("graphs.ml");
    std::fs::copy(source, &copy)?;
    let mut command = match root {
        Some(root) => later(root),
        None => Command::new("ocamlopt"),
    };
    command.args(["-g", "-w", "-a"]).arg(&copy).arg("-o").arg(&program);
    shell::run(command)?;
    Ok(program)
}

/// The compiler that lies in a folder like a root directory, with the C library that it came with.
fn later(root: &Path) -> Command {
    let root = root.display();
    let libraries = format!("{root}/usr/lib/x86_64-linux-gnu");
    let loader = format!("{root}/usr/lib64/ld-linux-x86-64.so.2");
    let linker = format!(
        "gcc --sysroot={root} -B{libraries} -L{libraries} -Wl,-E \
         -Wl,--dynamic-linker={loader},-rpath,{libraries}"
    );
    let mut command = Command::new(loader);
    command.arg("--library-path").arg(&libraries);
    command.arg(format!("{root}/usr/bin/ocamlopt.opt")).args(["-cc", &linker]);
    command.env("OCAMLLIB", format!("{libraries}/ocaml/5.3.0"));
    command
}
