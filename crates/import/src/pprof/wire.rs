//! Protocol buffers, as far as profiles use them: fields that are numbers or bytes.

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    pub number: u64,
    pub value: Value<'a>,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    Number(u64),
    /// A string, a message, or numbers one after another.
    Bytes(&'a [u8]),
}

/// A message that is being read.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Message<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How far it was read, in bytes.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next field; nothing at the end.
    ///
    /// # Errors
    /// If there is no whole one; then nothing of it has been read.
    pub fn next(&mut self) -> Result<Option<Field<'a>>, &'static str> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let begin = self.at;
        let field = self.field();
        if field.is_err() {
            self.at = begin;
        }
        field.map(Some)
    }

    fn field(&mut self) -> Result<Field<'a>, &'static str> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Number(u64::from_le_bytes(self.array()?)),
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(usize::try_from(len).map_err(|_| CUT)?)?)
            }
            5 => Value::Number(u32::from_le_bytes(self.array()?).into()),
            _ => return Err("expected a field of a profile, found none"),
        };
        Ok(Field { number: tag >> 3, value })
    }

    fn varint(&mut self) -> Result<u64, &'static str> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("expected a number of at most 64 bits")
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        self.take(N).and_then(|bytes| bytes.try_into().map_err(|_| CUT))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], &'static str> {
        let bytes = self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end));
        let bytes = bytes.ok_or(CUT)?;
        self.at += len;
        Ok(bytes)
    }
}

const CUT: &str = "the profile is cut here";

impl Value<'_> {
    /// Nothing if it is bytes.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Bytes(_) => None,
        }
    }

    /// The number, or all of those one after another; what is no number ends them.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        let (one, mut packed) = match self {
            Self::Number(number) => (Some(*number), Message::new(&[])),
            Self::Bytes(bytes) => (None, Message::new(bytes)),
        };
        one.into_iter().chain(std::iter::from_fn(move || packed.varint().ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let bytes = [
            0x08, 0x96, 0x01, 0x12, 0x02, 0x03, 0x7f, 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0,
            0,
        ];
        let mut message = Message::new(&bytes);
        let mut next = || message.next().unwrap().map(|field| (field.number, field.value));
        assert_eq!(next(), Some((1, Value::Number(150))));
        assert_eq!(next(), Some((2, Value::Bytes(&[3, 0x7f]))));
        assert_eq!(next(), Some((3, Value::Number(1))));
        assert_eq!(next(), Some((4, Value::Number(2))));
        assert_eq!(next(), None);
        assert_eq!(Value::Bytes(&[3, 0x96, 1, 0x80]).numbers().collect::<Vec<_>>(), [3, 150]);
        assert_eq!(Value::Number(7).numbers().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn what_is_cut_or_none_is_not_read() {
        for bytes in [
            &[0x08][..],
            &[0x12, 5, 1],
            &[0x0b],
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xff; 11],
        ] {
            let mut message = Message::new(bytes);
            assert!(message.next().is_err(), "{bytes:?}");
            assert_eq!(message.position(), 0);
        }
    }
}
