//! SQLite's own tests, `veryquick`: some 250 000 cases in one process, many of them with an allocator
//! that fails now and then, and crashes that are simulated in children.
//!
//! The source is Debian's, which has the tests. They refuse to be run by root.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::compare::{Outcomes, add};
use super::package;
use super::twice::Twice;
use super::workshop::Workshop;
use crate::archive::DEBIAN;
use crate::{shell, tools};

/// Fetches and unpacks the source, with lists and caches of its own: the machine's stay as they are.
const FETCH: &str = "\
mkdir -p lists/partial cache/archives/partial
apt() { apt-get -qq -o Dir::Etc::sourcelist=\"$PWD/sources.list\" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists=\"$PWD/lists\" -o Dir::Cache=\"$PWD/cache\" -o APT::Sandbox::User=root \"$@\"; }
apt update && apt source --download-only sqlite3
mkdir source && tar -xf sqlite3_*.orig.tar.xz -C source --strip-components 1";

const BUILD: &str = "./configure --with-tcl=/usr/lib/tcl8.6 && make testfixture";

/// Somebody who is not root.
const NOBODY: &[&str] = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// Builds the tests unless they are there, and runs them.
///
/// # Errors
/// If they cannot be built or run, or something comes out differently.
pub fn run() -> Result<()> {
    let Some(source) = source()? else { return Ok(()) };
    let workshop = Workshop::open("sqlite")?;
    let mut words: Vec<OsString> = Vec::new();
    if is_root()? {
        words.extend(NOBODY.iter().map(OsString::from));
    }
    words.extend([source.join("testfixture"), source.join("test/veryquick.test")].map(Into::into));
    let mut twice = Twice::new(workshop);
    twice.test("veryquick", &words, outcomes)?;
    twice.verdict()
}

/// The folder with the built source, which outlives runs; `None` if there is nowhere to fetch it from.
fn source() -> Result<Option<PathBuf>> {
    let folder = shell::target_folder()?.join("soak/sources/sqlite");
    let source = folder.join("source");
    if !source.join("testfixture").exists() {
        package::need("/usr/lib/tcl8.6/tclConfig.sh", "tcl8.6-dev")?;
        ensure!(tools::exists("apt-get"), "the source is fetched with apt-get");
        let Some(line) = DEBIAN.source("deb-src", "bookworm", "soak sqlite")? else {
            return Ok(None);
        };
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("sources.list"), line)?;
        script(FETCH, &folder)?;
        script(BUILD, &source)?;
    }
    Ok(Some(source))
}

fn script(text: &str, folder: &Path) -> Result<()> {
    let mut command = Command::new("sh");
    command.args(["-e", "-c", text]).current_dir(folder);
    shell::run(command)
}

fn is_root() -> Result<bool> {
    let mut user = Command::new("id");
    user.arg("-u");
    Ok(shell::output(user)? == "0")
}

/// Every case prints `name...` and what it came to.
fn outcomes(code: i32, _folder: &Path, log: &Path) -> Result<Outcomes> {
    let text = fs::read(log).with_context(|| log.display().to_string())?;
    let mut outcomes = cases(&String::from_utf8_lossy(&text));
    outcomes.insert("the whole".to_owned(), format!("exit code {code}"));
    Ok(outcomes)
}

fn cases(text: &str) -> Outcomes {
    let mut outcomes = Outcomes::new();
    for (name, rest) in text.lines().filter_map(|line| line.split_once("...")) {
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        if is_name {
            add(&mut outcomes, name, if rest == " Ok" { "ok" } else { "failed" });
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_told_from_chatter() {
        let text = "a-1.1... Ok\na-1.2...\n! a-1.2 expected: [1]\n! a-1.2 got: [2]\na-1.1... Ok\n\
            Time: a.test 54 ms\nrunning now... Ok\n";
        let expected = [("a-1.1", "ok"), ("a-1.1 (2)", "ok"), ("a-1.2", "failed")];
        let found: Vec<(String, String)> = cases(text).into_iter().collect();
        assert_eq!(found, expected.map(|(case, what)| (case.to_owned(), what.to_owned())));
    }
}
