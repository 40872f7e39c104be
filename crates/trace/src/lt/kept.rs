//! How much of the last backtrace stays.
//!
//! From the innermost frame outwards, it is asked of each whether it stays. When many have gone, those that
//! are left are too many to ask: mostly then the stack is cut where it was cut not long ago, below a
//! recursion that has returned; else a number tells how many more go.

use super::candidates::hash;
use super::coder::Coder;
use super::contexts::{END, Symbol};
use super::mixer::Mixer;
use super::number::Number;
use super::opinions::Opinions;
use super::probability::Probability;
use crate::framing::fault::Fault;

/// Seeds of the hashes.
const PLACE: u32 = 0x71;
const SIZED: u32 = 0x72;

/// So many are asked one by one.
const PATIENCE: usize = 16;

/// Cuts that are remembered.
const CUTS: usize = 4;

/// What is known of what stays.
pub(super) struct Kept {
    stays: Mixer<2>,
    cuts: Option<Cuts>,
}

/// Where deep stacks were cut.
struct Cuts {
    /// Frames that were kept, the newest first; beyond any stack where there are fewer.
    depths: [usize; CUTS],
    is_this: [Probability; CUTS],
    more: Number,
}

impl Kept {
    /// Without cuts, all are asked one by one.
    pub(super) fn new(has_cuts: bool) -> Self {
        Self { stays: Mixer::new(3, 1 << 15), cuts: has_cuts.then(Cuts::new) }
    }

    /// Codes how many frames of `stack` are kept. `size` is that of the new block.
    ///
    /// # Errors
    /// Only when decoding: if more go than there are.
    #[inline]
    pub(super) fn code<C: Coder>(
        &mut self,
        opinions: &mut Opinions,
        coder: &mut C,
        stack: &[Symbol],
        size: u32,
        kept: usize,
    ) -> Result<usize, Fault> {
        for (asked, contexts) in contexts(stack, size).enumerate() {
            let depth = stack.len() - asked;
            if asked == PATIENCE
                && let Some(cuts) = &mut self.cuts
            {
                return cuts.code(coder, depth, kept);
            }
            if opinions.code(&mut self.stays, asked.min(2), coder, contexts, depth == kept) {
                return Ok(depth);
            }
        }
        Ok(0)
    }

    /// Has the processor fetch the opinions that will be asked.
    pub(super) fn fetch(opinions: &Opinions, stack: &[Symbol], size: u32, kept: usize) {
        let asked = stack.len().saturating_sub(kept) + 1;
        let asked = asked.min(PATIENCE);
        let fetched = contexts(stack, size).take(asked).flatten();
        std::hint::black_box(fetched.fold(0, |all, context| all ^ opinions.value(context)));
    }
}

/// Of each frame, from the innermost outwards: by itself and the one inside of it, and by the block as well.
#[inline]
fn contexts(stack: &[Symbol], size: u32) -> impl Iterator<Item = [u32; 2]> {
    let innermost = stack.last().copied().unwrap_or(END);
    let insides = std::iter::once(END).chain(stack.iter().rev().copied());
    stack.iter().rev().zip(insides).map(move |(&frame, inside)| {
        let place = hash(hash(PLACE, frame), inside);
        [place, hash(hash(place ^ SIZED, innermost), size)]
    })
}

impl Cuts {
    fn new() -> Self {
        let mut depths = [usize::MAX; CUTS];
        depths[0] = 0;
        Self { depths, is_this: [Probability::EVEN; CUTS], more: Number::new(4) }
    }

    /// Codes how many of `depth` frames are kept.
    fn code<C: Coder>(&mut self, coder: &mut C, depth: usize, kept: usize) -> Result<usize, Fault> {
        for (rank, is_this) in self.is_this.iter_mut().enumerate() {
            let known = self.depths[rank];
            if known <= depth && is_this.code(coder, known == kept) {
                self.depths[..=rank].rotate_right(1);
                return Ok(known);
            }
        }
        let gone = self.more.code(coder, depth.saturating_sub(kept) as u64);
        let gone = usize::try_from(gone).ok();
        let kept = gone.and_then(|gone| depth.checked_sub(gone));
        let kept = kept.ok_or(Fault::Unexpected("a deeper backtrace before this one"))?;
        self.depths.rotate_right(1);
        self.depths[0] = kept;
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::super::coder::{Encoder, Paused};
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let stack: Vec<Symbol> = (1..100).map(|at| at % 7 + 1).collect();
        let kept = [99, 98, 84, 83, 82, 0, 40, 40, 3, 40, 0, 71, 99, 1, 2, 3, 4, 5, 6, 5, 90];
        for has_cuts in [false, true] {
            let (mut encoder, mut opinions) = (Encoder::new(), Opinions::new());
            let mut model = Kept::new(has_cuts);
            for (size, &kept) in kept.iter().enumerate() {
                let size = size as u32 % 3;
                let coded = model.code(&mut opinions, &mut encoder, &stack, size, kept);
                assert_eq!(coded.unwrap(), kept);
            }
            let stream = encoder.finish();
            let (mut decoder, mut opinions) =
                (Paused::start(&stream).resume(&stream), Opinions::new());
            let mut model = Kept::new(has_cuts);
            for (size, &kept) in kept.iter().enumerate() {
                let size = size as u32 % 3;
                let decoded = model.code(&mut opinions, &mut decoder, &stack, size, 0);
                assert_eq!(decoded.unwrap(), kept);
            }
        }
    }

    #[test]
    fn more_cannot_go_than_there_are() {
        let mut encoder = Encoder::new();
        let mut cuts = Cuts::new();
        cuts.is_this[0].code(&mut encoder, false);
        cuts.more.code(&mut encoder, 1000);
        let stream = encoder.finish();
        assert!(Cuts::new().code(&mut Paused::start(&stream).resume(&stream), 999, 0).is_err());
        assert_eq!(
            Cuts::new().code(&mut Paused::start(&stream).resume(&stream), 1001, 0).unwrap(),
            1
        );
    }
}
