//! What is around: the system, limits, other recorders, what pages are shown by.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use lifetrace_human as human;
use lifetrace_recorder::recorders;

use super::finding::{Finding, State};

/// Kernel, processor, C library, container.
pub fn system() -> Finding {
    let name = rustix::system::uname();
    let library = answer("getconf", &["GNU_LIBC_VERSION"]);
    let library = library.unwrap_or_else(|| "no GNU C library that `getconf` knows".to_owned());
    let container = if is_container() { "; in a container" } else { "" };
    let told = format!(
        "{} {} on {}, {library}{container}.",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy(),
        name.machine().to_string_lossy()
    );
    Finding::new("this system", State::Note, told)
}

/// What is worth to be known, and nothing of what is as everywhere.
pub fn all() -> Vec<Finding> {
    [Some(recording_now()), preloaded(), memory(), folder(), browser()]
        .into_iter()
        .flatten()
        .collect()
}

fn recording_now() -> Finding {
    let recorders = recorders();
    let processes: usize = recorders.iter().map(|it| it.recorded.sessions.len()).sum();
    let told = match recorders.len() {
        0 => "No recorder runs that this user may see.".to_owned(),
        count => format!(
            "Recorders that run: {count}; processes that they record: {processes}. `lifetrace ps` has a list."
        ),
    };
    Finding::new("what is being recorded", State::Note, told)
}

/// Libraries that programs have loaded before ours.
fn preloaded() -> Option<Finding> {
    let libraries = std::env::var("LD_PRELOAD").ok().filter(|it| !it.is_empty())?;
    let told =
        format!("LD_PRELOAD is {libraries}: programs load it beside the agent, which comes first.");
    Some(Finding::new("other libraries", State::Note, told))
}

/// How much memory there is for a program in a container.
fn memory() -> Option<Finding> {
    let limit = fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?;
    let limit: u64 = limit.trim().parse().ok()?;
    let limit = human::bytes(limit as f64);
    let told = format!(
        "This control group may have {limit}: `lifetrace report --view leaks --limit` takes it."
    );
    Some(Finding::new("memory", State::Note, told))
}

/// Traces are written here if nothing else is said.
fn folder() -> Option<Finding> {
    let error = tempfile::tempfile_in(".").err()?;
    let told = format!("Nothing can be written here: {error}.");
    let finding = Finding::new("this folder", State::Limited, told);
    Some(
        finding
            .with_remedy("Traces are written into the current folder, unless `-o` names another."),
    )
}

fn browser() -> Option<Finding> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("BROWSER") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") {
        return None;
    }
    let told = "There is none here: BROWSER, DISPLAY and WAYLAND_DISPLAY are not set.";
    let finding = Finding::new("a browser for `lifetrace view`", State::Note, told);
    Some(finding.with_remedy(
        "`lifetrace view --serve` and a tunnel (`ssh -L`) show pages in yours; `lifetrace export -F html` writes them to files.",
    ))
}

fn is_container() -> bool {
    let marks = ["/.dockerenv", "/run/.containerenv"];
    marks.iter().any(|mark| Path::new(mark).exists()) || std::env::var_os("container").is_some()
}

/// What a program prints, in one line.
fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}
