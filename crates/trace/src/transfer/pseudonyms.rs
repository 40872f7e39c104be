//! Names that say nothing, one for each name.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// A suffix that is longer could be a name itself.
const LONGEST_SUFFIX: usize = 3;

/// Pseudonyms of one kind of names: `f1`, `f2` and so on, in the order in which they are asked for.
#[derive(Debug)]
pub(super) struct Pseudonyms {
    prefix: char,
    known: FxHashMap<Arc<str>, Arc<str>>,
}

impl Pseudonyms {
    pub(super) fn new(prefix: char) -> Self {
        Self { prefix, known: FxHashMap::default() }
    }

    /// The pseudonym of a name; empty if that is.
    pub(super) fn of(&mut self, name: &str) -> Arc<str> {
        self.with(name, "")
    }

    /// The pseudonym of a path, which says what kind of file it is: `s12.ml`, `m3.so`.
    pub(super) fn of_path(&mut self, path: &str) -> Arc<str> {
        self.with(path, suffix(path))
    }

    fn with(&mut self, name: &str, suffix: &str) -> Arc<str> {
        if name.is_empty() {
            return "".into();
        }
        if let Some(known) = self.known.get(name) {
            return Arc::clone(known);
        }
        let pseudonym = format!("{}{}{suffix}", self.prefix, self.known.len() + 1);
        let pseudonym: Arc<str> = pseudonym.into();
        self.known.insert(name.into(), Arc::clone(&pseudonym));
        pseudonym
    }
}

/// The suffix with its dot, if it is short; of a library, without its version.
fn suffix(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or_default();
    let is_part_of_version = |it: char| it == '.' || it.is_ascii_digit();
    let file = file.trim_end_matches(is_part_of_version);
    let suffix = file.rfind('.').filter(|dot| *dot > 0).map_or("", |dot| &file[dot..]);
    let is_plain = suffix.chars().skip(1).all(|it| it.is_ascii_alphanumeric());
    if is_plain && suffix.len() <= 1 + LONGEST_SUFFIX { suffix } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_for_each() {
        let mut names = Pseudonyms::new('f');
        assert_eq!(&*names.of("main"), "f1");
        assert_eq!(&*names.of("work"), "f2");
        assert_eq!(&*names.of("main"), "f1");
        assert_eq!(&*names.of(""), "");
        assert_eq!(&*names.of_path("a/work.ml"), "f3.ml");
    }

    #[test]
    fn suffixes() {
        let check = |path, expected| assert_eq!(suffix(path), expected, "{path}");
        check("src/list.ml", ".ml");
        check("/usr/lib/libc.so.6", ".so");
        check("/usr/lib/libstdc++.so.6.0.30", ".so");
        check("vector.hpp", ".hpp");
        check("/usr/bin/sort", "");
        check("/home/some.body/sort", "");
        check(".netrc", "");
        check("invoice.customer", "");
        check("x.größ", "");
        check("1.2.3", "");
        check("", "");
    }
}
