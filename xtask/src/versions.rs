//! Tests with other versions of a language than the system's, from other Debians or Ubuntus, unpacked into folders.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::archive::Archive;
use crate::foreign::Packages;
use crate::{shell, tools};

/// A language, and how its tests are run.
pub struct Versions {
    /// As people write it; what is unpacked goes into folders that are called so.
    pub language: &'static str,
    /// By its number.
    pub known: &'static [(&'static str, Packages<'static>)],
    /// Which of the end-to-end tests.
    pub tests: &'static str,
    /// Where the tests look for the folder, and for the number of the version.
    pub variables: [&'static str; 2],
}

/// Packages for this machine.
pub const fn packages(
    archive: Archive,
    suite: &'static str,
    names: &'static [&'static str],
) -> Packages<'static> {
    Packages { archive, suite, architecture: "amd64", names }
}

impl Versions {
    /// Runs the tests with these versions, or with all.
    ///
    /// # Errors
    /// If a version is not known or cannot be had, or a test fails.
    pub fn test(&self, wanted: &[&str]) -> Result<()> {
        tools::ensure()?;
        for name in wanted {
            let known: Vec<_> = self.known.iter().map(|(version, _)| *version).collect();
            ensure!(known.contains(name), "{name} is none of {}", known.join(", "));
        }
        let is_wanted = |version: &str| wanted.is_empty() || wanted.contains(&version);
        let mut wanted = self.known.iter().filter(|(version, _)| is_wanted(version));
        wanted.try_for_each(|(version, packages)| self.test_one(version, packages))
    }

    /// Where a known version is unpacked; `None` if there is nowhere to fetch it from, which a line says.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn root(&self, version: &str) -> Result<Option<PathBuf>> {
        let known = self.known.iter().find(|(known, _)| *known == version);
        let (_, packages) = known.with_context(|| format!("{version} is not known"))?;
        self.unpacked(version, packages)
    }

    fn unpacked(&self, version: &str, packages: &Packages<'_>) -> Result<Option<PathBuf>> {
        let name = format!("{} {version}", self.language);
        let folder = shell::target_folder()?.join(name.to_lowercase().replace(' ', "-"));
        packages.unpacked(&folder, &name)
    }

    fn test_one(&self, version: &str, packages: &Packages<'_>) -> Result<()> {
        let Some(root) = self.unpacked(version, packages)? else { return Ok(()) };
        // Of the whole workspace, as they are built already.
        let tests = format!("test --release {} --test end_to_end {}", shell::WORKSPACE, self.tests);
        let mut command = shell::cargo_command(&tests);
        let [at, number] = self.variables;
        command.env(at, root).env(number, version);
        shell::run(command)
    }
}
