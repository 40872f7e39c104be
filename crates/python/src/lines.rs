//! In which line of its source an instruction is: the tables of code objects.
//!
//! Sources: CPython's `Objects/lnotab_notes.txt` (3.9 and 3.10) and `InternalDocs/code_objects.md` (3.11 and later).

/// How a code's lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// `co_lnotab`. 3.9.
    Increments,
    /// `co_linetable` as PEP 626 has it. 3.10.
    Ranges,
    /// `co_linetable` as PEP 657 has it. 3.11 and later.
    Locations,
}

/// The line of the instruction that begins `at` so many bytes, by the table of a code whose first line is `first`; `None` if
/// it is of none. Any bytes are survived.
pub fn line(how: Lines, table: &[u8], first: u32, at: u32) -> Option<u32> {
    let line = match how {
        Lines::Increments => increments(table, first.into(), at.into()),
        Lines::Ranges => ranges(table, first.into(), at.into()),
        Lines::Locations => locations(table, first.into(), at.into()),
    };
    u32::try_from(line?).ok()
}

/// Pairs: so many bytes of instructions further, so many lines further.
fn increments(table: &[u8], first: i64, at: i64) -> Option<i64> {
    let (mut address, mut line) = (0, first);
    for &[bytes, lines] in table.as_chunks().0 {
        address += i64::from(bytes);
        if address > at {
            break;
        }
        line += i64::from(lines as i8);
    }
    Some(line)
}

/// Pairs: the next so many bytes are so many lines further; -128 is no line.
fn ranges(table: &[u8], first: i64, at: i64) -> Option<i64> {
    const NONE: i8 = -128;
    let (mut end, mut line) = (0, first);
    for &[bytes, lines] in table.as_chunks().0 {
        end += i64::from(bytes);
        if lines as i8 != NONE {
            line += i64::from(lines as i8);
        }
        if at < end {
            return (lines as i8 != NONE).then_some(line);
        }
    }
    None
}

/// Entries of which each is of some units of two bytes, and begins with a byte that has the highest bit.
fn locations(table: &[u8], first: i64, at: i64) -> Option<i64> {
    const BEGINS: u8 = 0x80;
    let (mut end, mut line, mut rest) = (0, first, table);
    while let [head, after @ ..] = rest {
        let length = after.iter().position(|byte| byte & BEGINS != 0).unwrap_or(after.len());
        let (entry, next) = after.split_at(length);
        rest = next;
        let kind = head >> 3 & 15;
        line += match kind {
            10..=12 => i64::from(kind) - 10,
            13 | 14 => signed(entry),
            _ => 0,
        };
        end += 2 * (i64::from(head & 7) + 1);
        if at < end {
            return (kind != 15).then_some(line);
        }
    }
    None
}

