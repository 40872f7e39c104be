//! Times as gaps, in as few bits as serve most of them.

use crate::section::Section;

/// Widths of a gap, in bits.
const WIDTHS: [u32; 3] = [8, 16, 32];

/// Bytes of what does not fit: the number of the gap, and what it has besides.
const EXCEPTION: usize = 8;

/// Gaps between times, and what some of them have that the others' width has no room for.
#[derive(Debug)]
pub struct Gaps {
    /// All of them.
    pub low: Section,
    /// Pairs.
    pub high: Vec<u32>,
}

impl Gaps {
    /// Between times that may go back, the first of them from 0.
    pub fn between(times: &[i64]) -> Self {
        let mut before = 0;
        let gaps =
            times.iter().map(|&time| time.wrapping_sub(std::mem::replace(&mut before, time)));
        let gaps: Vec<_> = gaps.collect();
        let width = narrowest(&gaps);
        let low: Vec<_> = gaps.iter().map(|gap| (gap & mask(width)) as u32).collect();
        let high = gaps.iter().enumerate().filter(|(_, gap)| !fits(**gap, width));
        let high = high.flat_map(|(number, gap)| [number as u32, (gap >> width) as i32 as u32]);
        let high = high.collect();
        let low = match width {
            8 => Section::U8(low.iter().map(|&it| it as u8).collect()),
            16 => Section::U16(low.iter().map(|&it| it as u16).collect()),
            _ => Section::U32(low),
        };
        Self { low, high }
    }
}

/// The width that takes the fewest bytes.
fn narrowest(gaps: &[i64]) -> u32 {
    let is_possible = |width: &u32| gaps.iter().all(|gap| i32::try_from(gap >> width).is_ok());
    let bytes = |width: u32| {
        let exceptions = gaps.iter().filter(|gap| !fits(**gap, width)).count();
        gaps.len() * (width as usize / 8) + exceptions * EXCEPTION
    };
    let possible = WIDTHS.into_iter().filter(is_possible);
    possible.min_by_key(|&width| bytes(width)).unwrap_or(32)
}

fn mask(width: u32) -> i64 {
    (1 << width) - 1
}

fn fits(gap: i64, width: u32) -> bool {
    (0..=mask(width)).contains(&gap)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn times(gaps: &Gaps) -> Vec<i64> {
        let (width, low): (u32, Vec<i64>) = match &gaps.low {
            Section::U8(it) => (8, it.iter().map(|&it| it.into()).collect()),
            Section::U16(it) => (16, it.iter().map(|&it| it.into()).collect()),
            Section::U32(it) => (32, it.iter().map(|&it| it.into()).collect()),
            Section::F64(_) => panic!("no integers"),
        };
        let mut low = low;
        for pair in gaps.high.chunks(2) {
            low[pair[0] as usize] += i64::from(pair[1] as i32) << width;
        }
        let sum = low.into_iter().scan(0, |time, gap| {
            *time += gap;
            Some(*time)
        });
        sum.collect()
    }

    #[test]
    fn most_gaps_decide_the_width() {
        let width = |times: &[i64]| Gaps::between(times).low;
        assert!(matches!(width(&[]), Section::U8(_)));
        let steady: Vec<_> = (0..100).map(|it| it * 200).collect();
        assert!(matches!(width(&steady), Section::U8(_)));
        let long: Vec<_> = (0..100).map(|it| it << 20).collect();
        assert!(matches!(width(&long), Section::U32(_)));
        let once: Vec<_> = steady.iter().map(|it| it + (1 << 36)).collect();
        assert_eq!(Gaps::between(&once).high, [0, 1 << 28]);
    }

    proptest! {
        #[test]
        fn times_come_back(
            steps in prop::collection::vec((0u32..50, -9i64..1 << 13), 0..60),
        ) {
            let mut time = 0;
            let all: Vec<_> = steps.iter().map(|&(shift, step)| {
                time += step << (shift % 47);
                time
            }).collect();
            prop_assert_eq!(times(&Gaps::between(&all)), all);
        }
    }
}
