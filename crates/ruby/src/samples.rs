//! The sampled objects that are alive, as far as is known.

use lifetrace_agent::buffer::Buffer;
use lifetrace_agent::tracker::Word;
use lifetrace_transport::message::SampleId;

use crate::vm::Value;

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

    /// Keeps those of which `stays` is true.
    pub(crate) fn retain(&mut self, mut stays: impl FnMut(Value, SampleId) -> bool) {
        let mut kept = 0;
        for index in 0..self.count {
            let pairs = self.pairs.words_mut().as_chunks_mut().0;
            let [object, sample] = pairs[index];
            if stays(object as Value, SampleId::from_word(sample)) {
                pairs[kept] = [object, sample];
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Changes where the objects are.
    pub(crate) fn relocate(&mut self, location: impl Fn(Value) -> Value) {
        let pairs = self.pairs.words_mut().as_chunks_mut::<2>().0;
        pairs[..self.count].iter_mut().for_each(|[object, _]| {
            *object = location(*object as Value) as u64;
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
        samples.relocate(|object| object + 8_000);
        samples.retain(|object, sample| {
            assert_eq!(object as u64, 8_000 + 8 * sample.0);
            sample.0 % 3 == 0
        });
        let mut left = Vec::new();
        samples.retain(|_, sample| {
            left.push(sample.0);
            true
        });
        assert!(left.iter().copied().eq((0..1_000).step_by(3)));
        samples.clear();
        samples.retain(|_, _| panic!("none is left"));
    }
}
