//! Which Python it is.

/// A series of releases, as 3.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl Version {
    /// That of a text that begins with it, as `3.11.2 (main, ...)`.
    pub(crate) fn of(text: &str) -> Option<Version> {
        let mut numbers = text.split(|it: char| !it.is_ascii_digit()).map(str::parse);
        Some(Version { major: numbers.next()?.ok()?, minor: numbers.next()?.ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_at_the_texts_beginning() {
        let of = |text| Version::of(text).map(|it| (it.major, it.minor));
        assert_eq!(of("3.11.2 (main, Nov 30 2024) [GCC 12.2.0]"), Some((3, 11)));
        assert_eq!([of("3.14.0a1+"), of("3.9")], [Some((3, 14)), Some((3, 9))]);
        assert_eq!([of(""), of("PyPy"), of("3")], [None; 3]);
    }
}
