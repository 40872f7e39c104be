//! A function, as V8 tells it in a `callFrame`.

use lifetrace_trace::event::Location;

/// A function; lines and columns are those where it begins, from 0, below that if they are not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallFrame {
    pub function: String,
    pub url: String,
    pub line: i64,
    pub column: i64,
}

impl Default for CallFrame {
    fn default() -> Self {
        Self { function: String::new(), url: String::new(), line: -1, column: -1 }
    }
}

impl CallFrame {
    /// As a place in a trace, where both count from 1, as in V8's own stack traces.
    pub fn location(&self) -> Location {
        let from_one =
            |from_zero: i64| from_zero.checked_add(1).and_then(|it| u32::try_from(it).ok());
        let line = from_one(self.line).unwrap_or(0);
        let column = if line == 0 { 0 } else { from_one(self.column).unwrap_or(0) };
        let name = if self.function.is_empty() { "(anonymous)" } else { &self.function };
        Location {
            filename: self.url.strip_prefix("file://").unwrap_or(&self.url).into(),
            line,
            start_char: column,
            end_char: column,
            defname: name.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(frame: (&str, &str, i64, i64), name: &str, file: &str, line: u32, column: u32) {
        let (function, url) = (frame.0.to_owned(), frame.1.to_owned());
        let location = CallFrame { function, url, line: frame.2, column: frame.3 }.location();
        assert_eq!((&*location.defname, &*location.filename), (name, file), "{frame:?}");
        assert_eq!((location.line, location.start_char), (line, column), "{frame:?}");
    }

    #[test]
    fn frames() {
        check(("f", "file:///src/a.js", 0, 36), "f", "/src/a.js", 1, 37);
        check(("", "node:path", 92, 0), "(anonymous)", "node:path", 93, 1);
        check(("(V8 API)", "", -1, -1), "(V8 API)", "", 0, 0);
        check(("f", "a", i64::MAX, i64::MIN), "f", "a", 0, 0);
    }
}
