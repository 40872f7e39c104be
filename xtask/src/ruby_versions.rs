//! The tests of other versions of Ruby than the system's. They are other Debians' or Ubuntu's, and their C library comes
//! with them.

use anyhow::{Context, Result};

use crate::archive::{Archive, DEBIAN, UBUNTU};
use crate::foreign::Packages;
use crate::{shell, tools};

/// The version that the tests of every change run with.
pub const ALWAYS: &str = "3.3";

const VERSIONS: &[(&str, Packages<'_>)] = &[
    (
        "3.2",
        packages(
            UBUNTU,
            "noble",
            &["ruby3.2", "libruby3.2", "libc6", "libgmp10", "libcrypt1", "zlib1g", "libgcc-s1"],
        ),
    ),
    (
        ALWAYS,
        packages(
            DEBIAN,
            "trixie",
            &["ruby3.3", "libruby3.3", "libc6", "libgmp10", "libcrypt1", "zlib1g", "libgcc-s1"],
        ),
    ),
];

const fn packages(
    archive: Archive,
    suite: &'static str,
    names: &'static [&'static str],
) -> Packages<'static> {
    Packages { archive, suite, architecture: "amd64", names }
}

/// All tests with these versions, or with all.
///
/// # Errors
/// If a Ruby cannot be had, or a test fails.
pub fn test(wanted: &[&str]) -> Result<()> {
    tools::ensure()?;
    for name in wanted {
        VERSIONS.iter().find(|(version, _)| version == name).context("3.2 or 3.3")?;
    }
    let is_wanted = |version: &str| wanted.is_empty() || wanted.contains(&version);
    VERSIONS.iter().filter(|(version, _)| is_wanted(version)).try_for_each(test_one)
}

fn test_one((version, packages): &(&str, Packages<'_>)) -> Result<()> {
    let folder = shell::target_folder()?.join(format!("ruby-{version}"));
    let Some(root) = packages.unpacked(&folder, &format!("Ruby {version}"))? else {
        return Ok(());
    };
    let mut command =
        shell::cargo_command("test --release --package lifetrace-cli --test end_to_end ruby::");
    command.env("LIFETRACE_RUBY", root).env("LIFETRACE_RUBY_VERSION", version);
    shell::run(command)
}
