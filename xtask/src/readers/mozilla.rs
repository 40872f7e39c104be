//! Mozilla's profiler on the command line: the code of profiler.firefox.com, from npm.

use std::process::Command;

use anyhow::Result;

use super::{Readers, TRACE, compare};
use crate::shell;

const PACKAGE: &str = "@firefox-devtools/profiler-cli@0.10.0";

pub fn check(readers: &Readers) -> Result<()> {
    get(readers)?;
    let profile = readers.export(TRACE, "firefox", &[])?;
    let mut load = profiler(readers, &["load"]);
    load.arg(profile);
    shell::output(load)?;
    let said = ask(readers);
    // It goes on in the background.
    shell::output(profiler(readers, &["stop", "--all"]))?;
    compare("firefox.txt", &said?)
}

fn ask(readers: &Readers) -> Result<String> {
    let mut said = String::new();
    for words in [
        &["profile", "info"][..],
        &["counter", "list"],
        &["strategy", "native-allocations"],
        &["thread", "functions", "--limit", "12"],
        &["strategy", "native-retained-allocations"],
        &["thread", "functions", "--limit", "12"],
        &["thread", "markers"],
    ] {
        let answer = shell::output(profiler(readers, words))?;
        said += &format!("=== {}\n{answer}\n", words.join(" "));
    }
    Ok(said)
}

/// It keeps what it has loaded in the home folder.
fn profiler(readers: &Readers, words: &[&str]) -> Command {
    let mut command = Command::new(readers.path("npm/node_modules/.bin/profiler-cli"));
    command.args(words).env("HOME", readers.path("home")).env("TZ", "UTC");
    command
}

fn get(readers: &Readers) -> Result<()> {
    let npm = readers.path("npm");
    if !npm.join("node_modules/.bin/profiler-cli").exists() {
        std::fs::create_dir_all(&npm)?;
        let mut install = Command::new("npm");
        install.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
        install.arg(&npm).arg(PACKAGE);
        shell::run(install)?;
    }
    Ok(())
}
