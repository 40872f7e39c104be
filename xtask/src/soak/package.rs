//! Debian packages that only a soak needs.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::{shell, tools};

/// Sees to it that `file` is there, by installing `package` if we may.
///
/// # Errors
/// If it is not there; the message says what to install.
pub fn need(file: &str, package: &str) -> Result<()> {
    if tools::exists(file) {
        return Ok(());
    }
    let mut user = Command::new("id");
    user.arg("-u");
    ensure!(shell::output(user)? == "0", "type: sudo apt-get install {package}");
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "-qq", "--no-install-recommends", package]);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    shell::run(install)
}
