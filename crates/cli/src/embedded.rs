//! The preload library, inside the command.

/// The bytes of the shared library that `record` loads into targets; see the build script.
pub static PRELOAD: &[u8] = include_bytes!(env!("LIFETRACE_PRELOAD_LIBRARY"));
