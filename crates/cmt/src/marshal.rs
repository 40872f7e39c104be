//! OCaml's marshalled values (`runtime/caml/intext.h`), also compressed ones.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

use crate::value::{BlockId, Head, StringId, Value, Values};

const SMALL: u32 = 0x8495_A6BE;
const BIG: u32 = 0x8495_A6BF;
const COMPRESSED: u32 = 0x8495_A6BD;

/// No file is unpacked to more.
const MOST_BYTES: u64 = 1 << 28;

/// What is compressed more than this is no typed tree: those become a tenth.
const MOST_RATIO: u64 = 200;

/// A file makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It was cut.
    #[error("it ends too early")]
    Ends,
    /// There is no value where one ought to be.
    #[error("there are no marshalled values where some ought to be")]
    NoValue,
    /// A code that no version writes.
    #[error("a value begins with the code {0:#x}")]
    Code(u8),
    /// A reference to a value that was not there.
    #[error("a value refers to one that is not there")]
    Reference,
    /// More than is read.
    #[error("it has more than is read, 256 MiB")]
    TooLarge,
    /// The compressed part.
    #[error("what is compressed cannot be unpacked")]
    Compression,
    /// The values are not those of a typed tree.
    #[error("its values are no typed tree")]
    NoTree,
}

/// What comes before values.
struct Header {
    /// Of itself.
    length: usize,
    /// Of the values, as they are in the file.
    data: u64,
    /// Of the values, if they are compressed.
    unpacked: Option<u64>,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Header, Malformed> {
        let mut input = Input { bytes, at: 0 };
        match input.number(4)? as u32 {
            SMALL => Ok(Header { data: input.number(4)?, length: 20, unpacked: None }),
            BIG => {
                input.take(4)?;
                Ok(Header { data: input.number(8)?, length: 32, unpacked: None })
            }
            COMPRESSED => {
                let length = (input.byte()? & 0x3f).into();
                let data = input.quantity()?;
                Ok(Header { length, data, unpacked: Some(input.quantity()?) })
            }
            _ => Err(Malformed::NoValue),
        }
    }

    /// The values' bytes, and what follows them.
    fn split<'a>(&self, bytes: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Malformed> {
        let rest = bytes.get(self.length..).ok_or(Malformed::Ends)?;
        let data = usize::try_from(self.data).map_err(|_| Malformed::TooLarge)?;
        rest.split_at_checked(data).ok_or(Malformed::Ends)
    }
}

/// What follows a marshalled value.
///
/// # Errors
/// If there is none.
pub(crate) fn skip(bytes: &[u8]) -> Result<&[u8], Malformed> {
    Ok(Header::read(bytes)?.split(bytes)?.1)
}

/// The marshalled value at the beginning of bytes.
///
/// # Errors
/// [`Malformed`].
pub(crate) fn read(bytes: &[u8]) -> Result<Values, Malformed> {
    let header = Header::read(bytes)?;
    let (data, _) = header.split(bytes)?;
    let data = match header.unpacked {
        None => data.to_vec(),
        Some(length) => unpack(data, length)?,
    };
    if data.len() as u64 > MOST_BYTES {
        return Err(Malformed::TooLarge);
    }
    let mut values = graph(&data, header.unpacked.is_some())?;
    values.bytes = data;
    Ok(values)
}

fn unpack(data: &[u8], length: u64) -> Result<Vec<u8>, Malformed> {
    if length > MOST_BYTES || length / MOST_RATIO > data.len() as u64 {
        return Err(Malformed::TooLarge);
    }
    let decoder = StreamingDecoder::new(data).map_err(|_| Malformed::Compression)?;
    let mut unpacked = Vec::new();
    // One more than there is to be is enough to see that there is too much.
    let read = decoder.take(length + 1).read_to_end(&mut unpacked);
    read.map_err(|_| Malformed::Compression)?;
    if unpacked.len() as u64 == length { Ok(unpacked) } else { Err(Malformed::Compression) }
}

/// Bytes, from a place on.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], Malformed> {
        let rest = &self.bytes[self.at..];
        let count = usize::try_from(count).map_err(|_| Malformed::Ends)?;
        let taken = rest.get(..count).ok_or(Malformed::Ends)?;
        self.at += count;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    /// The highest byte first.
    fn number(&mut self, bytes: u64) -> Result<u64, Malformed> {
        Ok(self.take(bytes)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn signed(&mut self, bytes: u64) -> Result<i64, Malformed> {
        let unused = 64 - 8 * bytes as u32;
        Ok((self.number(bytes)? << unused) as i64 >> unused)
    }

    /// Seven bits a byte, the highest first; whether another follows is the high bit.
    fn quantity(&mut self) -> Result<u64, Malformed> {
        const MOST: usize = 10;
        let mut quantity = 0u64;
        for _ in 0..MOST {
            let byte = self.byte()?;
            quantity = quantity << 7 | u64::from(byte & 0x7f);
            if byte < 0x80 {
                return Ok(quantity);
            }
        }
        Err(Malformed::NoValue)
    }

    fn left(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }
}

/// Values as far as they have been read.
struct Reading<'a> {
    input: Input<'a>,
    values: Values,
    /// Then references are to the first value, the second one; else to the last, the one before.
    is_compressed: bool,
    /// What later ones may refer to, by number.
    shared: Vec<Value>,
    /// Where values are still to come: the next field, and the one after the last.
    open: Vec<(u32, u32)>,
    /// How many those are. Each takes a byte at least: so there is never more memory than the file is worth.
    awaited: u64,
}

