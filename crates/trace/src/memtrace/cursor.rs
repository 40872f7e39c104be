//! Fields of a packet to bytes and back. Everything is little-endian.
//!
//! A *vint* is an integer that is usually small: one byte up to 252, else a marker and 2, 4 or 8
//! bytes, the latter two signed. So 2^31 and above, up to 2^32, takes 8 bytes.

use super::error::Fault;

const VINT_16: u8 = 253;
const VINT_32: u8 = 254;
const VINT_64: u8 = 255;

/// Longest vint.
pub(super) const MAX_VINT: usize = 9;

/// Reads fields one after another.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    /// # Panics
    ///
    /// When `position` is past the end.
    pub(super) fn new(bytes: &'a [u8], position: usize) -> Self {
        assert!(position <= bytes.len());
        Self { bytes, position }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn skip(&mut self, len: usize) -> Result<(), Fault> {
        if len > self.bytes.len() - self.position {
            return Err(Fault::CutShort);
        }
        self.position += len;
        Ok(())
    }

    pub(super) fn u8(&mut self) -> Result<u8, Fault> {
        self.take().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Fault> {
        self.take().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Fault> {
        self.take().map(u64::from_le_bytes)
    }

    pub(super) fn vint(&mut self) -> Result<i64, Fault> {
        match self.u8()? {
            VINT_16 => self.u16().map(i64::from),
            VINT_32 => self.take().map(i32::from_le_bytes).map(i64::from),
            VINT_64 => self.take().map(i64::from_le_bytes),
            small => Ok(i64::from(small)),
        }
    }

    /// A vint that counts something.
    pub(super) fn count(&mut self, expected: &'static str) -> Result<u64, Fault> {
        let value = self.vint()?;
        u64::try_from(value).map_err(|_| Fault::Unexpected { expected, found: value as u64 })
    }

    /// A string without its final NUL. Bytes that are not UTF-8 become U+FFFD.
    pub(super) fn string(&mut self) -> Result<std::borrow::Cow<'a, str>, Fault> {
        let rest = &self.bytes[self.position..];
        let len = rest.iter().position(|&byte| byte == 0).ok_or(Fault::CutShort)?;
        self.position += len + 1;
        Ok(String::from_utf8_lossy(&rest[..len]))
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let field = self.bytes[self.position..].first_chunk().ok_or(Fault::CutShort)?;
        self.position += N;
        Ok(*field)
    }
}

/// Appends fields.
pub(super) trait PutFields {
    fn put_u8(&mut self, value: u8);
    fn put_u16(&mut self, value: u16);
    fn put_u32(&mut self, value: u32);
    fn put_u64(&mut self, value: u64);
    fn put_vint(&mut self, value: i64);
    /// Ends at the first NUL of `value`, if it has one.
    fn put_string(&mut self, value: &str);
}

impl PutFields for Vec<u8> {
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }

    fn put_u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_vint(&mut self, value: i64) {
        if let Ok(small) = u8::try_from(value)
            && small < VINT_16
        {
            self.push(small);
        } else if let Ok(short) = u16::try_from(value) {
            self.push(VINT_16);
            self.put_u16(short);
        } else if let Ok(int) = i32::try_from(value) {
            self.push(VINT_32);
            self.extend_from_slice(&int.to_le_bytes());
        } else {
            self.push(VINT_64);
            self.extend_from_slice(&value.to_le_bytes());
        }
    }

    fn put_string(&mut self, value: &str) {
        self.extend_from_slice(until_nul(value).as_bytes());
        self.push(0);
    }
}

/// The part of a string that can be written.
pub(super) fn until_nul(value: &str) -> &str {
    value.split('\0').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_vint(value: i64, expected: &[u8]) {
        let mut bytes = Vec::new();
        bytes.put_vint(value);
        assert_eq!(bytes, expected);
        let mut cursor = Cursor::new(&bytes, 0);
        assert_eq!(cursor.vint(), Ok(value));
        assert_eq!(cursor.position(), bytes.len());
        for cut in 0..bytes.len() {
            assert_eq!(Cursor::new(&bytes[..cut], 0).vint(), Err(Fault::CutShort));
        }
    }

    #[test]
    fn vints_take_the_shortest_form() {
        check_vint(0, &[0]);
        check_vint(252, &[252]);
        check_vint(253, &[253, 253, 0]);
        check_vint(0xffff, &[253, 0xff, 0xff]);
        check_vint(0x1_0000, &[254, 0, 0, 1, 0]);
        check_vint(0x7fff_ffff, &[254, 0xff, 0xff, 0xff, 0x7f]);
    }

    #[test]
    fn vints_above_the_signed_range_take_eight_bytes() {
        check_vint(0x8123_4567, &[255, 0x67, 0x45, 0x23, 0x81, 0, 0, 0, 0]);
        check_vint(i64::MAX, &[255, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    }

    #[test]
    fn negative_vints_take_four_or_eight_bytes() {
        check_vint(-1, &[254, 0xff, 0xff, 0xff, 0xff]);
        check_vint(-0x8000_0001, &[255, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn strings_end_at_their_first_nul() {
        let mut bytes = Vec::new();
        bytes.put_string("ab\0cd");
        assert_eq!(bytes, b"ab\0");
        assert_eq!(Cursor::new(&bytes, 0).string().unwrap(), "ab");
        assert_eq!(Cursor::new(b"ab", 0).string(), Err(Fault::CutShort));
    }
}
