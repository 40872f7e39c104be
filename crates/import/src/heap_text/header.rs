//! The first line: who wrote the file, and how it was sampled.

use super::super::points::Amount;

/// What the first line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub writer: Writer,
    /// Bytes from one sample to the next, on average; 1 if everything was counted.
    pub period: u64,
    /// What lives and what was allocated in all, if this line has it.
    pub totals: Option<(Amount, Amount)>,
}

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    Jemalloc,
    /// The heap profiler of gperftools, which counts all.
    Gperftools,
    /// tcmalloc's own sampling.
    Tcmalloc,
    Go,
}

impl Writer {
    pub fn name(self) -> &'static str {
        match self {
            Self::Jemalloc => "jemalloc",
            Self::Gperftools => "gperftools",
            Self::Tcmalloc => "tcmalloc",
            Self::Go => "Go (text)",
        }
    }
}

/// How the line of jemalloc begins, and that of all others.
pub const BEGINNINGS: [&[u8]; 2] = [b"heap_v2/", b"heap profile:"];

/// Reads the first line.
///
/// # Errors
/// If it is another; the message says what was expected.
pub fn parse(line: &str) -> Result<Header, String> {
    if let Some(period) = line.strip_prefix("heap_v2/") {
        let period = period_of(period).ok_or("bytes between samples behind 'heap_v2/'")?;
        return Ok(Header { writer: Writer::Jemalloc, period, totals: None });
    }
    let totals = line.strip_prefix("heap profile:").and_then(amounts);
    let (live, all, rest) = totals.ok_or("'heap profile: N: N [N: N] @ KIND'")?;
    let kind = rest.trim_ascii().strip_prefix('@').unwrap_or_default().trim_ascii();
    let (name, period) = match kind.split_once('/') {
        Some((name, period)) => {
            (name, period_of(period).ok_or("bytes between samples behind '/'")?)
        }
        None => (kind, 1),
    };
    let (writer, period) = match name {
        "heapprofile" => (Writer::Gperftools, 1),
        "heap_v2" | "heapz_v2" => (Writer::Tcmalloc, period),
        // Twice of what it is, as an early version of another profiler had it.
        "heap" => (Writer::Go, (period / 2).max(1)),
        other => {
            return Err(format!(
                "a profile of what lives (heapprofile, heap_v2/N or heap/N), not of {other:?}"
            ));
        }
    };
    Ok(Header { writer, period, totals: Some((live, all)) })
}

/// At least 1.
fn period_of(text: &str) -> Option<u64> {
    text.trim_ascii().parse().ok().map(|period: u64| period.max(1))
}

/// `objects: bytes [objects: bytes]`: what lives and what was allocated, and what comes after it.
pub fn amounts(text: &str) -> Option<(Amount, Amount, &str)> {
    let (live, rest) = amount(text, '[')?;
    let (all, rest) = amount(rest, ']')?;
    Some((live, all, rest))
}

/// `objects: bytes`, and what comes after it and a mark.
fn amount(text: &str, mark: char) -> Option<(Amount, &str)> {
    let (blocks, rest) = text.split_once(':')?;
    let (bytes, rest) = rest.split_once(mark)?;
    let number = |text: &str| text.trim_ascii().parse().ok();
    Some((Amount { bytes: number(bytes)?, blocks: number(blocks)? }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines() {
        let told = |line| parse(line).map(|it| (it.writer, it.period));
        assert_eq!(told("heap_v2/524288"), Ok((Writer::Jemalloc, 524_288)));
        assert_eq!(told("heap_v2/0"), Ok((Writer::Jemalloc, 1)));
        let exact = told("heap profile:  20: 11 [ 25: 26] @ heapprofile");
        assert_eq!(exact, Ok((Writer::Gperftools, 1)));
        let sampled = told("heap profile: 2: 1 [2: 1] @ heap_v2/524288");
        assert_eq!(sampled, Ok((Writer::Tcmalloc, 524_288)));
        assert_eq!(told("heap profile: 2: 1 [2: 1] @ heap/1048576"), Ok((Writer::Go, 524_288)));
        assert_eq!(told("heap profile: 2: 1 [2: 1] @ heap/1"), Ok((Writer::Go, 1)));
        assert!(told("heap profile: 2: 1 [2: 1] @ growthz/1").unwrap_err().contains("\"growthz\""));
        for line in
            ["heap_v2/x", "heap_v2/-1", "heap profile: 2: 1 @ heap_v2/1", "", "heap profile:"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
        let amount = |bytes, blocks| Amount { bytes, blocks };
        assert_eq!(amounts(" 2: 1 [ 3: 4] @ x"), Some((amount(1, 2), amount(4, 3), " @ x")));
        assert_eq!(amounts("2: 1 [3: 99999999999999999999]"), None);
    }
}
