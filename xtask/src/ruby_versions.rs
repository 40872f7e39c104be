//! The tests of other versions of Ruby than the system's; their C library comes with them.

use crate::archive::{DEBIAN, UBUNTU};
use crate::versions::{Versions, packages};

/// The version that the tests of every change run with.
pub const ALWAYS: &str = "3.3";

/// All of them.
pub const RUBY: Versions = Versions {
    language: "Ruby",
    known: &[
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
    ],
    tests: "ruby::",
    variables: ["LIFETRACE_RUBY", "LIFETRACE_RUBY_VERSION"],
};
