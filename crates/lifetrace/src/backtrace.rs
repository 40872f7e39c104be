//! Who has allocated: addresses, whose names are looked up when they are asked for.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A backtrace. It is cheap to clone and to keep: names are looked up only by
/// [`frames`](Backtrace::frames) and when it is printed.
///
/// Looking up takes a lock that is shared with `std::backtrace`'s twin, the crate `backtrace`, allocates much,
/// and reads the program's debug information the first time, which takes long.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Backtrace {
    addresses: Arc<[u64]>,
    is_truncated: bool,
}

/// A function on the way to an allocation. Functions that the compiler has inlined have frames of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// Its name, if there are symbols.
    pub function: Option<String>,
    /// Its source file, if there is debug information.
    pub file: Option<PathBuf>,
    /// The line, from 1, likewise.
    pub line: Option<u32>,
    /// The address to which the callee returns.
    pub address: u64,
}

impl Backtrace {
    pub(crate) fn new(addresses: &[u64], is_truncated: bool) -> Backtrace {
        Backtrace { addresses: addresses.into(), is_truncated }
    }

    /// The addresses to which calls return, innermost first.
    pub fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// Whether outermost frames are missing.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// All frames with their names, innermost first.
    pub fn frames(&self) -> Vec<Frame> {
        self.addresses.iter().flat_map(|&address| frames_at(address)).collect()
    }
}

/// At least one.
fn frames_at(address: u64) -> Vec<Frame> {
    let mut found = Vec::new();
    // The call is before the address to which it returns.
    backtrace::resolve(address.wrapping_sub(1) as *mut _, |symbol| {
        found.push(Frame {
            function: symbol.name().map(|name| format!("{name:#}")),
            file: symbol.filename().map(PathBuf::from),
            line: symbol.lineno(),
            address,
        });
    });
    if found.is_empty() {
        found.push(Frame { function: None, file: None, line: None, address });
    }
    found
}

impl fmt::Display for Backtrace {
    /// A line for each of the program's own frames, innermost first; with `{:#}` for those of Rust's library as
    /// well, and for what starts `main`, threads and tests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frames = self.frames();
        let is_start = |frame: &Frame| frame.is_of("__rust_begin_short_backtrace");
        let end = frames.iter().position(is_start).unwrap_or(frames.len());
        let own = || frames[..end].iter().filter(|frame| !frame.is_machinery());
        let shows_all = f.alternate() || own().next().is_none();
        for frame in frames.iter().filter(|_| shows_all).chain(own().filter(|_| !shows_all)) {
            writeln!(f, "  {frame}")?;
        }
        if self.is_truncated {
            writeln!(f, "  [outermost frames are missing]")?;
        }
        Ok(())
    }
}

impl Frame {
    fn is_of(&self, function: &str) -> bool {
        self.function.as_ref().is_some_and(|name| name.contains(function))
    }

    /// Rust's library, and us.
    fn is_machinery(&self) -> bool {
        const OURS: [&str; 3] = ["/alloc.rs", "/external/mod.rs", "/sampled.rs"];
        let file = self.file.as_deref().and_then(Path::to_str).unwrap_or_default();
        let is_ours = file.strip_prefix(env!("CARGO_MANIFEST_DIR"));
        let is_ours = is_ours.and_then(|file| file.strip_prefix("/src"));
        file.starts_with("/rustc/")
            || is_ours.is_some_and(|file| OURS.contains(&file))
            || self.is_of("__rust_alloc")
            || self.is_of("__rust_realloc")
            || self.is_of("__rustc")
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some(function) => f.write_str(function)?,
            None => write!(f, "{:#x}", self.address)?,
        }
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "  {}:{line}", file.display()),
            (Some(file), None) => write!(f, "  {}", file.display()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_has_an_address() {
        let backtrace = Backtrace::new(&[0x10], true);
        assert_eq!(backtrace.frames().len(), 1);
        assert_eq!(backtrace.to_string(), "  0x10\n  [outermost frames are missing]\n");
        assert_eq!((backtrace.addresses(), backtrace.is_truncated()), (&[0x10][..], true));
    }

    #[test]
    fn frames_show_what_is_known() {
        let frame = |file: Option<&str>, line| Frame {
            function: Some("main".into()),
            file: file.map(PathBuf::from),
            line,
            address: 1,
        };
        assert_eq!(frame(Some("a.rs"), Some(3)).to_string(), "main  a.rs:3");
        assert_eq!(frame(Some("a.rs"), None).to_string(), "main  a.rs");
        assert_eq!(frame(None, None).to_string(), "main");
    }
}
