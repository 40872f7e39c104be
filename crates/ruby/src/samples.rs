//! The sampled objects that are alive, as far as is known.

use lifetrace_agent::buffer::Buffer;
use lifetrace_agent::tracker::Word;
use lifetrace_transport::message::SampleId;

use crate::vm::Value;

/// What has become of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is as it was.
    Unchanged,
    /// It is old from now on.
    Promoted,
    /// It is no more.
    Dead,
}

/// In an object's address, which is a multiple of 8: it is old.
const OLD: u64 = 1;

/// Objects and their samples, in the order of their births.
pub(crate) struct Samples {
    pairs: Buffer,
    count: usize,
}

impl Samples {
    /// None.
    pub(crate) const fn new() -> Samples {
        Samples { pairs: Buffer::new(), count: 0 }
    }

    /// Makes room for one more; false if there is no memory.
    pub(crate) fn reserve(&mut self) -> bool {
        self.pairs.reserve(2 * (self.count + 1))
    }

    /// Adds one, for which there is room.
    pub(crate) fn add(&mut self, object: Value, sample: SampleId) {
        let at = 2 * self.count;
        self.pairs.words_mut()[at..at + 2].copy_from_slice(&[object as u64, sample.to_word()]);
        self.count += 1;
    }

    /// Asks of each what has become of it, and whether it was old before, and keeps those that are not dead.
    pub(crate) fn review(&mut self, mut fate: impl FnMut(Value, bool, SampleId) -> Fate) {
        let mut kept = 0;
        for index in 0..self.count {
            let pairs = self.pairs.words_mut().as_chunks_mut().0;
            let [object, sample] = pairs[index];
            let is_old = object & OLD != 0;
            let object = match fate((object & !OLD) as Value, is_old, SampleId::from_word(sample)) {
                Fate::Unchanged => object,
                Fate::Promoted => object | OLD,
                Fate::Dead => continue,
            };
            pairs[kept] = [object, sample];
            kept += 1;
        }
        self.count = kept;
    }

    /// Changes where the objects are.
    pub(crate) fn relocate(&mut self, location: impl Fn(Value) -> Value) {
        let pairs = self.pairs.words_mut().as_chunks_mut::<2>().0;
        pairs[..self.count].iter_mut().for_each(|[object, _]| {
            *object = location((*object & !OLD) as Value) as u64 | *object & OLD;
        });
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn the_dead_go_and_the_others_keep_their_order() {
        let mut samples = Samples::new();
        for index in 0..1_000 {
            assert!(samples.reserve());
            samples.add(8 * index, SampleId(index as u64));
        }
        samples.review(|_, is_old, sample| {
            assert!(!is_old);
            if sample.0 % 2 == 0 { Fate::Promoted } else { Fate::Unchanged }
        });
        samples.relocate(|object| object + 8_000);
        samples.review(|object, is_old, sample| {
            assert_eq!((object as u64, is_old), (8_000 + 8 * sample.0, sample.0 % 2 == 0));
            if sample.0 % 3 == 0 { Fate::Unchanged } else { Fate::Dead }
        });
        let mut left = Vec::new();
        samples.review(|_, is_old, sample| {
            left.push((sample.0, is_old));
            Fate::Unchanged
        });
        assert!(left.iter().copied().eq((0..1_000).step_by(3).map(|it| (it, it % 2 == 0))));
        samples.clear();
        samples.review(|_, _, _| panic!("none is left"));
    }
}
