//! What is remembered of a sampled block.
//!
//! Most have one [`Extent`]; a `realloc` whose growth was hit adds another.

use allocator_api2::vec::Vec;

use crate::arena::Arena;

/// Words of a block that were allocated together, at least one of which was hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Its name in messages.
    pub sample: u64,
    /// Index of its first word in the block.
    pub first: u64,
    /// Its length in words.
    pub words: u64,
    /// How many of them were hit.
    pub hits: u64,
    /// At which rate: the probability of a word.
    pub rate: f64,
}

/// A sampled block that lives.
#[derive(Debug)]
pub struct Block {
    /// In bytes, as the program asked for it last.
    pub size: usize,
    /// What the next allocator says of the block, and says again when it is freed, unless it has gone to
    /// somebody else meanwhile: its usable size, or the size of its layout.
    pub mark: usize,
    extents: Extents,
}

#[derive(Debug)]
enum Extents {
    None,
    One(Extent),
    Several(Vec<Extent, Arena>),
}

impl Block {
    /// Without extents.
    pub fn new(size: usize, mark: usize) -> Block {
        Block { size, mark, extents: Extents::None }
    }

    /// Whether it has no extents: then it is no sample (any more).
    pub fn is_empty(&self) -> bool {
        match &self.extents {
            Extents::None => true,
            Extents::One(_) => false,
            Extents::Several(extents) => extents.is_empty(),
        }
    }

    /// Adds an extent; whether there was memory for it.
    pub fn attach(&mut self, extent: Extent) -> bool {
        match &mut self.extents {
            Extents::None => self.extents = Extents::One(extent),
            Extents::One(first) => {
                let mut extents = Vec::new_in(Arena);
                if extents.try_reserve(4).is_err() {
                    return false;
                }
                extents.extend([*first, extent]);
                self.extents = Extents::Several(extents);
            }
            Extents::Several(extents) => {
                if extents.try_reserve(1).is_err() {
                    return false;
                }
                extents.push(extent);
            }
        }
        true
    }

    /// Gives each extent to `stays`, and drops those of which it says no.
    pub fn retain(&mut self, mut stays: impl FnMut(&Extent) -> bool) {
        match &mut self.extents {
            Extents::None => {}
            Extents::One(extent) => {
                if !stays(extent) {
                    self.extents = Extents::None;
                }
            }
            Extents::Several(extents) => extents.retain(|extent| stays(extent)),
        }
    }

    /// Gives each extent to `see`.
    pub fn each(&self, see: impl FnMut(&Extent)) {
        match &self.extents {
            Extents::None => {}
            Extents::One(extent) => core::slice::from_ref(extent).iter().for_each(see),
            Extents::Several(extents) => extents.iter().for_each(see),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(block: &Block) -> std::vec::Vec<u64> {
        let mut samples = std::vec::Vec::new();
        block.each(|extent| samples.push(extent.sample));
        samples
    }

    #[test]
    fn extents_come_and_go() {
        assert!(crate::arena::prepare());
        let mut block = Block::new(100, 104);
        assert!(block.is_empty());
        for sample in 0..9 {
            assert!(block.attach(Extent { sample, first: sample, words: 1, hits: 1, rate: 0.5 }));
        }
        block.retain(|extent| extent.sample % 3 == 1);
        assert_eq!(samples(&block), [1, 4, 7]);
        block.retain(|_| false);
        assert!(block.is_empty() && samples(&block).is_empty());
    }

    #[test]
    fn the_only_extent_may_go() {
        let mut block = Block::new(8, 24);
        assert!(block.attach(Extent { sample: 5, first: 0, words: 1, hits: 1, rate: 0.5 }));
        block.retain(|extent| extent.sample == 5);
        assert_eq!(samples(&block), [5]);
        block.retain(|_| false);
        assert!(block.is_empty());
    }
}
