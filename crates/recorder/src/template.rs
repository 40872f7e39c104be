//! What traces are called: `%p` is the process id, `%e` the program, `%%` a percent sign.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::output_error::OutputError;

/// The longest name that file systems have, in bytes.
const LONGEST: usize = 255;

/// What is left of that for a number, so that names that are given twice can be told apart.
const NUMBER: usize = ".1234567".len();

/// A checked template.
#[derive(Clone, Debug)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(Vec<u8>),
    Pid,
    Program,
}

impl Template {
    /// # Errors
    /// [`OutputError::Placeholder`].
    pub(crate) fn parse(template: &OsStr) -> Result<Template, OutputError> {
        let mut pieces = Vec::new();
        let mut rest = template.as_bytes();
        while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
            pieces.push(Piece::Text(rest[..at].to_vec()));
            pieces.push(match rest.get(at + 1) {
                Some(b'p') => Piece::Pid,
                Some(b'e') => Piece::Program,
                Some(b'%') => Piece::Text(b"%".to_vec()),
                _ => return Err(unknown_placeholder(template, &rest[at + 1..])),
            });
            rest = &rest[at + 2..];
        }
        pieces.push(Piece::Text(rest.to_vec()));
        Ok(Template(pieces))
    }

    /// The trace of a process of this program. A program of a long name has its beginning, so that there
    /// can be such a file; what would harm a terminal, or is a folder's, is left out.
    pub(crate) fn expand(&self, program: &str, pid: &str) -> PathBuf {
        let program = plain(program);
        let times = self.0.iter().filter(|piece| matches!(piece, Piece::Program)).count();
        let mut length = program.len();
        loop {
            let path = self.fill(beginning(&program, length), pid);
            let excess = (longest_name(&path) + NUMBER).saturating_sub(LONGEST);
            if excess == 0 || length == 0 {
                return path;
            }
            length = length.saturating_sub(excess.div_ceil(times.max(1)));
        }
    }

    /// Whether no two processes have the same trace.
    pub(crate) fn names_the_process(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Pid))
    }

    fn fill(&self, program: &str, pid: &str) -> PathBuf {
        let pieces: Vec<&[u8]> = self
            .0
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.as_slice(),
                Piece::Pid => pid.as_bytes(),
                Piece::Program => program.as_bytes(),
            })
            .collect();
        PathBuf::from(OsString::from_vec(pieces.concat()))
    }
}

/// Each character that should not be in a file's name gives way to a `_`.
fn plain(program: &str) -> String {
    let is_odd = |c: char| c == '/' || c.is_control() || c == char::REPLACEMENT_CHARACTER;
    program.chars().map(|c| if is_odd(c) { '_' } else { c }).collect()
}

fn longest_name(path: &Path) -> usize {
    path.iter().map(|name| name.len()).max().unwrap_or(0)
}

/// As many whole characters as have room in so many bytes.
fn beginning(text: &str, length: usize) -> &str {
    let end = (0..=length).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

fn unknown_placeholder(template: &OsStr, rest: &[u8]) -> OutputError {
    let placeholder = String::from_utf8_lossy(rest).chars().take(1).collect();
    OutputError::Placeholder { template: template.into(), placeholder }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;

    fn expanded(template: &str, program: &str) -> String {
        let path = Template::parse(template.as_ref()).unwrap().expand(program, "7");
        path.into_os_string().into_string().unwrap()
    }

    #[test]
    fn placeholders() {
        for (template, expected) in [
            (Format::Lt.default_template(), "lifetrace.sort.7.lt"),
            ("x", "x"),
            ("%%%p%%", "%7%"),
            ("%e%e/%p", "sortsort/7"),
            ("%%e", "%e"),
        ] {
            assert_eq!(expanded(template, "sort"), expected);
        }
    }

    #[test]
    fn unknown_placeholders_are_named() {
        for (template, expected) in [("a%q", "'%q'"), ("a%", "'%'"), ("%%%é", "'%é'")] {
            let error = Template::parse(template.as_ref()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn long_names_are_shortened_between_two_characters() {
        for program in ["x".repeat(255), "é".repeat(127), "x".to_owned() + &"漢".repeat(84)] {
            for template in ["lifetrace.%e.%p.lt", "%e/%e.%e", "%e"] {
                let path = expanded(template, &program);
                let longest = longest_name(Path::new(&path));
                assert!(longest <= LONGEST - NUMBER, "{path}");
                assert!(path.starts_with("lifetrace.") == template.starts_with('l'), "{path}");
            }
            let length = expanded("%e", &program).len();
            assert!((LONGEST - NUMBER - 3..=LONGEST - NUMBER).contains(&length), "{length}");
        }
        let short = "y".repeat(200);
        assert_eq!(expanded("%e", &short), short);
        // What the user has written is left to the user.
        let template = "z".repeat(300) + "%e";
        assert_eq!(expanded(&template, "a").len(), 300);
    }

    #[test]
    fn odd_characters_are_left_out() {
        assert_eq!(expanded("%e.lt", "a\nb\u{1b}[2Jc/d\u{fffd}é"), "a_b_[2Jc_d_é.lt");
    }
}
