//! The arrays of a bundle.

use serde::Serialize;

/// Each section begins at a multiple of this.
const ALIGNMENT: usize = 8;

/// An array.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// Of 8 bits each.
    U8(Vec<u8>),
    /// Of 16 bits each.
    U16(Vec<u16>),
    /// Of 32 bits each.
    U32(Vec<u32>),
    /// Of 64 bits each.
    F64(Vec<f64>),
}

/// What a header says of an array.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Place {
    #[serde(rename = "type")]
    element: &'static str,
    offset: usize,
    length: usize,
}

impl Section {
    /// Numbers, in the narrowest type that they fit in.
    pub fn narrow(numbers: &[u32]) -> Self {
        match numbers.iter().max().copied().unwrap_or(0) {
            0..=0xff => Self::U8(numbers.iter().map(|&it| it as u8).collect()),
            0x100..=0xffff => Self::U16(numbers.iter().map(|&it| it as u16).collect()),
            _ => Self::U32(numbers.to_vec()),
        }
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(it) => it.len(),
            Self::U16(it) => it.len(),
            Self::U32(it) => it.len(),
            Self::F64(it) => it.len(),
        }
    }

    /// The name of the elements' type.
    fn element(&self) -> &'static str {
        match self {
            Self::U8(_) => "u8",
            Self::U16(_) => "u16",
            Self::U32(_) => "u32",
            Self::F64(_) => "f64",
        }
    }

    /// Appends it at the next multiple of 8.
    pub fn append(&self, to: &mut Vec<u8>) -> Place {
        align(to);
        let place = Place { element: self.element(), offset: to.len(), length: self.len() };
        match self {
            Self::U8(it) => to.extend_from_slice(it),
            Self::U16(it) => it.iter().for_each(|it| to.extend_from_slice(&it.to_le_bytes())),
            Self::U32(it) => it.iter().for_each(|it| to.extend_from_slice(&it.to_le_bytes())),
            Self::F64(it) => it.iter().for_each(|it| to.extend_from_slice(&it.to_le_bytes())),
        }
        place
    }
}

impl Place {
    /// So many bytes further on.
    pub fn after(self, bytes: usize) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }
}

/// Adds zeros up to the next multiple of 8.
pub fn align(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}
