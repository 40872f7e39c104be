//! What differs between versions of Ruby, where no function tells it.

use core::ffi::CStr;

use crate::symbols::Value;

/// A series of releases, as 3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
}

const RUBY_3_1: Version = Version::new(3, 1);
const RUBY_3_2: Version = Version::new(3, 2);
const RUBY_3_3: Version = Version::new(3, 3);
const RUBY_3_4: Version = Version::new(3, 4);

impl Version {
    const fn new(major: u32, minor: u32) -> Version {
        Version { major, minor }
    }

    /// As `RUBY_VERSION` has it.
    pub(crate) fn of(text: &CStr) -> Option<Version> {
        let mut numbers = text.to_str().ok()?.split('.').map(|number| number.parse().ok());
        Some(Version { major: numbers.next()??, minor: numbers.next()?? })
    }

    /// Whether all of this has been tried with it.
    pub(crate) fn is_known(self) -> bool {
        (RUBY_3_1..=RUBY_3_4).contains(&self)
    }

    /// `Qnil`.
    pub(crate) fn nil(self) -> Value {
        if self < RUBY_3_2 { 8 } else { 4 }
    }

    /// The bits of an object's flags that are all set where it is old: `FL_PROMOTED`.
    pub(crate) fn old_flags(self) -> Value {
        if self < RUBY_3_3 { 0x60 } else { 0x20 }
    }

    /// Whether compiled code may have no valid place for its innermost frame in a malloc that cannot collect.
    pub(crate) fn has_unsafe_compiled_lines(self) -> bool {
        self < RUBY_3_3
    }

    /// Whether a thread that has ended still seems to have the machine's lock, until it is gone.
    pub(crate) fn keeps_ended_threads(self) -> bool {
        self >= RUBY_3_3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_ordered() {
        assert_eq!(Version::of(c"3.3.8"), Some(RUBY_3_3));
        assert_eq!(Version::of(c"3.10.0-preview1"), Some(Version::new(3, 10)));
        for text in [c"", c"3", c"x.1", c"3.y"] {
            assert_eq!(Version::of(text), None);
        }
        let known = [c"2.7.8", c"3.1.2", c"3.4.11", c"3.5.0", c"4.0.1"]
            .map(|text| Version::of(text).unwrap().is_known());
        assert_eq!(known, [false, true, true, false, false]);
    }
}
