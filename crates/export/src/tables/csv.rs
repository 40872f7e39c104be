//! CSV as RFC 4180 has it: lines end with CR LF, a field with a comma, a quote or an end of a line is in
//! quotes, in which a quote is doubled.

use std::io::{self, Write};

/// Writes lines.
pub struct Csv<W> {
    output: W,
    is_within_line: bool,
}

impl<W: Write> Csv<W> {
    pub fn new(output: W) -> Self {
        Self { output, is_within_line: false }
    }

    /// Adds a field to the line.
    ///
    /// # Errors
    /// Those of the output.
    pub fn field(&mut self, field: &str) -> io::Result<()> {
        if self.is_within_line {
            self.output.write_all(b",")?;
        }
        self.is_within_line = true;
        match field.contains([',', '"', '\r', '\n']) {
            true => write!(self.output, "\"{}\"", field.replace('"', "\"\"")),
            false => self.output.write_all(field.as_bytes()),
        }
    }

    /// Ends the line.
    ///
    /// # Errors
    /// Those of the output.
    pub fn end_line(&mut self) -> io::Result<()> {
        self.is_within_line = false;
        self.output.write_all(b"\r\n")
    }

    /// Adds a line.
    ///
    /// # Errors
    /// Those of the output.
    pub fn line<'a>(&mut self, fields: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
        fields.into_iter().try_for_each(|field| self.field(field))?;
        self.end_line()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes() {
        let mut bytes = Vec::new();
        let mut csv = Csv::new(&mut bytes);
        csv.line(["a", "", "b c", "d,e", "f\"g", "h\ni"]).unwrap();
        csv.line(["1"]).unwrap();
        assert_eq!(bytes, b"a,,b c,\"d,e\",\"f\"\"g\",\"h\ni\"\r\n1\r\n");
    }
}
