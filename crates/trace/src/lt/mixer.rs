//! Several opinions on one decision made into one, weighted by how well each has done.
//!
//! Opinions are added as logits, ln(p / (1 - p)), in 1/256ths from -2047 to 2047: certain ones count
//! more than undecided ones. After each decision the weights move along the gradient of its cost.
//! (Logistic mixing is M. Mahoney's, from the PAQ compressors.)

use super::coder::Coder;

/// Largest logit.
const MAX: i32 = 2047;

/// The logistic function at every half from -8 to 8, in 1/65536ths.
const KNOTS: [i32; 33] = [
    22, 36, 60, 98, 162, 267, 439, 720, 1_179, 1_921, 3_108, 4_971, 7_812, 11_955, 17_625, 24_743,
    32_768, 40_793, 47_911, 53_581, 57_724, 60_565, 62_428, 63_615, 64_357, 64_816, 65_097, 65_269,
    65_374, 65_438, 65_476, 65_500, 65_514,
];

/// Straight lines between the [`KNOTS`].
const fn line(logit: i32) -> i32 {
    let at = logit + 2048;
    let (knot, part) = ((at >> 7) as usize, at & 127);
    KNOTS[knot] + (((KNOTS[knot + 1] - KNOTS[knot]) * part) >> 7)
}

static PROBABILITIES: [u16; 4096] = {
    let mut table = [0; 4096];
    let mut at = 0;
    while at < 4096 {
        table[at] = line(at as i32 - 2048) as u16;
        at += 1;
    }
    table
};

/// For each 4096th, the smallest logit of a probability that is not below its middle.
static LOGITS: [i16; 4096] = {
    let mut table = [0; 4096];
    let mut logit = -MAX;
    let mut at = 0;
    while at < 4096 {
        while logit < MAX && line(logit) < at * 16 + 8 {
            logit += 1;
        }
        table[at as usize] = logit as i16;
        at += 1;
    }
    table
};

/// The logit of a probability in 1/65536ths.
#[inline]
pub(super) fn logit(probability: u16) -> i32 {
    i32::from(LOGITS[usize::from(probability >> 4)])
}

/// The probability of a logit within [`MAX`], in 1/65536ths.
#[inline]
fn probability(logit: i32) -> u16 {
    PROBABILITIES[(logit + 2048) as usize & 4095]
}

/// Sums of weighted logits, in 1/65536ths, beyond which there is nothing more certain.
const SURELY: i64 = (MAX as i64) << 16;
const SURE_YES: u16 = PROBABILITIES[(2048 + MAX) as usize];
const SURE_NO: u16 = PROBABILITIES[(2048 - MAX) as usize];

/// Learning rate: a weight moves by error * logit / 2^RATE.
const RATE: u32 = 13;

/// Largest weight, in 1/65536ths.
const MAX_WEIGHT: i32 = 1 << 19;

/// Mixes `N` opinions, with weights chosen by the circumstances.
#[derive(Clone, Debug)]
pub(super) struct Mixer<const N: usize> {
    weights: Box<[[i32; N]]>,
}

impl<const N: usize> Mixer<N> {
    /// For so many circumstances. Weights begin at `weight`, in 1/65536ths.
    pub(super) fn new(circumstances: usize, weight: i32) -> Self {
        Self { weights: vec![[weight; N]; circumstances].into_boxed_slice() }
    }

    /// The probability of *yes*, in 1/65536ths.
    #[inline]
    pub(super) fn mix(&self, circumstance: usize, logits: &[i32; N]) -> u16 {
        mix(&self.weights[circumstance], logits)
    }

    /// Learns from the answer to what was [mixed](Self::mix).
    #[inline]
    pub(super) fn learn(&mut self, circumstance: usize, logits: &[i32; N], mixed: u16, bit: bool) {
        learn(&mut self.weights[circumstance], logits, mixed, bit);
    }

    /// Codes a decision: mixes, and learns from the answer.
    ///
    /// Most mixtures are as certain as can be. What is learnt from those does not depend on the weights, so
    /// the processor need not wait for one decision's weights to begin with the next decision.
    #[inline]
    pub(super) fn code<C: Coder>(
        &mut self,
        circumstance: usize,
        logits: &[i32; N],
        coder: &mut C,
        bit: bool,
    ) -> bool {
        let weights = &mut self.weights[circumstance];
        let sum = sum(weights, logits);
        if sum >= SURELY {
            code_as(weights, logits, SURE_YES, coder, bit)
        } else if sum < -SURELY {
            code_as(weights, logits, SURE_NO, coder, bit)
        } else {
            code_as(weights, logits, probability((sum >> 16) as i32), coder, bit)
        }
    }
}

