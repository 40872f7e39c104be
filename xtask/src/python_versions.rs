//! The tests of other versions of Python than the system's; their C library comes with them.

use crate::archive::{DEBIAN, UBUNTU};
use crate::versions::{Versions, packages};

/// The version that the tests of every change run with.
pub const ALWAYS: &str = "3.13";

/// All of them.
pub const PYTHON: Versions = Versions {
    language: "Python",
    known: &[
        (
            "3.12",
            packages(
                UBUNTU,
                "noble",
                &[
                    "python3.12-minimal",
                    "libpython3.12-minimal",
                    "libpython3.12-stdlib",
                    "libc6",
                    "libexpat1",
                    "libffi8",
                    "zlib1g",
                ],
            ),
        ),
        (
            ALWAYS,
            packages(
                DEBIAN,
                "trixie",
                &[
                    "python3.13-minimal",
                    "libpython3.13-minimal",
                    "libpython3.13-stdlib",
                    "libc6",
                    "libexpat1",
                    "libffi8",
                    "zlib1g",
                ],
            ),
        ),
        (
            "3.14",
            packages(
                DEBIAN,
                "sid",
                &[
                    "python3.14-minimal",
                    "libpython3.14-minimal",
                    "libpython3.14-stdlib",
                    "libc6",
                    "libexpat1",
                    "libffi8",
                    "zlib1g",
                ],
            ),
        ),
    ],
    tests: "python::",
    variables: ["LIFETRACE_PYTHON", "LIFETRACE_PYTHON_VERSION"],
};
