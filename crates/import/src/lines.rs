//! A text in memory, line by line, each with its place.

use super::fault::{Fault, Position};

/// What is left of a text.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
    next: Position,
}

/// One line, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub text: &'a [u8],
    position: Position,
    /// Whether the text ends within it.
    is_cut: bool,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Self { rest: text, next: Position { line: Some(1), byte: 0 } }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (text, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        let position = self.next;
        self.next = Position {
            line: position.line.map(|line| line + 1),
            byte: position.byte + (self.rest.len() - rest.len()) as u64,
        };
        self.rest = rest;
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Some(Line { text, position, is_cut: end.is_none() })
    }
}

impl<'a> Line<'a> {
    /// As text; what is none is no number either.
    pub fn words(&self) -> &'a str {
        std::str::from_utf8(self.text).unwrap_or("\u{fffd}").trim_ascii()
    }

    /// The line makes no sense, or the file ends in it.
    pub fn fault(&self, expected: &str) -> Fault {
        if self.is_cut {
            return Fault::new(self.position, "the file is cut in this line");
        }
        let beginning = &self.text[..self.text.len().min(40)];
        let found = String::from_utf8_lossy(beginning);
        Fault::new(self.position, format!("expected {expected}, found {found:?}"))
    }

    /// # Errors
    /// If the text ends within the line.
    pub fn whole(self) -> Result<Self, Fault> {
        if self.is_cut { Err(self.fault("")) } else { Ok(self) }
    }

    /// Something else is wrong here.
    pub fn problem(&self, problem: String) -> Fault {
        Fault::new(self.position, problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_places() {
        let lines: Vec<_> = Lines::new(b"a\r\n\nlast").collect();
        let texts: Vec<_> = lines.iter().map(Line::words).collect();
        assert_eq!(texts, ["a", "", "last"]);
        assert_eq!(lines[2].position, Position { line: Some(3), byte: 4 });
        assert!(lines[2].whole().unwrap_err().to_string().contains("line 3 (byte 4): the file is"));
        assert!(lines[0].fault("b").to_string().ends_with("expected b, found \"a\""));
    }
}
