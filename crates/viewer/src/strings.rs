//! The strings of a bundle, each of them once.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::section::Section;

/// Strings by number; 0 is the empty one.
#[derive(Debug)]
pub struct Strings<'a> {
    numbers: FxHashMap<&'a str, u32>,
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl<'a> Strings<'a> {
    /// None but the empty one.
    pub fn new() -> Self {
        Self { numbers: FxHashMap::from_iter([("", 0)]), ends: vec![0], bytes: Vec::new() }
    }

    /// The number of a string.
    pub fn number(&mut self, text: &'a str) -> u32 {
        let Self { numbers, ends, bytes } = self;
        *numbers.entry(text).or_insert_with(|| push(ends, bytes, text))
    }

    /// The number of a string that nobody keeps; it may have several.
    pub fn number_of_new(&mut self, text: &str) -> u32 {
        match self.numbers.get(text) {
            Some(number) => *number,
            None => push(&mut self.ends, &mut self.bytes, text),
        }
    }

    /// As sections.
    pub fn write(self, sections: &mut BTreeMap<&'static str, Section>) {
        sections.insert("string.end", Section::U32(self.ends));
        sections.insert("string.bytes", Section::U8(self.bytes));
    }
}

/// Where there is no more room (4 GiB of names), the string is empty.
fn push(ends: &mut Vec<u32>, bytes: &mut Vec<u8>, text: &str) -> u32 {
    let Ok(end) = u32::try_from(bytes.len() + text.len()) else { return 0 };
    bytes.extend_from_slice(text.as_bytes());
    ends.push(end);
    ends.len() as u32 - 1
}
