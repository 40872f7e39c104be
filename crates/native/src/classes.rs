//! Size classes: four to a doubling, so that at most a fifth of a block is padding.
//!
//! ```text
//! class  0   1   2   3 │ 4   5   6    7  │ 8    9    10   11 │ …
//! bytes 16  32  48  64 │ 80  96  112  128│ 160  192  224  256│ …
//! ```

/// The smallest block, and the alignment of all.
pub const QUANTUM: usize = 16;

/// Number of classes; the last holds 2^46 bytes, more than any address space here.
pub const COUNT: usize = index(1 << 46) + 1;

/// The smallest class that holds `bytes`, at least 1 and at most 2^46.
#[inline]
pub const fn index(bytes: usize) -> usize {
    if bytes <= 4 * QUANTUM {
        return bytes.saturating_sub(1) / QUANTUM;
    }
    let last = bytes - 1;
    let doubling = last.ilog2();
    let quarter = (last >> (doubling - 2)) & 3;
    4 * (doubling as usize - 5) + quarter
}

/// The bytes that blocks of this class have.
#[inline]
pub const fn bytes(class: usize) -> usize {
    if class < 4 {
        return (class + 1) * QUANTUM;
    }
    let doubling = class / 4 + 5;
    (1 << doubling) + ((class % 4 + 1) << (doubling - 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_gets_the_smallest_class_that_holds_it() {
        let mut smallest = 0;
        for size in 1..100_000 {
            while bytes(smallest) < size {
                smallest += 1;
            }
            assert_eq!(index(size), smallest, "size {size}");
        }
    }

    #[test]
    fn classes_are_aligned_and_waste_at_most_a_fifth() {
        for class in 0..COUNT {
            assert_eq!(bytes(class) % QUANTUM, 0);
            assert_eq!(index(bytes(class)), class);
            if class >= 4 {
                assert!(5 * (bytes(class) - bytes(class - 1) - 1) <= bytes(class), "class {class}");
            }
        }
        assert!(bytes(COUNT - 1) == 1 << 46 && COUNT <= 256);
    }
}