fn graph(data: &[u8], is_compressed: bool) -> Result<Values, Malformed> {
    let input = Input { bytes: data, at: 0 };
    let values = Values::default();
    let (shared, open) = (Vec::new(), Vec::new());
    let mut reading = Reading { input, values, is_compressed, shared, open, awaited: 0 };
    reading.values.root = Some(reading.value()?);
    while let Some(last) = reading.open.last_mut() {
        let (field, end) = *last;
        if field == end {
            reading.open.pop();
            continue;
        }
        last.0 += 1;
        reading.awaited -= 1;
        reading.values.fields[field as usize] = reading.value()?;
    }
    Ok(reading.values)
}

impl Reading<'_> {
    /// The next value; the fields of a block are still to come.
    fn value(&mut self) -> Result<Value, Malformed> {
        let code = self.input.byte()?;
        match code {
            0x80.. => self.block(code & 0xf, u64::from(code >> 4 & 0x7)),
            0x40.. => Ok(Value::Int(i32::from(code & 0x3f))),
            0x20.. => self.string(u64::from(code & 0x1f)),
            0x00..=0x03 => self.integer(1 << code),
            0x04..=0x06 => self.reference(1 << (code - 4)),
            0x14 => self.reference(8),
            0x08 => self.headed(4),
            0x13 => self.headed(8),
            0x09 => self.string_after(1),
            0x0a => self.string_after(4),
            0x15 => self.string_after(8),
            0x0b | 0x0c => self.other(8),
            0x0d | 0x0e => self.doubles(1),
            0x07 | 0x0f => self.doubles(4),
            0x16 | 0x17 => self.doubles(8),
            0x19 => self.custom(),
            other => Err(Malformed::Code(other)),
        }
    }

    fn integer(&mut self, bytes: u64) -> Result<Value, Malformed> {
        let number = self.input.signed(bytes)?;
        Ok(i32::try_from(number).map_or(Value::Other, Value::Int))
    }

    fn reference(&mut self, bytes: u64) -> Result<Value, Malformed> {
        let number = usize::try_from(self.input.number(bytes)?).ok();
        let at = match self.is_compressed {
            true => number,
            false => number.and_then(|back| self.shared.len().checked_sub(back)),
        };
        at.and_then(|at| self.shared.get(at)).copied().ok_or(Malformed::Reference)
    }

    fn headed(&mut self, bytes: u64) -> Result<Value, Malformed> {
        let header = self.input.number(bytes)?;
        self.block(header as u8, header >> 10)
    }

    fn block(&mut self, tag: u8, count: u64) -> Result<Value, Malformed> {
        if count == 0 {
            // There is one such block a tag, which nobody refers back to.
            return Ok(Value::Other);
        }
        self.awaited = self.awaited.saturating_add(count);
        if self.awaited > self.input.left() {
            return Err(Malformed::Ends);
        }
        let (first, count) = (self.values.fields.len() as u32, count as u32);
        let value = Value::Block(BlockId(self.values.blocks.len() as u32));
        self.values.blocks.push(Head { tag, first, count });
        let end = self.values.fields.len() + count as usize;
        self.values.fields.resize(end, Value::Other);
        self.open.push((first, end as u32));
        self.shared.push(value);
        Ok(value)
    }

    fn string_after(&mut self, bytes: u64) -> Result<Value, Malformed> {
        let length = self.input.number(bytes)?;
        self.string(length)
    }

    fn string(&mut self, length: u64) -> Result<Value, Malformed> {
        let first = self.input.at as u32;
        self.input.take(length)?;
        let value = Value::String(StringId(self.values.strings.len() as u32));
        self.values.strings.push((first, length as u32));
        self.shared.push(value);
        Ok(value)
    }

    fn doubles(&mut self, bytes: u64) -> Result<Value, Malformed> {
        let count = self.input.number(bytes)?;
        self.other(count.saturating_mul(8))
    }

    fn other(&mut self, bytes: u64) -> Result<Value, Malformed> {
        self.input.take(bytes)?;
        self.shared.push(Value::Other);
        Ok(Value::Other)
    }

    /// A number with a box, whose name says how long it is.
    fn custom(&mut self) -> Result<Value, Malformed> {
        let mut name = Vec::new();
        loop {
            match self.input.byte()? {
                0 => break,
                byte => name.push(byte),
            }
        }
        let bytes = match &name[..] {
            b"_i" => 4,
            b"_j" => 8,
            b"_n" => match self.input.byte()? {
                1 => 4,
                2 => 8,
                other => return Err(Malformed::Code(other)),
            },
            _ => return Err(Malformed::Code(0x19)),
        };
        self.other(bytes)
    }
}