/// A number in groups of six bits, the lowest first; the lowest bit of all is its sign.
fn signed(bytes: &[u8]) -> i64 {
    const MORE: u8 = 0x40;
    const MOST: usize = 6;
    let length = bytes.iter().position(|byte| byte & MORE == 0).map_or(bytes.len(), |at| at + 1);
    let groups = bytes[..length.min(MOST)].iter().rev();
    let value = groups.fold(0, |value: i64, byte| value << 6 | i64::from(byte & 0x3f));
    if value & 1 == 0 { value >> 1 } else { -(value >> 1) }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn all(how: Lines, table: &[u8], first: u32, to: u32) -> Vec<Option<u32>> {
        (0..to).step_by(2).map(|at| line(how, table, first, at)).collect()
    }

    fn check(how: Lines, table: &[u8], expected: &[u32]) {
        let to = 2 * expected.len() as u32;
        let lines: Vec<u32> =
            all(how, table, 1, to).into_iter().map(Option::unwrap_or_default).collect();
        assert_eq!(lines, expected);
    }

    /// Tables that the compilers of 3.9, 3.10 and 3.12 have made of the function
    /// ```python
    /// def f(x):
    ///     y = [
    ///         x,
    ///         g(x),
    ///     ]
    ///
    ///     for i in y:
    ///         try:
    ///             h(i,
    ///               x)
    ///         except E:
    ///             pass
    ///     return (y
    ///             and x)
    /// ```
    /// and the lines that they say each instruction is in (`dis.findlinestarts`, `co_lines`); 0 is none.
    #[test]
    fn lines_are_those_that_cpython_tells() {
        let table =
            [0, 2, 2, 1, 6, 254, 4, 5, 8, 1, 2, 1, 4, 1, 2, 255, 8, 2, 12, 1, 8, 1, 4, 1, 2, 255];
        let lines = [
            3, 4, 4, 4, 2, 2, 7, 7, 7, 7, 8, 9, 9, 10, 9, 9, 9, 9, 11, 11, 11, 11, 11, 11, 12, 12,
            12, 12, 13, 13, 14, 13,
        ];
        check(Lines::Increments, &table, &lines);
        let table = [
            2, 2, 6, 1, 4, 254, 8, 5, 2, 1, 4, 1, 2, 1, 8, 255, 12, 2, 4, 1, 2, 255, 4, 2, 2, 1, 2,
            255,
        ];
        let lines = [
            3, 4, 4, 4, 2, 2, 7, 7, 7, 7, 8, 9, 9, 10, 9, 9, 9, 9, 11, 11, 11, 11, 11, 11, 12, 12,
            11, 13, 13, 14, 13,
        ];
        check(Lines::Ranges, &table, &lines);
        let table = [
            128, 0, 224, 8, 9, 220, 8, 9, 136, 33, 139, 4, 240, 5, 3, 9, 6, 128, 65, 240, 10, 0,
            14, 15, 242, 0, 5, 5, 17, 136, 1, 240, 2, 4, 9, 17, 220, 12, 13, 136, 97, 216, 14, 15,
            245, 3, 1, 13, 17, 240, 5, 5, 5, 17, 240, 12, 0, 13, 14, 242, 0, 1, 13, 18, 216, 16,
            17, 240, 3, 1, 5, 19, 248, 244, 5, 0, 16, 17, 242, 0, 1, 9, 17, 217, 12, 16, 240, 3, 1,
            9, 17, 250,
        ];
        let lines = [
            1, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2, 7, 7, 7, 7, 7, 8, 9, 9, 9, 9, 9, 9, 10, 9, 9,
            9, 9, 9, 9, 7, 13, 13, 13, 13, 14, 13, 0, 11, 11, 11, 11, 11, 11, 11, 11, 12, 12, 11,
            0, 0, 0,
        ];
        check(Lines::Locations, &table, &lines);
    }

    #[test]
    fn ranges_may_be_of_no_line() {
        let table = [2, 1, 4, 0x80, 2, 0xff];
        let expected = [Some(11), None, None, Some(10), None];
        assert_eq!(all(Lines::Ranges, &table, 10, 10), expected);
    }

    #[test]
    fn locations_are_of_all_kinds() {
        let table = [
            0x80 | 13 << 3,
            0b0000_0010, // a unit, one line on
            0x80 | 3 << 3 | 1,
            0x22, // two, in the same
            0x80 | 12 << 3,
            1,
            2, // one, two on
            0x80 | 14 << 3,
            0b0000_0011,
            0,
            1,
            1,                  // one, one back
            0x80 | 15 << 3 | 1, // two of no line
            0x80 | 13 << 3,
            0x40,
            0b00_0010, // one, 64 on
        ];
        let expected =
            [11, 11, 11, 13, 12].map(Some).into_iter().chain([None, None, Some(76), None]);
        assert!(all(Lines::Locations, &table, 10, 18).into_iter().eq(expected));
    }

    #[test]
    fn any_bytes_are_survived() {
        let mut bytes = [0u8; 40];
        for seed in 0..2_000u32 {
            let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
            for byte in &mut bytes {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                *byte = state as u8;
            }
            for how in [Lines::Increments, Lines::Ranges, Lines::Locations] {
                let table = &bytes[..seed as usize % 41];
                (0..200).for_each(|at| assert!(line(how, table, seed, at) != Some(u32::MAX)));
            }
        }
    }
}
