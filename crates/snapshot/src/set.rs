//! Sets of small numbers, a bit each.

/// A set in the making.
#[derive(Clone, Debug)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// Empty, of numbers below that one.
    pub(crate) fn of(length: usize) -> Bits {
        Bits(vec![0; length.div_ceil(64)])
    }

    pub(crate) fn has(&self, number: u32) -> bool {
        self.0[number as usize / 64] >> (number % 64) & 1 == 1
    }

    pub(crate) fn add(&mut self, number: u32) {
        self.0[number as usize / 64] |= 1 << (number % 64);
    }
}

/// A set whose numbers have ranks.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    bits: Bits,
    /// Of the first number of each word.
    ranks: Vec<u32>,
    length: usize,
}

impl Set {
    /// Of these.
    pub(crate) fn of(bits: Bits) -> Set {
        let mut length = 0;
        let rank = |word: &u64| {
            let rank = length;
            length += word.count_ones();
            rank
        };
        let ranks = bits.0.iter().map(rank).collect();
        Set { bits, ranks, length: length as usize }
    }

    /// How many are in it.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// How many smaller ones are in it; none of a number that is not.
    pub(crate) fn rank(&self, number: u32) -> Option<usize> {
        let word = self.bits.0[number as usize / 64];
        let bit = 1 << (number % 64);
        let rank = self.ranks[number as usize / 64] + (word & (bit - 1)).count_ones();
        (word & bit != 0).then_some(rank as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_ranks() {
        let numbers = [0, 1, 63, 64, 200];
        let mut bits = Bits::of(201);
        numbers.iter().for_each(|&number| bits.add(number));
        let set = Set::of(bits);
        assert_eq!(set.len(), 5);
        for number in 0..201 {
            assert_eq!(set.rank(number), numbers.iter().position(|&it| it == number));
        }
    }
}
