//! Packets of sites.
//!
//! ```text
//! varint   number of the first site
//! strings  functions and files
//! varint   how many frames there are
//!          each: varint function, varint file, varint line
//! varint   how many sites there are
//!          each: varint number of frames, and of each, the innermost first, varint which of those above
//! ```

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::model::{Frame, Site};
use super::strings::{self, Strings};
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};

/// Of a site that is so long, in bytes, frames further out are left out.
const LONGEST: usize = 1 << 20;

/// Sites that are to be written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    first: u64,
    count: u64,
    strings: Strings,
    known: FxHashMap<Frame, u64>,
    frames: Vec<u8>,
    column: Vec<u8>,
}

impl Draft {
    pub(super) fn add(&mut self, site: &Site) {
        self.count += 1;
        let (mut numbers, mut count) = (Vec::new(), 0);
        for frame in &site.frames {
            if self.len() + numbers.len() > LONGEST {
                break;
            }
            numbers.put_varint(self.frame(frame));
            count += 1;
        }
        self.column.put_varint(count);
        self.column.extend(numbers);
    }

    fn frame(&mut self, frame: &Frame) -> u64 {
        if let Some(&known) = self.known.get(frame) {
            return known;
        }
        let (function, file) =
            (self.strings.number(&frame.function), self.strings.number(&frame.file));
        for field in [function, file, frame.line.into()] {
            self.frames.put_varint(field);
        }
        let number = self.known.len() as u64;
        self.known.insert(frame.clone(), number);
        number
    }

    /// In bytes.
    pub(super) fn len(&self) -> usize {
        self.column.len() + self.frames.len() + self.strings.len()
    }

    /// The contents of a packet, if there are any.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let Draft { first, count, strings, known, frames, column } = std::mem::take(self);
        self.first = first + count;
        let mut contents = Vec::new();
        contents.put_varint(first);
        strings.put(&mut contents);
        contents.put_varint(known.len() as u64);
        contents.extend(frames);
        contents.put_varint(count);
        contents.extend(column);
        (count > 0).then_some(contents)
    }
}

/// The sites of a packet, after its first number.
pub(super) fn decode(plain: &mut Plain<'_>) -> Result<Vec<Site>, Fault> {
    let strings = strings::take(plain)?;
    let count = plain.varint()?;
    let frames: Vec<Frame> =
        (0..count).map(|_| frame(plain, &strings)).collect::<Result<_, Fault>>()?;
    let count = plain.varint()?;
    (0..count).map(|_| site(plain, &frames)).collect()
}

fn frame(plain: &mut Plain<'_>, strings: &[Arc<str>]) -> Result<Frame, Fault> {
    let function = strings::get(strings, plain.varint()?)?;
    let file = strings::get(strings, plain.varint()?)?;
    Ok(Frame { function, file, line: plain.small()? })
}

fn site(plain: &mut Plain<'_>, frames: &[Frame]) -> Result<Site, Fault> {
    let count = plain.varint()?;
    let mut frame = |_| {
        let number: usize = plain.small()?;
        frames.get(number).cloned().ok_or(Fault::Unexpected("a frame that was told"))
    };
    Ok(Site { frames: (0..count).map(&mut frame).collect::<Result<_, Fault>>()? })
}
