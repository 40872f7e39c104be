//! What `bench ocaml` runs: programs of `benchmarks/workloads/ocaml`, and OCaml's own compiler.
//!
//! Each is also built with a module before it that starts the runtime's sampler and does nothing else, and, where
//! ocamlfind knows Memtrace, with that: as Memtrace's users do, with one more line at the
//! beginning. Debian's compiler is a program without such lines, so it is linked again from its own libraries.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::need::Need;
use super::program;
use super::variant::{MEMTRACE, SAMPLER};
use super::workload::{Share, Workload, workload};
use crate::shell;

/// Lets the runtime print what its collector has counted, on standard error as the program ends.
///
/// Samples shift where collections fall, and a few words more or less in a heap do, too: in the same way in
/// each run, so that rounds do not average it out. So the minor heap has another size in each round, within 4 %
/// of the usual one, and the major one is collected somewhat sooner or later (`space_overhead`).
fn parameters(round: usize) -> Option<(&'static str, String)> {
    const USUAL: usize = 1 << 18;
    const MOST: usize = USUAL / 25;
    const USUAL_OVERHEAD: usize = 120;
    const MOST_OVERHEAD: usize = USUAL_OVERHEAD / 24;
    let words = USUAL - MOST + round * 7_919 % (2 * MOST);
    let overhead = USUAL_OVERHEAD - MOST_OVERHEAD + round * 7 % (2 * MOST_OVERHEAD + 1);
    Some(("OCAMLRUNPARAM", format!("v=0x400,s={words},o={overhead}")))
}

/// What the compiler compiles, and how often: a second of work.
const MODULES: [&str; 3] = ["camlinternalFormat", "scanf", "format"];
const TIMES: u64 = 4;

const OCAML: &[Need] = &[("ocamlopt.opt", "ocaml"), ("ocamlfind", "ocaml-findlib")];

/// How a workload is made.
pub struct Plan {
    /// The workload's name.
    pub name: &'static str,
    /// What it runs.
    pub needs: &'static [Need],
    make: fn(&Path, Share) -> Result<Workload>,
}

/// All workloads. Each takes one to two seconds of processor time.
pub const PLANS: &[Plan] = &[
    Plan { name: "ocamlopt", needs: OCAML, make: ocamlopt },
    Plan {
        name: "server",
        needs: OCAML,
        make: |at, share| written(at, "server", share.word(700_000)),
    },
    Plan {
        name: "listmap",
        needs: OCAML,
        make: |at, share| written(at, "listmap", share.word(250_000)),
    },
    Plan { name: "json", needs: OCAML, make: |at, share| written(at, "json", share.word(5_000)) },
    Plan { name: "deep", needs: OCAML, make: |at, share| written(at, "deep", share.word(5_000)) },
];

impl Plan {
    /// Makes the workload; its inputs and programs are put into `folder`.
    ///
    /// # Errors
    /// If something cannot be written or built.
    pub fn make(&self, folder: &Path) -> Result<Workload> {
        self.make_share(folder, Share(100))
    }

    /// Makes the workload with a part of the work; its inputs and programs are put into `folder`.
    ///
    /// # Errors
    /// If something cannot be written or built.
    pub fn make_share(&self, folder: &Path, share: Share) -> Result<Workload> {
        let folder = folder.join("ocaml");
        fs::create_dir_all(&folder)?;
        Ok(Workload { varied: parameters, ..(self.make)(&folder, share)? })
    }
}

/// A program of ours, which is told how much to do.
fn written(folder: &Path, name: &'static str, amount: OsString) -> Result<Workload> {
    copy(folder, &program::source(&format!("ocaml/{name}.ml")), name)?;
    let words = |program: PathBuf| vec![program.into(), amount.clone()];
    let bare = words(build(folder, name, &[], &[name])?);
    let builds = builds(folder, name, &[], name)?;
    let builds = builds.into_iter().map(|(what, program)| (what, words(program))).collect();
    Ok(Workload { builds, ..workload(name, bare) })
}

/// The compiler on modules of the standard library. It ends before the assembler
/// would begin, which is another program.
fn ocamlopt(folder: &Path, share: Share) -> Result<Workload> {
    let mut arguments: Vec<OsString> =
        ["-w", "-a", "-stop-after", "scheduling", "-c"].map(OsString::from).into();
    for index in 0..share.of(TIMES * MODULES.len() as u64) {
        let module = MODULES[index as usize % MODULES.len()];
        let library = PathBuf::from(library()?).join(format!("{module}.ml"));
        let name = format!("{module}{}", index as usize / MODULES.len() + 1);
        copy(folder, &library, &name)?;
        arguments.push(folder.join(format!("{name}.ml")).into());
    }
    fs::write(
        folder.join("driver.ml"),
        "let () = exit (Optmaindriver.main Sys.argv Format.err_formatter)\n",
    )?;
    let words = |program: OsString| [vec![program], arguments.clone()].concat();
    let builds = builds(folder, "ocamlopt", &["compiler-libs.optcomp"], "driver")?;
    let builds = builds.into_iter().map(|(what, program)| (what, words(program.into()))).collect();
    Ok(Workload { builds, ..workload("ocamlopt", words("ocamlopt.opt".into())) })
}

/// Where the standard library is.
fn library() -> Result<String> {
    let mut command = Command::new("ocamlopt.opt");
    command.arg("-where");
    shell::output(command)
}

/// The program with the sampler started before it, and with Memtrace, if that can be had.
fn builds(
    folder: &Path,
    name: &str,
    packages: &[&str],
    module: &str,
) -> Result<Vec<(&'static str, PathBuf)>> {
    let built = |what: &str, packages: &[&str], first: &str| {
        build(folder, &format!("{name}-{what}"), packages, &[first, module])
    };
    copy(folder, &program::source("ocaml/sampled.ml"), "sampled")?;
    let mut builds = vec![(SAMPLER, built(SAMPLER, packages, "sampled")?)];
    if knows_memtrace() {
        fs::write(folder.join("traced.ml"), "let () = Memtrace.trace_if_requested ()\n")?;
        // Threads are linked with it, since it guards its state from them.
        let packages = [packages, &["threads.posix", "memtrace"]].concat();
        builds.push((MEMTRACE, built(MEMTRACE, &packages, "traced")?));
    }
    Ok(builds)
}

fn knows_memtrace() -> bool {
    let mut query = Command::new("ocamlfind");
    query.args(["query", "memtrace"]);
    query.output().is_ok_and(|output| output.status.success())
}

/// Builds a program of these modules.
fn build(folder: &Path, output: &str, packages: &[&str], modules: &[&str]) -> Result<PathBuf> {
    let mut command = Command::new("ocamlfind");
    command.args([
        "ocamlopt",
        "-g",
        "-w",
        "-a",
        "-thread",
        "-linkpkg",
        "-package",
        &packages.join(","),
    ]);
    command.args(modules.iter().map(|module| format!("{module}.ml"))).args(["-o", output]);
    command.current_dir(folder);
    shell::run(command)?;
    Ok(folder.join(output))
}

fn copy(folder: &Path, source: &Path, name: &str) -> Result<()> {
    fs::copy(source, folder.join(format!("{name}.ml")))?;
    Ok(())
}
