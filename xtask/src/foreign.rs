//! Packages of another Debian, of another architecture or a later one, unpacked into a folder of their own:
//! nothing is installed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::archive::Archive;
use crate::shell;

/// Which packages, and where from.
pub struct Packages<'a> {
    pub archive: Archive,
    pub suite: &'a str,
    pub architecture: &'a str,
    pub names: &'a [&'a str],
}

impl Packages<'_> {
    /// Their root directory, in `folder`; they are fetched if they are not there yet. `None` if there is
    /// nowhere to fetch them from; then a line says that `what` is skipped.
    ///
    /// # Errors
    /// If they cannot be fetched or unpacked.
    pub fn unpacked(&self, folder: &Path, what: &str) -> Result<Option<PathBuf>> {
        let root = folder.join("root");
        if !root.is_dir() {
            let Some(source) = self.archive.source("deb", self.suite, what)? else {
                return Ok(None);
            };
            self.unpack(&source, folder, &root)?;
        }
        Ok(Some(root))
    }

    fn unpack(&self, source: &str, folder: &Path, root: &Path) -> Result<()> {
        let unfinished = folder.join("unfinished");
        let _ = fs::remove_dir_all(&unfinished);
        for package in self.fetched(source, folder)? {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").arg(package).arg(&unfinished);
            shell::run(unpack)?;
        }
        // As Debian has them, by no package.
        symlink("usr/lib", unfinished.join("lib"))?;
        symlink("usr/lib64", unfinished.join("lib64"))?;
        fs::rename(unfinished, root).with_context(|| root.display().to_string())
    }

    /// The packages' files. What apt knows of this machine is left alone.
    fn fetched(&self, source: &str, folder: &Path) -> Result<Vec<PathBuf>> {
        let files = folder.join("packages");
        let _ = fs::remove_dir_all(&files);
        for part in ["lists/partial", "cache/archives/partial", "packages"] {
            fs::create_dir_all(folder.join(part))?;
        }
        fs::write(folder.join("status"), "")?;
        fs::write(folder.join("sources"), source)?;
        let apt = |words: &[&str]| {
            let mut command = Command::new("apt-get");
            command.current_dir(&files).arg("-qq");
            for option in self.options(folder) {
                command.args(["-o", &option]);
            }
            command.args(words);
            shell::run(command)
        };
        apt(&["update"])?;
        apt(&[&["download"], self.names].concat())?;
        fs::read_dir(&files)?.map(|entry| Ok(entry?.path())).collect()
    }

    fn options(&self, folder: &Path) -> Vec<String> {
        let at = |part: &str| folder.join(part).display().to_string();
        vec![
            format!("APT::Architecture={}", self.architecture),
            format!("APT::Architectures={}", self.architecture),
            format!("Dir::State::Lists={}", at("lists")),
            format!("Dir::State::status={}", at("status")),
            format!("Dir::Cache={}", at("cache")),
            format!("Dir::Etc::SourceList={}", at("sources")),
            "Dir::Etc::SourceParts=/nonexistent".to_owned(),
            "Acquire::Retries=3".to_owned(),
        ]
    }
}
