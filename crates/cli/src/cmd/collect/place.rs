//! Where the collector's socket is, where nobody says.

use std::path::{Path, PathBuf};

use anyhow::bail;

/// The place that is asked for, or the usual one: root's programs find it in `/run`, a user's where the session has its own.
///
/// # Errors
/// If there is no usual place, or the path is longer than a socket's can be.
pub fn socket(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    const LONGEST: usize = 107;
    let path = match asked {
        Some(path) => std::path::absolute(path)?,
        None => usual()?,
    };
    if path.as_os_str().len() > LONGEST {
        bail!("{}: a socket's path has at most {LONGEST} bytes", path.display());
    }
    Ok(path)
}

fn usual() -> anyhow::Result<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = match rustix::process::geteuid().is_root() {
        true => Some(PathBuf::from("/run")),
        false => runtime.filter(|path| path.is_absolute()),
    };
    match folder {
        Some(folder) => Ok(folder.join("lifetrace/socket")),
        None => bail!("XDG_RUNTIME_DIR is not set: say with --socket where the collector listens"),
    }
}
