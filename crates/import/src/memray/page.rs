//! The parts of a page.

use std::borrow::Cow;

use super::super::budget::Budget;
use super::super::fault::{Fault, Position};
use super::super::foreign::{Foreign, Reader};
use super::tables::Tables;

const TITLE: &[u8] = b"<title>memray - ";
const COMMAND: &[u8] = b"Command line: <code>";
const PEAK: &[u8] = b"Peak memory usage: ";
const DATA: &[u8] = b"const packed_data = ";
const LOOKS: &[u8] = b"const memory_records = ";
const END: &[u8] = b"</html>";
/// In the warning of memray that freed memory may be told as living.
const ARENAS: &[u8] = b"Report generated using <code>--leaks</code> with an arena allocator";

pub const NO_DATA: &str = "no data in this page of memray as versions from 1.6 on write it\n  \
    make it again: memray flamegraph RECORDING";
pub const NOT_THE_PEAK: &str = "its blocks are not those of the peak, as the page has it: those of \
    --temporary-allocations cannot be imported\n  \
    make another: memray flamegraph RECORDING, or with --leaks --temporal";

/// A page.
#[derive(Debug)]
pub struct Page<'a> {
    /// Whether those that are called are above their callers.
    pub is_inverted: bool,
    /// Whether it is of what was not freed.
    pub is_of_end: bool,
    pub command: String,
    /// Whether memory that was freed may be told as living.
    pub keeps_freed: bool,
    /// As people read it.
    peak: Option<&'a str>,
    bytes: &'a [u8],
    /// Where the data begin.
    data: Option<usize>,
}

/// A page of memray, whichever it is.
pub fn is_beginning(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"<!DOCTYPE html>") && find(bytes, TITLE).is_some()
}

/// What such a page is.
pub fn foreign(bytes: &[u8]) -> Foreign {
    match is_flamegraph(title(bytes)) {
        true => Foreign { what: "a flamegraph of memray", reader: Reader::Import },
        false => Foreign {
            what: "a table of memray, which has no backtraces",
            reader: super::super::foreign::MEMRAY,
        },
    }
}

fn is_flamegraph(title: &[u8]) -> bool {
    find(title, b"flamegraph report").is_some()
}

fn title(bytes: &[u8]) -> &[u8] {
    between(bytes, TITLE, b"</title>").unwrap_or_default()
}

impl<'a> Page<'a> {
    /// What there is of it.
    ///
    /// # Errors
    /// If it has no data.
    pub fn find(bytes: &'a [u8]) -> Result<Self, Fault> {
        let title = title(bytes);
        let data = find(bytes, DATA).map(|at| at + DATA.len());
        let head = &bytes[..data.unwrap_or(bytes.len())];
        let command = between(head, COMMAND, b"</code>").unwrap_or_default();
        let command = unescaped(&String::from_utf8_lossy(command)).into_owned();
        let page = Self {
            is_inverted: title.starts_with(b"inverted"),
            is_of_end: find(title, b"(memory leaks)").is_some(),
            command: command.split_whitespace().collect::<Vec<_>>().join(" "),
            keeps_freed: find(head, ARENAS).is_some(),
            peak: between(head, PEAK, b"<").and_then(|text| str::from_utf8(text).ok()),
            bytes,
            data,
        };
        match (data, page.cut()) {
            (None, None) => Err(Fault::of_file(NO_DATA)),
            (None, Some(cut)) => Err(cut),
            _ => Ok(page),
        }
    }

    /// All that can be read of the data, and why there is not more.
    pub fn tables(&self, budget: &mut Budget) -> (Tables, Option<Fault>) {
        let from = self.data.unwrap_or(self.bytes.len());
        let (tables, error) = Tables::read(line(&self.bytes[from..]), budget);
        let fault = error.map(|error| {
            let byte = from as u64 + (error.column() as u64).saturating_sub(1);
            let problem = match error.is_eof() {
                true => "the page is cut within its data".to_owned(),
                false => error.to_string(),
            };
            Fault::new(Position { line: None, byte }, problem)
        });
        (tables, fault)
    }

    /// Says so if the end is missing.
    pub fn cut(&self) -> Option<Fault> {
        let is_whole = self.bytes.trim_ascii_end().ends_with(END);
        let position = Position { line: None, byte: self.bytes.len() as u64 };
        (!is_whole).then(|| Fault::new(position, "the page is cut: it does not end with </html>"))
    }

    /// When memray looked how much memory there was, in milliseconds since 1970.
    pub fn looks(&self) -> Vec<u64> {
        let records = find(self.bytes, LOOKS).map(|at| line(&self.bytes[at + LOOKS.len()..]));
        let json = records.and_then(|text| text.trim_ascii_end().strip_suffix(b";"));
        let looks: Option<Vec<(u64, u64, u64)>> =
            json.and_then(|json| serde_json::from_slice(json).ok());
        looks.unwrap_or_default().into_iter().map(|(time, ..)| time).collect()
    }

    /// Whether so many bytes are the peak, as far as the page's rounded one tells.
    pub fn is_peak(&self, bytes: u64) -> bool {
        self.peak.and_then(rounded).is_some_and(|(peak, unit)| {
            let off = (bytes as f64 - peak).abs();
            off <= if unit > 1.0 { 0.051 * unit } else { 0.0 }
        })
    }
}

/// `46.0 MB` or `43.9 MiB`: bytes, and those of the unit.
fn rounded(text: &str) -> Option<(f64, f64)> {
    let (number, unit) = text.trim().split_once(' ')?;
    let (base, prefix) = match unit {
        "Byte" | "Bytes" => (1.0_f64, 'B'),
        _ if unit.ends_with("iB") => (1024.0, unit.chars().next()?),
        _ => (1000.0, unit.chars().next()?),
    };
    let power = ['B', 'K', 'M', 'G', 'T', 'P'];
    let power = power.iter().position(|it| *it == prefix.to_ascii_uppercase())?;
    let unit = base.powi(i32::try_from(power).ok()?);
    Some((number.parse::<f64>().ok()? * unit, unit))
}

/// Text without the five escapes of HTML that Python makes.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    const ESCAPES: [(&str, &str); 6] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#34;", "\""),
        ("&#39;", "'"),
    ];
    let text = ESCAPES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    text.replace("&amp;", "&").into()
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn between<'a>(bytes: &'a [u8], before: &[u8], after: &[u8]) -> Option<&'a [u8]> {
    let rest = &bytes[find(bytes, before)? + before.len()..];
    Some(&rest[..find(rest, after)?])
}

/// Until its end.
fn line(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == b'\n').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_rounded() {
        assert_eq!(rounded("46.0 MB"), Some((46e6, 1e6)));
        assert_eq!(rounded("1.5 KiB"), Some((1536.0, 1024.0)));
        assert_eq!(rounded("12 Bytes"), Some((12.0, 1.0)));
        assert_eq!(rounded("1 Byte"), Some((1.0, 1.0)));
        for odd in ["", "46", "x MB", "4 ", "4 xB"] {
            assert_eq!(rounded(odd), None, "{odd}");
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(unescaped("&lt;module&gt; &amp;lt; &#x27;&quot;"), "<module> &lt; '\"");
        assert_eq!(unescaped("a & b"), "a & b");
    }
}
