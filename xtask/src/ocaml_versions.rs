//! The tests of other versions of OCaml than the system's. Their compilers are other Debians' or Ubuntu's, and if
//! these have a later C library, it comes with them.

use anyhow::{Context, Result};

use crate::archive::{Archive, DEBIAN, UBUNTU};
use crate::foreign::Packages;
use crate::{shell, tools};

const LATER: &[&str] =
    &["ocaml", "libstdlib-ocaml", "libstdlib-ocaml-dev", "libc6", "libc6-dev", "linux-libc-dev"];

/// The version that the tests of every change run with.
pub const ALWAYS: &str = "5.3";

const VERSIONS: &[(&str, Packages<'_>)] = &[
    ("4.11", packages(DEBIAN, "bullseye", &["ocaml-nox", "ocaml-base-nox"])),
    ("4.14", packages(UBUNTU, "noble", LATER)),
    (ALWAYS, packages(DEBIAN, "trixie", LATER)),
    ("5.4", packages(UBUNTU, "resolute", LATER)),
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
/// If a compiler cannot be had, or a test fails.
pub fn test(wanted: &[&str]) -> Result<()> {
    tools::ensure()?;
    for name in wanted {
        VERSIONS.iter().find(|(version, _)| version == name).context("4.11, 4.14, 5.3 or 5.4")?;
    }
    let is_wanted = |version: &str| wanted.is_empty() || wanted.contains(&version);
    VERSIONS.iter().filter(|(version, _)| is_wanted(version)).try_for_each(test_one)
}

fn test_one((version, packages): &(&str, Packages<'_>)) -> Result<()> {
    let folder = shell::target_folder()?.join(format!("ocaml-{version}"));
    let Some(root) = packages.unpacked(&folder, &format!("OCaml {version}"))? else {
        return Ok(());
    };
    let tests =
        "test --release --package lifetrace-cli --test end_to_end ocaml_versions -- --ignored";
    let mut command = shell::cargo_command(tests);
    command.env("LIFETRACE_OCAML", root).env("LIFETRACE_OCAML_VERSION", version);
    shell::run(command)
}
