//! Packets of samples.
//!
//! ```text
//! varint   number of the first sample
//! varint   how many there are
//!          each, less that of the one before: signed id, signed address, signed site, signed birth;
//!          and 8 bytes: its weight, as the bits of a double
//! ```

use super::model::{Address, Sample, SiteId};
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};

/// Samples that are to be written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    first: u64,
    count: u64,
    column: Vec<u8>,
    last: [u64; 4],
}

fn columns(sample: &Sample) -> [u64; 4] {
    [sample.id, sample.address.0, sample.site.0.into(), sample.born]
}

impl Draft {
    pub(super) fn add(&mut self, sample: &Sample) {
        self.count += 1;
        let values = columns(sample);
        for (value, last) in values.into_iter().zip(self.last) {
            self.column.put_signed(value.wrapping_sub(last) as i64);
        }
        self.last = values;
        self.column.extend_from_slice(&sample.weight.to_bits().to_le_bytes());
    }

    /// In bytes.
    pub(super) fn len(&self) -> usize {
        self.column.len()
    }

    /// The contents of a packet, if there are any.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let Draft { first, count, column, .. } = std::mem::take(self);
        self.first = first + count;
        let mut contents = Vec::with_capacity(column.len() + 16);
        contents.put_varint(first);
        contents.put_varint(count);
        contents.extend(column);
        (count > 0).then_some(contents)
    }
}

/// The samples of a packet, after its first number.
pub(super) fn decode(plain: &mut Plain<'_>) -> Result<Vec<Sample>, Fault> {
    let count = plain.varint()?;
    let mut last = [0u64; 4];
    (0..count).map(|_| sample(plain, &mut last)).collect()
}

fn sample(plain: &mut Plain<'_>, last: &mut [u64; 4]) -> Result<Sample, Fault> {
    for value in last.iter_mut() {
        *value = value.wrapping_add(plain.signed()? as u64);
    }
    let [id, address, site, born] = *last;
    let site = u32::try_from(site).map_err(|_| Fault::Unexpected("a smaller number"))?;
    let weight = f64::from_bits(plain.u64()?);
    Ok(Sample { id, address: Address(address), site: SiteId(site), weight, born })
}
