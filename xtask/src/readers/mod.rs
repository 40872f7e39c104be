//! `cargo xtask readers`: exports as Go's pprof and Mozilla's profiler understand them, compared with
//! what they said before, in the `.txt` files of `crates/cli/tests/readers`.
//!
//! Both come from public registries, in fixed versions, and lie in the folder `readers` of cargo's
//! target folder. `LIFETRACE_BLESS=1` writes the files anew: look at what changed.

mod go;
mod mozilla;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{shell, tools};

const TRACE: &str = "fixtures/traces/reference-ocamlopt.ctf";

/// One of everything.
const SAMPLE: &str = "fixtures/traces/sample-v1.0.lt";

/// Gets the readers, and asks them.
///
/// # Errors
/// If one cannot be had, or says something else than before.
pub fn run() -> Result<()> {
    shell::cargo("build --release --package lifetrace-cli")?;
    let target = shell::target_folder()?;
    let readers =
        Readers { lifetrace: target.join("release/lifetrace"), folder: target.join("readers") };
    fs::create_dir_all(&readers.folder)?;
    go::check(&readers)?;
    mozilla::check(&readers)?;
    eprintln!("all readers say what they said before");
    Ok(())
}

/// Gets the readers, and asks them, where Python's and Node's package managers are there.
///
/// # Errors
/// If one cannot be had, or says something else than before.
pub fn run_if_possible() -> Result<()> {
    if tools::exists("npm") && tools::exists("python3") && has_pip() {
        return run();
    }
    eprintln!("skipped: readers, which need npm and python3 with pip");
    Ok(())
}

/// Whether Python packages can be had.
pub fn has_pip() -> bool {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--version"]);
    shell::output(pip).is_ok()
}

/// Where they are, and what makes exports.
struct Readers {
    lifetrace: PathBuf,
    folder: PathBuf,
}

impl Readers {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A new file with an export of `trace`.
    fn export(&self, trace: &str, format: &str, more: &[&str]) -> Result<PathBuf> {
        let path = self.path(&format!("trace.{format}"));
        let mut export = Command::new(&self.lifetrace);
        export.args(["export", "-F", format, trace, "-f", "-o"]).arg(&path).args(more);
        shell::run(export)?;
        Ok(path)
    }
}

/// Compares what a reader said with the file of that name.
fn compare(name: &str, said: &str) -> Result<()> {
    let path = Path::new("crates/cli/tests/readers").join(name);
    let said = said.replace(concat!("lifetrace ", env!("CARGO_PKG_VERSION")), "lifetrace VERSION");
    if std::env::var_os("LIFETRACE_BLESS").is_some() {
        fs::write(&path, &said)?;
    }
    let before = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    ensure!(said == before, "{}: the reader now says:\n{said}", path.display());
    Ok(())
}
