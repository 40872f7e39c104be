//! What packages are made of, and what they say of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;

/// A tree of sources.
pub struct Source {
    pub root: PathBuf,
    /// Where cargo puts what it builds of them.
    pub target: PathBuf,
    pub version: String,
    /// The time that everything in a package has, in seconds of Unix.
    pub epoch: String,
    /// What the command says it was built from.
    pub commit: String,
}

impl Source {
    /// The sources that this program lies in. A packager who has no repository names the time and the commit by
    /// variables of the environment.
    ///
    /// # Errors
    /// If cargo or git do not say.
    pub fn here() -> Result<Source> {
        let text = shell::output(shell::cargo_command("metadata --format-version 1 --no-deps"))?;
        let metadata: serde_json::Value = serde_json::from_str(&text)?;
        let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
        let command = packages.iter().find(|package| package["name"] == "lifetrace-cli");
        let version = command.and_then(|command| command["version"].as_str());
        Ok(Source {
            root: shell::root().to_owned(),
            target: shell::target_folder()?,
            version: version.context("the command has no version")?.to_owned(),
            epoch: said("SOURCE_DATE_EPOCH", "%ct")?,
            commit: said("LIFETRACE_COMMIT", "%h %cs")?,
        })
    }

    /// Where finished packages are.
    pub fn packages(&self) -> PathBuf {
        self.target.join("dist")
    }

    /// Where they are being made.
    pub fn work(&self) -> PathBuf {
        self.target.join("dist-work")
    }

    /// A copy of all files that are not ignored, in a folder that is made anew, with a target folder in it.
    ///
    /// # Errors
    /// If they cannot be listed or copied.
    pub fn copied(&self, folder: &Path) -> Result<Source> {
        let (root, target) = (folder.join("sources"), folder.join("built"));
        let _ = fs::remove_dir_all(folder);
        let mut git = Command::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        git.current_dir(&self.root);
        let list = shell::output(git)?;
        for file in list.split('\0').filter(|file| self.root.join(file).is_file()) {
            let to = root.join(file);
            fs::create_dir_all(to.parent().unwrap_or(&root))?;
            fs::copy(self.root.join(file), &to).with_context(|| to.display().to_string())?;
        }
        let (version, epoch, commit) = (&self.version, &self.epoch, &self.commit);
        Ok(Source {
            root,
            target,
            version: version.clone(),
            epoch: epoch.clone(),
            commit: commit.clone(),
        })
    }

    /// The time, as `date` writes it in `format`.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn date(&self, format: &str) -> Result<String> {
        let mut date = Command::new("date");
        date.env("LC_ALL", "C").args(["-u", "-d"]).arg(format!("@{}", self.epoch)).arg(format);
        shell::output(date)
    }

    /// The text of a file of the sources.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn text(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.root.join(path)).with_context(|| path.to_owned())
    }
}

fn said(variable: &str, format: &str) -> Result<String> {
    if let Ok(said) = std::env::var(variable) {
        return Ok(said);
    }
    let mut git = Command::new("git");
    git.args(["log", "-1", "--abbrev=9", &format!("--format={format}")]);
    shell::output(git).with_context(|| format!("where git does not know it, set {variable}"))
}
