//! The codes of backtraces' words, as long as the address space stays as it is.

use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

/// Words that were asked for lately: a deep stack has the same few again and again.
const RECENT: usize = 512;

/// See the module.
#[derive(Debug)]
pub(crate) struct Codes {
    all: FxHashMap<u64, LocationCode>,
    /// Some of them, each in a place that depends on the word.
    recent: Box<[Option<(u64, LocationCode)>; RECENT]>,
}

impl Codes {
    pub(crate) fn new() -> Self {
        Codes { all: FxHashMap::default(), recent: Box::new([None; RECENT]) }
    }

    #[inline]
    pub(crate) fn get(&mut self, word: u64) -> Option<LocationCode> {
        let recent = &mut self.recent[place(word)];
        match *recent {
            Some((known, code)) if known == word => Some(code),
            _ => {
                let code = self.all.get(&word).copied()?;
                *recent = Some((word, code));
                Some(code)
            }
        }
    }

    pub(crate) fn put(&mut self, word: u64, code: LocationCode) {
        self.all.insert(word, code);
        self.recent[place(word)] = Some((word, code));
    }

    pub(crate) fn clear(&mut self) {
        *self = Codes::new();
    }

    /// Forgets those that are none of `keep`'s.
    pub(crate) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.all.retain(|&word, _| keep(word));
        *self.recent = [None; RECENT];
    }
}

#[inline]
fn place(word: u64) -> usize {
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % RECENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_code_that_it_was_given_last() {
        let mut codes = Codes::new();
        for word in 0..2_000 {
            assert_eq!(codes.get(word), None);
            codes.put(word, LocationCode(word + 7));
        }
        let is = |codes: &mut Codes, word| codes.get(word) == Some(LocationCode(word + 7));
        for _ in 0..2 {
            assert!((0..2_000).rev().all(|word| is(&mut codes, word)));
        }
        codes.put(3, LocationCode(1));
        assert_eq!(codes.get(3), Some(LocationCode(1)));
        codes.retain(|word| word >= 1_000);
        assert!((0..1_000).all(|word| codes.get(word).is_none()));
        assert!((1_000..2_000).all(|word| is(&mut codes, word)));
        codes.clear();
        assert!((0..2_000).all(|word| codes.get(word).is_none()));
    }
}
