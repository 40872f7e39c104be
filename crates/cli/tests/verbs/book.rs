//! The page of the book that has all commands: what `--help` says of each. `LIFETRACE_BLESS=1` writes it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::{lifetrace, text};

#[test]
fn the_page_of_commands_is_what_help_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let expected = commands();
    if std::env::var_os("LIFETRACE_BLESS").is_some() {
        fs::write(&page, &expected).unwrap();
    }
    let found = fs::read_to_string(&page).unwrap_or_default();
    assert!(
        found == expected,
        "docs/commands.md is not what --help says; LIFETRACE_BLESS=1 writes it"
    );
}

fn commands() -> String {
    let all = help(&[]);
    let mut page = format!(
        "# Commands\n\nWhat `--help` says of each command; `lifetrace help TOPIC` has pages of this book.\n\n```text\n{all}```\n"
    );
    let list = all.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    for line in list.lines().filter(|line| !line.starts_with("   ")) {
        let verb = line.split_whitespace().next().unwrap();
        let _ = write!(page, "\n## {verb}\n\n```text\n{}```\n", help(&[verb]));
        if verb == "heap" {
            let _ = write!(page, "\n## heap diff\n\n```text\n{}```\n", help(&[verb, "diff"]));
        }
    }
    page
}

/// At a width that is the same everywhere.
fn help(verb: &[&str]) -> String {
    let words = [verb, &["--help"]].concat();
    let output = lifetrace(&words).env("COLUMNS", "100").output().unwrap();
    let lines = text(&output.stdout);
    lines.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
