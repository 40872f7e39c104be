//! What contexts think of decisions: each has a probability of its own, and those of a few contexts are
//! mixed for a decision.

use super::coder::Coder;
use super::mixer::{Mixer, logit};
use super::probability::Probability;

const BITS: u32 = 16;

/// A probability for each context, or for a few that share it.
pub(super) struct Opinions(Box<[Probability; 1 << BITS]>);

impl Opinions {
    pub(super) fn new() -> Self {
        Self(Probability::table())
    }

    /// The opinion of one context.
    #[inline]
    pub(super) fn of(&mut self, context: u32) -> &mut Probability {
        &mut self.0[index(context)]
    }

    /// The opinion of one context, in 1/65536ths.
    #[inline]
    pub(super) fn value(&self, context: u32) -> u16 {
        self.0[index(context)].value()
    }

    /// Codes a decision as `contexts` see it, whose opinions `mixer` weighs. All of them learn.
    #[inline]
    pub(super) fn code<C: Coder, const N: usize>(
        &mut self,
        mixer: &mut Mixer<N>,
        circumstance: usize,
        coder: &mut C,
        contexts: [u32; N],
        bit: bool,
    ) -> bool {
        let indices = contexts.map(index);
        let logits = indices.map(|at| logit(self.0[at].value()));
        let bit = mixer.code(circumstance, &logits, coder, bit);
        indices.iter().for_each(|&at| self.0[at].learn(bit));
        bit
    }
}

#[inline]
fn index(context: u32) -> usize {
    (context >> (32 - BITS)) as usize
}
