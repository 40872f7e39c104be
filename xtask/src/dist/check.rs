//! Packages, tried in systems that know nothing of us.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use super::root::Root;
use super::source::Source;
use super::{build, deb, gem, image, opam, tarball};
use crate::{shell, tools};

/// From the oldest on. A mirror that has no more of the first has the next.
const OLD: &[&str] = &["buster", "bullseye", "bookworm"];
const NEW: &[&str] = &["trixie", "bookworm"];

/// In every Debian.
const PROGRAM: &str = "perl -e 'push @{$h{$_ % 1000}}, \"line $_ \" x 20 for 1..200_000'";

/// What programs in old and new systems have to say of our packages.
///
/// # Errors
/// If one does not work.
pub fn run(source: &Source) -> Result<()> {
    lint(source)?;
    gem(source)?;
    opam::check(source, &build::command(source)?)?;
    if !Root::is_possible() {
        return Ok(());
    }
    for suites in [OLD, NEW] {
        let Some(root) = Root::fresh(source, suites)? else { continue };
        unpacked(source, &root)?;
        installed(source, &root)?;
        image::check(source, &root)?;
        std::fs::remove_dir_all(root.folder)?;
    }
    println!("the packages work");
    Ok(())
}

fn lint(source: &Source) -> Result<()> {
    if !tools::exists("lintian") {
        eprintln!("skipped: no lintian to look at the package for Debian");
        return Ok(());
    }
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on", "error,warning"]).arg(deb::path(source));
    shell::run(lintian)
}

/// The archive, in a folder of a user's.
fn unpacked(source: &Source, root: &Root) -> Result<()> {
    let name = tarball::name(source);
    let archive = root.bring(&source.packages().join(format!("{name}.tar.gz")))?;
    root.script(&format!("mkdir /opt/it; tar -xf {archive} --strip-components=1 -C /opt/it"))?;
    works(root, "/opt/it/bin/lifetrace", source)?;
    root.script(&format!("rm -r /opt/it {archive}")).map(drop)
}

/// The package for Debian: put in, used, and taken out again with all that belongs to it.
fn installed(source: &Source, root: &Root) -> Result<()> {
    let package = root.bring(&deb::path(source))?;
    let before = root.files()?;
    root.script(&format!("dpkg -i {package}"))?;
    works(root, "lifetrace", source)?;
    // What it has of itself in programs is what the command would put there.
    root.script(
        "lifetrace library --install /tmp/own; cmp /tmp/own/liblifetrace.so /usr/lib/lifetrace/liblifetrace.so; \
         rm -r /tmp/own; gzip -t /usr/share/man/man1/lifetrace*.1.gz; \
         test -f /lib/systemd/system/lifetrace-collect.service; dpkg --verify lifetrace",
    )?;
    root.script("dpkg --purge lifetrace")?;
    let after = root.files()?;
    let left: Vec<_> = after.iter().filter(|file| !before.contains(file)).collect();
    ensure!(left.is_empty() && after.len() == before.len(), "the package leaves {left:?}");
    Ok(())
}

/// A real program is recorded with the C library of the system, and its functions have their names.
fn works(root: &Root, lifetrace: &str, source: &Source) -> Result<()> {
    let version = root.script(&format!("{lifetrace} --version"))?;
    ensure!(version.contains(&source.version), "this is another version: {version}");
    let report = root.script(&format!(
        "cd /tmp; {lifetrace} record -o it.lt -- {PROGRAM}; {lifetrace} check it.lt; \
         {lifetrace} report it.lt; rm it.lt; rm -r /var/cache/lifetrace ~/.cache 2>/dev/null || true"
    ))?;
    ensure!(report.contains("Perl_sv_grow"), "the report has no function of Perl's:\n{report}");
    Ok(())
}

/// The gem, where there are no gems but Ruby's own.
fn gem(source: &Source) -> Result<()> {
    let file: PathBuf = source.packages().join(gem::name(source));
    if !file.exists() {
        return Ok(());
    }
    let home = source.work().join("gems");
    let _ = std::fs::remove_dir_all(&home);
    let ruby = |program: &str| {
        let mut command = Command::new(program);
        command.env("GEM_HOME", &home).env("GEM_PATH", &home);
        command.current_dir(source.work());
        command
    };
    let mut install = ruby("gem");
    install.args(["install", "--local", "--no-document"]).arg(&file);
    shell::run(install)?;
    let mut program = ruby("ruby");
    program.args(["-rlifetrace", "-e", GEM_PROGRAM]);
    let said = shell::output(program)?;
    ensure!(said == "sampled", "the gem says: {said}");
    Ok(())
}

const GEM_PROGRAM: &str = "profile = Lifetrace.profile(rate: 1) { $kept = Array.new(1000) { |i| i.to_s * 9 } }; \
     print(profile.samples > 1000 && profile.pprof.bytesize > 100 ? 'sampled' : profile.inspect)";
