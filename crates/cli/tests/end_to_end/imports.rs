//! What the library that is loaded into programs needs of them, as its symbol table says: no more than
//! `docs/agents.md` lists, and nothing that an old glibc lacks. A version that is missing keeps a program from
//! starting.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Of glibc.
type Version = Vec<u32>;

/// What `docs/agents.md` and `README.md` state.
const OLDEST_GLIBC: [u32; 2] = [2, 16];

/// The heading under which `docs/agents.md` has the table.
const HEADING: &str = "### Imports";

#[test]
fn imports_are_those_that_are_documented() {
    let documented: Vec<String> = documented().into_iter().collect();
    let imported = imports();
    let names: Vec<&String> = imported.keys().collect();
    assert_eq!(names, documented.iter().collect::<Vec<_>>(), "library (left), table (right)");
}

#[test]
fn no_import_is_newer_than_the_oldest_glibc() {
    for (name, version) in imports() {
        assert!(version.as_slice() <= &OLDEST_GLIBC[..], "{name} {version:?}");
    }
    let stated = format!("glibc {}.{}", OLDEST_GLIBC[0], OLDEST_GLIBC[1]);
    for page in ["README.md", "docs/agents.md"] {
        assert!(text(page).contains(&stated), "{page} does not say {stated}");
    }
}

/// Undefined symbols and their versions, as `nm` prints them: `U name@GLIBC_2.2.5`.
fn imports() -> BTreeMap<String, Version> {
    let output = Command::new("nm")
        .args(["--dynamic", "--undefined-only", "--with-symbol-versions"])
        .arg(env!("LIFETRACE_PRELOAD_LIBRARY"))
        .output()
        .expect("nm, of binutils, can be run");
    let text = String::from_utf8(output.stdout).unwrap();
    let symbols = text.lines().map(|line| line.split_whitespace().last().unwrap());
    symbols
        .map(|symbol| {
            let (name, version) = symbol.split_once('@').unwrap_or((symbol, ""));
            let numbers = version.strip_prefix("GLIBC_").unwrap_or("").split('.');
            (name.to_owned(), numbers.filter_map(|number| number.parse().ok()).collect())
        })
        .collect()
}

/// The first column of the table, in order.
fn documented() -> std::collections::BTreeSet<String> {
    let page = text("docs/agents.md");
    let (_, section) = page.split_once(HEADING).expect("the heading is there");
    let rows = section.lines().skip_while(|line| !line.starts_with("| `"));
    let cells = rows.map_while(|line| line.strip_prefix("| ")?.split(" | ").next());
    let names = cells.flat_map(|cell| cell.split(", "));
    names.map(|name| name.trim_matches('`').to_owned()).collect()
}

fn text(page: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    std::fs::read_to_string(path).unwrap()
}
