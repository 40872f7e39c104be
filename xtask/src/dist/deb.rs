//! The package for Debian, Ubuntu and those that are made of them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::contents::Contents;
use super::source::Source;
use super::stage::Stage;
use crate::shell;

/// Of the package, where the command stays the same.
const REVISION: u32 = 1;

const DOCUMENTS: &str = "usr/share/doc/lifetrace";

/// The finished package.
pub fn path(source: &Source) -> PathBuf {
    source.packages().join(format!("lifetrace_{}_amd64.deb", version(source)))
}

fn version(source: &Source) -> String {
    format!("{}-{REVISION}", source.version)
}

/// Makes it, by Debian's own program alone.
///
/// # Errors
/// If a file cannot be read or written, or the package not be built.
pub fn make(source: &Source, contents: &Contents) -> Result<()> {
    let stage = Stage::fresh(source.work().join("deb"))?;
    programs(&stage, source, contents)?;
    documents(&stage, source, contents)?;
    control(&stage, source)?;
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", &source.epoch);
    build.args(["--root-owner-group", "-Zxz", "--build"]);
    build.arg(&stage.folder).arg(path(source));
    shell::run(build)
}

fn programs(stage: &Stage, source: &Source, contents: &Contents) -> Result<()> {
    stage.put_program("usr/bin/lifetrace", fs::read(&contents.command)?)?;
    stage.put("usr/lib/lifetrace/liblifetrace.so", &contents.library)?;
    let unit = source.text("contrib/lifetrace-collect.service")?;
    stage.put("lib/systemd/system/lifetrace-collect.service", unit)?;
    stage.put("usr/share/bash-completion/completions/lifetrace", &contents.bash)?;
    stage.put("usr/share/zsh/vendor-completions/_lifetrace", &contents.zsh)?;
    stage.put("usr/share/fish/vendor_completions.d/lifetrace.fish", &contents.fish)?;
    let overrides = source.text("packaging/debian/lintian-overrides")?;
    stage.put("usr/share/lintian/overrides/lifetrace", overrides)
}

fn documents(stage: &Stage, source: &Source, contents: &Contents) -> Result<()> {
    for (page, text) in &contents.pages {
        stage.put_compressed(&format!("usr/share/man/man1/{page}.gz"), text)?;
    }
    let put =
        |name: &str, text: &str| stage.put_compressed(&format!("{DOCUMENTS}/{name}.gz"), text);
    put("changelog", &source.text("CHANGELOG.md")?)?;
    put("changelog.Debian", &filled(source, "changelog")?)?;
    put("README.md", &source.text("README.md")?)?;
    put("THIRD-PARTY.md", &contents.third_party)?;
    put("lifetrace.cdx.json", &contents.bill)?;
    stage.put(&format!("{DOCUMENTS}/copyright"), filled(source, "copyright")?)
}

fn control(stage: &Stage, source: &Source) -> Result<()> {
    let mut size = Command::new("du");
    size.args(["--summarize", "--apparent-size", "--block-size=1024"]).arg(&stage.folder);
    let size = shell::output(size)?;
    let size = size.split_whitespace().next().unwrap_or_default();
    let control = filled(source, "control")?.replace("@SIZE@", size);
    stage.put("DEBIAN/md5sums", sums(stage)?)?;
    stage.put("DEBIAN/control", control)?;
    for script in ["postinst", "prerm", "postrm"] {
        let text = source.text(&format!("packaging/debian/{script}"))?;
        stage.put_program(&format!("DEBIAN/{script}"), text)?;
    }
    Ok(())
}

/// A file of `packaging/debian` with what differs from release to release.
fn filled(source: &Source, name: &str) -> Result<String> {
    let text = source.text(&format!("packaging/debian/{name}"))?;
    Ok(text
        .replace("@VERSION@", &version(source))
        .replace("@DATE@", &source.date("+%a, %d %b %Y %H:%M:%S %z")?)
        .replace("@MIT@", indented(&source.text("LICENSE-MIT")?).trim_end()))
}

/// As fields of several lines are written.
fn indented(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { " .\n".to_owned() } else { format!(" {line}\n") };
    text.lines().map(line).collect()
}

fn sums(stage: &Stage) -> Result<String> {
    let mut md5 = Command::new("sh");
    md5.current_dir(&stage.folder);
    md5.args(["-c", "find usr lib -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum"]);
    Ok(shell::output(md5)? + "\n")
}
