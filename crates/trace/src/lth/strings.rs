//! Strings of a packet, each of which it has once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};

/// Longest string, in bytes; longer ones are cut.
const MAX_STRING: usize = 4096;

/// The strings that are used in a packet, in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct Strings {
    numbers: FxHashMap<Arc<str>, u64>,
    column: Vec<u8>,
}

impl Strings {
    /// The number of a string.
    pub(super) fn number(&mut self, string: &Arc<str>) -> u64 {
        if let Some(&known) = self.numbers.get(string) {
            return known;
        }
        let number = self.numbers.len() as u64;
        self.numbers.insert(Arc::clone(string), number);
        put(&mut self.column, string);
        number
    }

    /// In bytes.
    pub(super) fn len(&self) -> usize {
        self.column.len()
    }

    /// Appends them: how many, and each.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.put_varint(self.numbers.len() as u64);
        out.extend_from_slice(&self.column);
    }
}

/// The strings that a packet begins with.
pub(super) fn take(plain: &mut Plain<'_>) -> Result<Vec<Arc<str>>, Fault> {
    let count = plain.varint()?;
    (0..count).map(|_| Ok(plain.string()?.into())).collect()
}

/// One of them.
pub(super) fn get(strings: &[Arc<str>], number: u64) -> Result<Arc<str>, Fault> {
    let found = usize::try_from(number).ok().and_then(|at| strings.get(at));
    found.cloned().ok_or(Fault::Unexpected("a string that was told"))
}

/// Appends one string.
pub(super) fn put(out: &mut Vec<u8>, string: &str) {
    out.put_bytes(cut(string).as_bytes());
}

/// As much of it as is written.
pub(super) fn cut(string: &str) -> &str {
    crate::framing::varint::cut(string, MAX_STRING)
}
