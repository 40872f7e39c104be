//! Small Debians in folders, in which packages are tried.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::source::Source;
use crate::archive::DEBIAN;
use crate::{shell, tools};

/// A system that programs can be run in.
pub struct Root {
    pub folder: PathBuf,
}

impl Root {
    /// A fresh copy of a release of Debian's that has nothing but what every system has. `None` if there is nowhere to
    /// have it from, which a line says; it is fetched once.
    ///
    /// # Errors
    /// If it cannot be unpacked or copied.
    pub fn fresh(source: &Source, suites: &[&str]) -> Result<Option<Root>> {
        for suite in suites {
            if let Some(kept) = kept(source, suite)? {
                let folder = source.work().join("root");
                let _ = fs::remove_dir_all(&folder);
                let mut copy = Command::new("cp");
                copy.arg("--archive").arg(kept).arg(&folder);
                shell::run(copy)?;
                return Ok(Some(Root { folder }));
            }
        }
        Ok(None)
    }

    /// Whether this machine lets us change the root of a process, with a line if not.
    pub fn is_possible() -> bool {
        let mut trial = Command::new("unshare");
        trial.args(["--mount", "--pid", "--fork", "chroot", "/", "true"]);
        let is_possible = tools::exists("debootstrap") && shell::output(trial).is_ok();
        if !is_possible {
            eprintln!(
                "SKIPPED: packages are not tried in clean systems: that takes root, and debootstrap"
            );
        }
        is_possible
    }

    /// A command in the system, with its own processes alone; all of them end with it.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child"]);
        command.arg(format!("--mount-proc={}", self.folder.join("proc").display()));
        command.arg("chroot").arg(&self.folder).arg(program).args(arguments);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
        command.env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive");
        command
    }

    /// What a shell prints.
    ///
    /// # Errors
    /// If it fails.
    pub fn script(&self, script: &str) -> Result<String> {
        eprintln!("+ in {}: {script}", self.folder.display());
        shell::output(self.command("sh", &["-euc", script]))
    }

    /// Puts a file into `/tmp`.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub fn bring(&self, file: &Path) -> Result<String> {
        let name = file.file_name().context("it has a name")?.to_string_lossy().into_owned();
        fs::copy(file, self.folder.join("tmp").join(&name))?;
        Ok(format!("/tmp/{name}"))
    }

    /// All that is in it, but for what the package manager notes for itself.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn files(&self) -> Result<Vec<String>> {
        let list = self.script("find / -xdev -not -path '/proc/*' | sort")?;
        let is_noted =
            |file: &str| file.starts_with("/var/lib/dpkg/") || file.starts_with("/var/log/");
        Ok(list.lines().filter(|file| !is_noted(file)).map(str::to_owned).collect())
    }
}

/// An unpacked release; `None` if the mirror does not have it (any more).
fn kept(source: &Source, suite: &str) -> Result<Option<PathBuf>> {
    let folder = source.target.join("dist-roots").join(suite);
    if folder.is_dir() {
        return Ok(Some(folder));
    }
    let Some(line) = DEBIAN.source("deb", suite, "packages in clean systems")? else {
        return Ok(None);
    };
    let mirror = line.split(' ').find(|word| word.contains("://")).context("a mirror's address")?;
    let unfinished = source.work().join(suite);
    let _ = fs::remove_dir_all(&unfinished);
    let mut unpack = Command::new("debootstrap");
    unpack.args(["--variant=minbase", suite]).arg(&unfinished).arg(mirror);
    // What it says of each package is in its own log.
    unpack.stdout(Stdio::null());
    if let Err(error) = shell::run(unpack) {
        eprintln!("skipped: Debian's {suite}: {error:#}");
        return Ok(None);
    }
    ensure!(unfinished.join("usr/bin/dpkg").exists(), "{suite} has no package manager");
    fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o755))?;
    fs::create_dir_all(folder.parent().unwrap_or(&folder))?;
    fs::rename(unfinished, &folder)?;
    Ok(Some(folder))
}
