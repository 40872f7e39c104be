//! The tests of other versions of OCaml than the system's. Their compilers are other Debians' or Ubuntu's, and if
//! these have a later C library, it comes with them.

use crate::archive::{DEBIAN, UBUNTU};
use crate::versions::{Versions, packages};

const LATER: &[&str] =
    &["ocaml", "libstdlib-ocaml", "libstdlib-ocaml-dev", "libc6", "libc6-dev", "linux-libc-dev"];

/// The version that the tests of every change run with.
pub const ALWAYS: &str = "5.3";

/// All of them.
pub const OCAML: Versions = Versions {
    language: "OCaml",
    known: &[
        ("4.11", packages(DEBIAN, "bullseye", &["ocaml-nox", "ocaml-base-nox"])),
        ("4.14", packages(UBUNTU, "noble", LATER)),
        (ALWAYS, packages(DEBIAN, "trixie", LATER)),
        ("5.4", packages(UBUNTU, "resolute", LATER)),
    ],
    tests: "ocaml_versions -- --ignored",
    variables: ["LIFETRACE_OCAML", "LIFETRACE_OCAML_VERSION"],
};
