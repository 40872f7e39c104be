//! What an allocation has in common with most others, as a number.

use super::events::Class;
use super::new_birth::NewBirth;
use crate::event::Source;
use crate::framing::fault::Fault;
use crate::ids::{Bytes, SamplerId, Size, Words};

const SOURCE: u16 = 3;
const IN_BYTES: u16 = 1 << 2;
const GROWTH: u16 = 1 << 3;
const TRUNCATED: u16 = 1 << 4;
const SAMPLER_SHIFT: u32 = 6;

/// An allocation's class, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    pub(super) source: Source,
    pub(super) in_bytes: bool,
    pub(super) is_growth: bool,
    pub(super) is_truncated: bool,
    pub(super) sampler: SamplerId,
}

/// Puts a class together.
pub(super) fn class_of(birth: &NewBirth<'_>, is_growth: bool) -> Class {
    let source = match birth.source {
        Source::Minor => 0,
        Source::Major => 1,
        Source::External => 2,
    };
    let flag = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
    let in_bytes = matches!(birth.size, Size::Bytes(_));
    Class(
        source
            | flag(in_bytes, IN_BYTES)
            | flag(is_growth, GROWTH)
            | flag(birth.is_truncated, TRUNCATED)
            | u16::from(birth.sampler.0) << SAMPLER_SHIFT,
    )
    .hit(birth.samples)
}

impl Kinds {
    pub(super) fn of(Class(class): Class) -> Result<Self, Fault> {
        let source = match class & SOURCE {
            0 => Source::Minor,
            1 => Source::Major,
            2 => Source::External,
            _ => return Err(Fault::Unexpected("a source")),
        };
        let sampler = u8::try_from(class >> SAMPLER_SHIFT);
        Ok(Self {
            source,
            in_bytes: class & IN_BYTES != 0,
            is_growth: class & GROWTH != 0,
            is_truncated: class & TRUNCATED != 0,
            sampler: SamplerId(sampler.map_err(|_| Fault::Unexpected("a sampler"))?),
        })
    }

    pub(super) fn size(self, count: u64) -> Size {
        match self.in_bytes {
            true => Size::Bytes(Bytes(count)),
            false => Size::Words(Words(count)),
        }
    }
}
