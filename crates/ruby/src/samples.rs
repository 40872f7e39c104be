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

/// In an object's address: when it was measured last, it took more than its slot.
const GROWN: u64 = 2;

const MARKS: u64 = OLD | GROWN;

/// A sampled object that is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Living {
    pub(crate) object: Value,
    pub(crate) sample: u64,
    /// When it was measured last, it took more than its slot.
    pub(crate) is_grown: bool,
}

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
            let object = match fate((object & !MARKS) as Value, is_old, SampleId::from_word(sample))
            {
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
            *object = location((*object & !MARKS) as Value) as u64 | *object & MARKS;
        });
    }

    /// The first ones from a sample on, as many as there is room for; how many.
    pub(crate) fn from(&self, sample: u64, room: &mut [Living]) -> usize {
        let all = &self.pairs.words().as_chunks::<2>().0[..self.count];
        let from = &all[all.partition_point(|pair| pair[1] < sample)..];
        let pairs = from.iter().zip(room.iter_mut());
        let found = pairs.map(|(&[object, sample], place)| {
            let (object, is_grown) = ((object & !MARKS) as Value, object & GROWN != 0);
            *place = Living { object, sample, is_grown };
        });
        found.count()
    }

    /// Each object with its sample.
    pub(crate) fn each(&self, mut tell: impl FnMut(Value, SampleId)) {
        for &[object, sample] in &self.pairs.words().as_chunks().0[..self.count] {
            tell((object & !MARKS) as Value, SampleId::from_word(sample));
        }
    }

    /// Takes note of whether an object takes more than its slot, if it is still alive.
    pub(crate) fn set_grown(&mut self, sample: u64, is_grown: bool) {
        let all = &mut self.pairs.words_mut().as_chunks_mut::<2>().0[..self.count];
        if let Ok(at) = all.binary_search_by_key(&sample, |pair| pair[1]) {
            all[at][0] = all[at][0] & !GROWN | if is_grown { GROWN } else { 0 };
        }
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
        for sample in (0..1_000).step_by(3) {
            samples.set_grown(sample, sample % 2 == 1);
        }
        samples.set_grown(1, true);
        let mut room = [Living::default(); 3];
        assert_eq!(samples.from(991, &mut room), 3);
        let of = |sample: u64| {
            let object = (8_000 + 8 * sample) as Value;
            Living { object, sample, is_grown: sample % 2 == 1 }
        };
        assert_eq!(room, [993, 996, 999].map(of));
        assert_eq!((samples.from(997, &mut room), samples.from(1_000, &mut room)), (1, 0));
        let mut all = Vec::new();
        samples.each(|object, sample| all.push((object as u64, sample.0)));
        assert!(all.into_iter().eq((0..1_000).step_by(3).map(|it| (8_000 + 8 * it, it))));
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