#[inline]
fn sum<const N: usize>(weights: &[i32; N], logits: &[i32; N]) -> i64 {
    let pairs = logits.iter().zip(weights);
    pairs.map(|(&logit, &weight)| i64::from(logit) * i64::from(weight)).sum()
}

#[inline]
fn mix<const N: usize>(weights: &[i32; N], logits: &[i32; N]) -> u16 {
    let logit = (sum(weights, logits) >> 16).clamp(i64::from(-MAX), i64::from(MAX));
    probability(logit as i32)
}

#[inline(always)]
fn code_as<const N: usize, C: Coder>(
    weights: &mut [i32; N],
    logits: &[i32; N],
    mixed: u16,
    coder: &mut C,
    bit: bool,
) -> bool {
    let bit = coder.bit(mixed, bit);
    learn(weights, logits, mixed, bit);
    bit
}

#[inline]
fn learn<const N: usize>(weights: &mut [i32; N], logits: &[i32; N], mixed: u16, bit: bool) {
    let error = (i32::from(bit) << 16) - i32::from(mixed);
    for (weight, &logit) in weights.iter_mut().zip(logits) {
        let step = (logit * error + (1 << (RATE - 1))) >> RATE;
        *weight = (*weight + step).clamp(-MAX_WEIGHT, MAX_WEIGHT);
    }
}

#[cfg(test)]
mod tests {
    use super::super::coder::Encoder;
    use super::*;

    #[test]
    fn knots_are_the_logistic_function() {
        for (at, &knot) in KNOTS.iter().enumerate() {
            let exact = 65_536.0 / (1.0 + (-(at as f64 - 16.0) / 2.0).exp());
            assert_eq!(knot, exact.round() as i32);
        }
    }

    #[test]
    fn logits_and_probabilities_are_inverse() {
        for at in (64..65_472u16).step_by(16) {
            let back = i32::from(probability(logit(at)));
            assert!(
                (back - i32::from(at)).abs() <= 24 + i32::from(at.min(u16::MAX - at)) / 32,
                "{at} {back}"
            );
        }
        assert_eq!((logit(0), logit(u16::MAX)), (-2047, 2047));
    }

    #[test]
    fn the_better_opinion_wins() {
        let mut mixer = Mixer::<2>::new(1, 1 << 14);
        for round in 0..2000 {
            let bit = round % 3 == 0;
            let logits = [if bit { 700 } else { -700 }, if round % 2 == 0 { 900 } else { -900 }];
            let mixed = mixer.mix(0, &logits);
            mixer.learn(0, &logits, mixed, bit);
        }
        assert!(mixer.mix(0, &[700, -900]) > 60_000);
        assert!(mixer.mix(0, &[-700, 900]) < 5_000);
    }

    #[test]
    fn certain_or_not_a_decision_is_coded_as_it_is_mixed() {
        let (mut one, mut other) = (Mixer::<3>::new(4, 26_214), Mixer::<3>::new(4, 26_214));
        let (mut short, mut long) = (Encoder::new(), Encoder::new());
        let (mut state, mut sure) = (1u32, 0);
        for _ in 0..100_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let logits = [0, 3, 6].map(|shift| (state >> shift) as i32 % 300 * 7 - 20);
            let circumstance = (state >> 24) as usize % 4;
            let bit = (logits.iter().sum::<i32>() > 0) == (state >> 16 & 63 != 0);
            one.code(circumstance, &logits, &mut short, bit);
            let mixed = other.mix(circumstance, &logits);
            long.bit(mixed, bit);
            other.learn(circumstance, &logits, mixed, bit);
            sure += u32::from(mixed == SURE_YES || mixed == SURE_NO);
        }
        assert!((10_000..90_000).contains(&sure), "{sure}");
        assert_eq!(one.weights, other.weights);
        assert_eq!(short.finish(), long.finish());
    }

    #[test]
    fn nothing_overflows() {
        let mut mixer = Mixer::<3>::new(1, MAX_WEIGHT);
        for bit in [true, false, true] {
            for _ in 0..5000 {
                let mixed = mixer.mix(0, &[MAX, -MAX, MAX]);
                mixer.learn(0, &[MAX, -MAX, MAX], mixed, bit);
            }
        }
    }
}
