//! Lines, where each is in the file, and the numbers in them.

use std::io::{BufRead, Read};

use super::super::fault::{Fault, Position};

/// No line is longer, in bytes.
const LONGEST: u64 = 4 << 20;

/// Reads one line after the other.
pub struct Lines<R> {
    input: R,
    line: Vec<u8>,
    position: Position,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Self {
        Self { input, line: Vec::new(), position: Position { line: Some(0), byte: 0 } }
    }

    /// Goes to the next line. False at the end of the file.
    ///
    /// # Errors
    /// If the file can't be read, or ends within the line: half a number is another number.
    pub fn advance(&mut self) -> Result<bool, Fault> {
        self.position.byte += self.line.len() as u64;
        self.position.line = self.position.line.map(|number| number + 1);
        self.line.clear();
        self.append(LONGEST)?;
        match self.line.last() {
            None => Ok(false),
            Some(b'\n') => Ok(true),
            Some(_) => Err(self.fault("the file is cut within this line")),
        }
    }

    /// The line, without its end.
    pub fn line(&self) -> &[u8] {
        self.line.strip_suffix(b"\n").unwrap_or(&self.line)
    }

    /// Reads on until the line has so many bytes: a string may have ends of lines in it.
    ///
    /// # Errors
    /// If there are not so many.
    pub fn lengthen(&mut self, len: usize) -> Result<(), Fault> {
        while self.line().len() < len {
            let before = self.line.len();
            self.append(LONGEST.saturating_sub(before as u64))?;
            if self.line.len() == before || self.line.last() != Some(&b'\n') {
                return Err(self.fault("the file is cut within this string"));
            }
        }
        Ok(())
    }

    /// About this line.
    pub fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::new(self.position, problem)
    }

    /// To the next end of a line.
    fn append(&mut self, most: u64) -> Result<(), Fault> {
        let outcome = (&mut self.input).take(most).read_until(b'\n', &mut self.line);
        outcome.map_err(|error| Fault::of_reading(self.position, &error))?;
        match self.line.last() {
            Some(last) if *last != b'\n' && self.line.len() as u64 >= LONGEST => {
                Err(self.fault("expected a line of heaptrack's, and this one has no end"))
            }
            _ => Ok(()),
        }
    }
}

/// The hexadecimal numbers of a line, separated by spaces.
#[derive(Clone, Debug)]
pub struct Numbers<'a>(pub &'a [u8]);

impl Numbers<'_> {
    /// The next one; nothing at the end.
    ///
    /// # Errors
    /// If what comes next is no number of 64 bits.
    pub fn next(&mut self) -> Result<Option<u64>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let len = self.0.iter().position(|byte| *byte == b' ').unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(len);
        self.0 = rest.get(1..).unwrap_or_default();
        hexadecimal(word).map(Some).ok_or_else(|| {
            format!("expected a hexadecimal number, found {:?}", String::from_utf8_lossy(word))
        })
    }

    /// The next one, which must be there.
    ///
    /// # Errors
    /// If it is not, or no number.
    pub fn need(&mut self, what: &str) -> Result<u64, String> {
        self.next()?.ok_or_else(|| format!("expected {what}, found the end of the line"))
    }
}

fn hexadecimal(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 16 {
        return None;
    }
    word.iter().try_fold(0, |number, byte| {
        char::from(*byte).to_digit(16).map(|digit| number << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_their_places() {
        let mut lines = Lines::new(&b"v 1\n\ns 4 a\nbc\n- 2"[..]);
        assert!(lines.advance().unwrap());
        assert_eq!(lines.line(), b"v 1");
        assert!(lines.advance().unwrap());
        assert_eq!(lines.line(), b"");
        assert!(lines.advance().unwrap());
        lines.lengthen(8).unwrap();
        assert_eq!(lines.line(), b"s 4 a\nbc");
        let cut = lines.advance().unwrap_err().to_string();
        assert_eq!(cut, "line 4 (byte 14): the file is cut within this line");
    }

    #[test]
    fn a_line_without_end_is_not_read_for_ever() {
        let mut lines = Lines::new(std::io::BufReader::new(std::io::repeat(b'x')));
        assert!(lines.advance().unwrap_err().to_string().contains("has no end"));
        let mut lines = Lines::new(&b"s ffffffff abc\n"[..]);
        assert!(lines.advance().unwrap());
        assert!(lines.lengthen(usize::MAX).unwrap_err().to_string().contains("cut"));
    }

    #[test]
    fn numbers() {
        let mut numbers = Numbers(b"0 1f ffffffffffffffff");
        assert_eq!(numbers.next(), Ok(Some(0)));
        assert_eq!(numbers.need("a size"), Ok(0x1f));
        assert_eq!(numbers.next(), Ok(Some(u64::MAX)));
        assert_eq!(numbers.next(), Ok(None));
        assert!(numbers.need("a size").unwrap_err().contains("a size"));
        for odd in ["x", "1 ", "-1", "10000000000000000", " 1"] {
            let mut numbers = Numbers(odd.as_bytes());
            let first = numbers.next();
            assert!(first.is_err() || odd == "1 " && numbers.next() == Ok(None), "{odd}");
        }
    }
}
