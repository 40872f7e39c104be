//! Names of ranges of addresses. Code comes and goes: a later name takes the place of what was there.

use std::collections::BTreeMap;
use std::sync::Arc;

use lifetrace_trace::event::Location;

use crate::symbolizer::fit;

/// The names take no more than this, in bytes; those that come later are not kept.
const MOST_BYTES: usize = 32 << 20;

/// Beside its name.
const OVERHEAD: usize = 80;

/// What stands before the names of JavaScript's functions.
const FUNCTIONS: [&str; 5] = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];

/// How far V8 has compiled a function, before its name.
const TIERS: [char; 4] = ['~', '^', '+', '*'];

/// Names by their first addresses; they do not overlap.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_start: BTreeMap<u64, (u64, Arc<str>)>,
    bytes: usize,
}

impl Names {
    /// Names what begins at `start`; nothing that makes no sense.
    pub(super) fn insert(&mut self, start: u64, length: u64, name: &str) {
        let end = start.checked_add(length).filter(|end| *end > start);
        if let Some(end) = end
            && self.bytes < MOST_BYTES
        {
            self.make_room(start, end);
            self.bytes += name.len() + OVERHEAD;
            self.by_start.insert(start, (length, name.into()));
        }
    }

    /// What began at `from` begins at `to` now.
    pub(super) fn shift(&mut self, from: u64, to: u64, length: u64) {
        if let Some((_, name)) = self.by_start.remove(&from) {
            self.bytes -= name.len() + OVERHEAD;
            self.insert(to, length, &name);
        }
    }

    /// Forgets what lies in a range, and the end of what reaches into it.
    fn make_room(&mut self, start: u64, end: u64) {
        if let Some((&before, (length, _))) = self.by_start.range_mut(..start).next_back() {
            *length = (*length).min(start - before);
        }
        while let Some((&inside, _)) = self.by_start.range(start..end).next() {
            if let Some((_, name)) = self.by_start.remove(&inside) {
                self.bytes -= name.len() + OVERHEAD;
            }
        }
    }

    /// What is named so.
    pub(super) fn find(&self, address: u64) -> Option<&str> {
        let (start, (length, name)) = self.by_start.range(..=address).next_back()?;
        (address - start < *length).then_some(name)
    }
}

/// Of JavaScript's functions the name, the file and the line; of all others the name as it is.
pub(super) fn location(name: &str) -> Location {
    let function = FUNCTIONS.iter().find_map(|kind| name.strip_prefix(kind));
    let found = function.and_then(script_function);
    let (name, file, line, column) = found.unwrap_or((name, "[anonymous]", 0, 0));
    let location = Location {
        filename: file.into(),
        line,
        start_char: column,
        end_char: column,
        defname: name.into(),
    };
    fit(vec![location]).remove(0)
}

/// `*name /path/of/file.js:3:14`.
fn script_function(text: &str) -> Option<(&str, &str, u32, u32)> {
    let (rest, column) = text.rsplit_once(':')?;
    let (rest, line) = rest.rsplit_once(':')?;
    let begins = [" /", " file:", " node:"].iter().filter_map(|mark| rest.find(mark)).min();
    let at = begins.or_else(|| rest.rfind(' '))?;
    let name = rest[..at].trim_start_matches(TIERS).trim();
    let name = if name.is_empty() { "(anonymous)" } else { name };
    Some((name, &rest[at + 1..], line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Names {
        /// Sees to it that names do not overlap, and that each can be told.
        pub(in super::super) fn check(&self) {
            let mut end = 0;
            for (&start, (length, name)) in &self.by_start {
                assert!(start >= end && *length > 0);
                end = start + length;
                location(name);
            }
            let bytes: usize = self.by_start.values().map(|(_, name)| name.len() + OVERHEAD).sum();
            assert_eq!(self.bytes, bytes);
        }
    }

    #[test]
    fn functions_of_scripts_have_lines() {
        let check = |name: &str, expected: (&str, &str, u32, u32)| {
            let found = location(name);
            let found = (&*found.defname, &*found.filename, found.line, found.start_char);
            assert_eq!(found, expected);
        };
        check("JS:*leaf /a/my file.js:3:14", ("leaf", "/a/my file.js", 3, 14));
        check("JS:^get size node:buffer:12:9", ("get size", "node:buffer", 12, 9));
        check("LazyCompile:~ file:///a.mjs:1:1", ("(anonymous)", "file:///a.mjs", 1, 1));
        check("JS:*leaf", ("JS:*leaf", "[anonymous]", 0, 0));
        check("void Main.main(String[])", ("void Main.main(String[])", "[anonymous]", 0, 0));
        check("JS:x /a:99999999999:1", ("JS:x /a:99999999999:1", "[anonymous]", 0, 0));
    }
}
