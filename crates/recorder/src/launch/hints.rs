//! What may have been meant by a command that is not there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What shells do themselves, and look for no program of that name.
const WORDS_OF_SHELLS: [&str; 41] = [
    ".", ":", "[[", "alias", "bg", "builtin", "case", "cd", "command", "declare", "dirs", "eval",
    "exec", "exit", "export", "fg", "for", "function", "hash", "history", "if", "jobs", "let",
    "local", "popd", "pushd", "read", "readonly", "return", "set", "shift", "shopt", "source",
    "time", "trap", "type", "ulimit", "umask", "unset", "wait", "while",
];

/// What of a shell's makes more of a word than the name of a program.
const OPERATORS: &[u8] = b"|&;<>()$`*?\n";

/// What follows after "command not found": nothing, or what to type instead.
pub(super) fn hint(name: &OsStr) -> String {
    let word = name.to_string_lossy();
    let has_any = |bytes: &[u8]| word.bytes().any(|byte| bytes.contains(&byte));
    if word.is_empty() {
        "; the command's first word is empty (a variable that is not set?)".to_owned()
    } else if is_assignment(&word) {
        format!("; `env` sets variables: lifetrace record env {word} CMD")
    } else if has_any(OPERATORS) {
        format!("; it is a shell that understands that: lifetrace record sh -c {}", quoted(&word))
    } else if has_any(b" \t") {
        format!(
            "; it is one word, with a space in it: leave the quotes out, or lifetrace record sh -c {}",
            quoted(&word)
        )
    } else if WORDS_OF_SHELLS.contains(&&*word) {
        format!("; {word} is a word of the shell's: lifetrace record sh -c '{word} ...'")
    } else if is_here(name) {
        format!("; there is a file of that name in this folder: lifetrace record ./{word}")
    } else {
        String::new()
    }
}

/// `NAME=value`
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_of_name) && !name.as_bytes()[0].is_ascii_digit()
}

/// Not through a folder: then it was looked for there.
fn is_here(name: &OsStr) -> bool {
    !name.as_bytes().contains(&b'/') && Path::new(".").join(name).is_file()
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_meant() {
        let check = |word: &str, expected: &str| {
            let hint = hint(word.as_ref());
            assert!(hint.ends_with(expected) && hint.is_empty() == expected.is_empty(), "{hint}");
        };
        check("ls | wc -l", "understands that: lifetrace record sh -c 'ls | wc -l'");
        check("echo 'a' > b", r"sh -c 'echo '\''a'\'' > b'");
        check("ls -l", "or lifetrace record sh -c 'ls -l'");
        check("cd", "cd is a word of the shell's: lifetrace record sh -c 'cd ...'");
        check("FOO=1", "lifetrace record env FOO=1 CMD");
        check("Cargo.toml", "in this folder: lifetrace record ./Cargo.toml");
        check("", "(a variable that is not set?)");
        for odd in ["lss", "=", "1=2", "/no/such", "-x=1"] {
            check(odd, "");
        }
    }
}
