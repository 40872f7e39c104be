//! Plain fields: numbers in seven-bit groups, lowest first, and strings after their lengths.

use super::fault::Fault;

/// Appends plain fields.
pub(crate) trait PutPlain {
    /// Seven bits a byte, lowest first; the high bit says that more follow.
    fn put_varint(&mut self, value: u64);
    /// 0, -1, 1, -2, 2, … as 0, 1, 2, 3, 4, …
    fn put_signed(&mut self, value: i64);
    /// Its length in bytes, then its bytes.
    fn put_bytes(&mut self, bytes: &[u8]);
}

impl PutPlain for Vec<u8> {
    fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn put_signed(&mut self, value: i64) {
        self.put_varint((value << 1 ^ value >> 63) as u64);
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.put_varint(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }
}

/// Takes plain fields from the front of a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain<'a>(pub(crate) &'a [u8]);

impl<'a> Plain<'a> {
    pub(crate) fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                break;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Fault::Unexpected("a number of 64 bits"))
    }

    /// A number that fits a smaller type.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Fault> {
        T::try_from(self.varint()?).map_err(|_| Fault::Unexpected("a smaller number"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Fault> {
        let folded = self.varint()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let len = self.small()?;
        self.take(len)
    }

    /// What is not UTF-8 is replaced.
    pub(crate) fn string(&mut self) -> Result<String, Fault> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Fault> {
        let mut word = [0; 8];
        word.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(word))
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Fault::CutShort)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// The longest beginning of a string that has at most so many bytes.
pub(crate) fn cut(string: &str, max: usize) -> &str {
    let is_end = |&len: &usize| string.is_char_boundary(len);
    let len = (0..=max.min(string.len())).rev().find(is_end).unwrap_or_default();
    &string[..len]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fields_are_read(number in any::<u64>(), signed in any::<i64>(), text in ".{0,20}") {
            let mut bytes = Vec::new();
            bytes.put_varint(number);
            bytes.put_signed(signed);
            bytes.put_bytes(text.as_bytes());
            for len in 0..bytes.len() {
                let mut cut = Plain(&bytes[..len]);
                let all = cut.varint().and_then(|_| cut.signed()).and_then(|_| cut.string());
                prop_assert_eq!(all, Err(Fault::CutShort));
            }
            let mut plain = Plain(&bytes);
            prop_assert_eq!(plain.varint(), Ok(number));
            prop_assert_eq!(plain.signed(), Ok(signed));
            prop_assert_eq!(plain.string(), Ok(text));
            prop_assert!(plain.0.is_empty());
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        assert!(matches!(Plain(&[0xff; 11]).varint(), Err(Fault::Unexpected(_))));
        let mut largest = [0xff; 10];
        largest[9] = 1;
        assert_eq!(Plain(&largest).varint(), Ok(u64::MAX));
        largest[9] = 2;
        assert!(Plain(&largest).varint().is_err());
    }
}
