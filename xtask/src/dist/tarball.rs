//! The archive that is unpacked anywhere.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::contents::Contents;
use super::source::Source;
use super::stage::Stage;
use crate::shell;

/// What is in it as it is in the repository.
const FILES: [&str; 6] = [
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "CHANGELOG.md",
    "contrib/lifetrace-collect.service",
    "contrib/Containerfile",
];

/// What the archive is called, and the only folder in it.
pub fn name(source: &Source) -> String {
    format!("lifetrace-{}-x86_64-linux", source.version)
}

/// Makes it, compressed by gzip: old systems without xz can unpack it.
///
/// # Errors
/// If a file cannot be read or written.
pub fn make(source: &Source, contents: &Contents) -> Result<()> {
    let name = name(source);
    let stage = Stage::fresh(source.work().join("tarball").join(&name))?;
    fill(&stage, source, contents)?;
    let plain = source.work().join("tarball/plain.tar");
    archive(source, &stage.folder, &plain)?;
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "-n", "-f"]).arg(&plain);
    shell::run(gzip)?;
    let packed = plain.with_extension("tar.gz");
    Ok(fs::rename(packed, source.packages().join(format!("{name}.tar.gz")))?)
}

fn fill(stage: &Stage, source: &Source, contents: &Contents) -> Result<()> {
    stage.put_program("bin/lifetrace", fs::read(&contents.command)?)?;
    for (page, text) in &contents.pages {
        stage.put(&format!("share/man/man1/{page}"), text)?;
    }
    stage.put("share/bash-completion/completions/lifetrace", &contents.bash)?;
    stage.put("share/zsh/site-functions/_lifetrace", &contents.zsh)?;
    stage.put("share/fish/vendor_completions.d/lifetrace.fish", &contents.fish)?;
    stage.put("THIRD-PARTY.md", &contents.third_party)?;
    stage.put("lifetrace.cdx.json", &contents.bill)?;
    for file in FILES {
        stage.put(file, source.text(file)?)?;
    }
    stage.put("contrib/collector.Containerfile", source.text("packaging/Containerfile")?)
}

/// Whoever unpacks it owns the files; their order and time are not those of this machine.
fn archive(source: &Source, folder: &Path, to: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=gnu", "--sort=name", "--owner=root:0", "--group=root:0"]);
    tar.arg(format!("--mtime=@{}", source.epoch)).arg("--file").arg(to);
    tar.arg("--directory").arg(folder.parent().unwrap_or(folder));
    tar.arg(folder.file_name().unwrap_or_default());
    shell::run(tar)
}
