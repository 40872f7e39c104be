//! Names as one can paste them into a shell.

use std::ffi::OsStr;

use lifetrace_human as human;

/// As a shell has to be told.
pub(super) fn quoted(path: &OsStr) -> String {
    let text = path.to_string_lossy();
    if text.contains(human::is_unsafe) {
        return format!("$'{}'", text.chars().map(ansi_c).collect::<String>());
    }
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%".contains(c);
    if text.chars().all(plain) && !text.starts_with('-') {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A character within `$'...'`.
fn ansi_c(character: char) -> String {
    match character {
        '\'' | '\\' => format!("\\{character}"),
        _ if human::is_unsafe(character) => format!("\\u{:04x}", u32::from(character)),
        _ => character.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_pasted() {
        for (path, expected) in [
            ("a.ctf", "a.ctf"),
            ("a b.ctf", "'a b.ctf'"),
            ("it's", r"'it'\''s'"),
            ("-o", "'-o'"),
            ("a\u{202e}\x1b'", r"$'a\u202e\u001b\''"),
        ] {
            assert_eq!(quoted(OsStr::new(path)), expected);
        }
    }
}
