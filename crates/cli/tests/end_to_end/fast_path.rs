//! The instructions in front of every unsampled allocation and release, as the library that the command
//! carries has them: what a slow-down would show up in first.
//!
//! The listing is of x86-64, and of the compiler that is current; `LIFETRACE_BLESS=1` writes it anew, and
//! the difference is reviewed like code.

use std::path::Path;
use std::process::Command;

/// Functions whose first instructions, up to the jump to the next allocator, are the fast path.
const FUNCTIONS: [&str; 4] = ["malloc", "calloc", "free", "_Znwm"];

#[test]
fn the_fast_path_is_as_short_as_it_was() {
    let listing: String = FUNCTIONS.iter().map(|function| listing_of(function)).collect();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fast-path.txt");
    if std::env::var_os("LIFETRACE_BLESS").is_some() {
        std::fs::write(&golden, &listing).unwrap();
    }
    assert_eq!(listing, std::fs::read_to_string(&golden).unwrap(), "{}", golden.display());
}

/// The function's instructions up to its first jump without a condition.
fn listing_of(function: &str) -> String {
    let output = Command::new("objdump")
        .args(["--disassemble-all", "--no-show-raw-insn", "--section=.text"])
        .arg(format!("--disassemble={function}"))
        .arg(env!("LIFETRACE_PRELOAD_LIBRARY"))
        .output()
        .expect("objdump, of binutils, can be run");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut listing = format!("{function}:\n");
    let start = format!("<{function}>:");
    for line in text.lines().skip_while(|line| !line.ends_with(&start)).skip(1) {
        let Some((_, instruction)) = line.split_once('\t') else { break };
        listing.push_str(&format!("    {}\n", without_addresses(instruction)));
        if instruction.starts_with("jmp") {
            return listing;
        }
    }
    panic!("no end of {function} in:\n{text}");
}

/// `mov 0x17b5a(%rip),%rcx  # 1f1e0 <NEXT>` as `mov (%rip),%rcx`; jumps lose their target.
fn without_addresses(instruction: &str) -> String {
    let bare = instruction.split(['#', '<']).next().unwrap_or_default();
    let mut words = bare.split_whitespace();
    let operation = words.next().unwrap_or_default();
    let operands = words.collect::<Vec<_>>().join(" ");
    match (operation.starts_with('j'), operands.find("(%rip)")) {
        (_, Some(at)) => {
            let before =
                operands[..at].trim_end_matches(|it: char| it.is_ascii_hexdigit() || it == 'x');
            format!("{operation} {before}{}", &operands[at..])
        }
        (true, None) => operation.to_owned(),
        (false, None) => format!("{operation} {operands}"),
    }
}
