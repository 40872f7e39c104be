//! A name under construction.

use lifetrace_transport::stream::MOST_NAME;

/// As long as names of kinds may be; the rest of a longer one is cut off.
pub(super) struct Name {
    bytes: [u8; MOST_NAME],
    length: usize,
}

impl Name {
    /// Nothing.
    pub(super) const fn new() -> Name {
        Name { bytes: [0; MOST_NAME], length: 0 }
    }

    /// These parts, one after the other.
    pub(super) fn of(&mut self, parts: &[&[u8]]) -> &[u8] {
        self.length = 0;
        for part in parts {
            let part = &part[..part.len().min(MOST_NAME - self.length)];
            self.bytes[self.length..self.length + part.len()].copy_from_slice(part);
            self.length += part.len();
        }
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut() {
        let mut name = Name::new();
        assert_eq!(name.of(&[b"anonymous, of ", b"Struct"]), b"anonymous, of Struct");
        let long = [b'x'; MOST_NAME];
        assert_eq!(name.of(&[b"ab", &long]).len(), MOST_NAME);
        assert!(name.of(&[b"ab", &long]).starts_with(b"abxx"));
        assert_eq!(name.of(&[]), b"");
    }
}
