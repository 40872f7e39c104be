//! How making a snapshot went, and how much is in it: the payload of its last packet, which is not compressed.

use std::sync::Arc;

use super::strings;
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};

/// More figures are left out.
const MAX_FIGURES: usize = 256;

/// How making a snapshot went. What is not known is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How long the program stood still, in nanoseconds.
    pub pause_ns: u64,
    /// Processor time that the walk took, in nanoseconds.
    pub cpu_ns: u64,
    /// Memory that the walk had for itself, in bytes.
    pub private_bytes: u64,
    /// What the program wrote to meanwhile, so that the system had to copy it, in bytes.
    pub copied_bytes: u64,
    /// Why not all of the heap is in the snapshot.
    pub gave_up: Option<Arc<str>>,
    /// What else is known exactly, by name: `heap bytes`, `free bytes`, `largest free bytes`, `garbage bytes`.
    pub figures: Vec<(Arc<str>, u64)>,
}

/// How many records a snapshot has of each sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Kinds of blocks.
    pub kinds: u64,
    /// Slots that are roots.
    pub roots: u64,
    /// Blocks.
    pub blocks: u64,
    /// Backtraces.
    pub sites: u64,
    /// Sampled blocks.
    pub samples: u64,
}

impl Totals {
    fn all(&self) -> [u64; 5] {
        [self.kinds, self.roots, self.blocks, self.sites, self.samples]
    }
}

pub(super) fn encode(outcome: &Outcome, totals: &Totals) -> Vec<u8> {
    let mut payload = Vec::new();
    totals.all().into_iter().for_each(|total| payload.put_varint(total));
    let Outcome { pause_ns, cpu_ns, private_bytes, copied_bytes, gave_up, figures } = outcome;
    for figure in [pause_ns, cpu_ns, private_bytes, copied_bytes] {
        payload.put_varint(*figure);
    }
    payload.put_varint(gave_up.is_some().into());
    strings::put(&mut payload, gave_up.as_deref().unwrap_or_default());
    payload.put_varint(figures.len().min(MAX_FIGURES) as u64);
    for (name, figure) in figures.iter().take(MAX_FIGURES) {
        strings::put(&mut payload, name);
        payload.put_varint(*figure);
    }
    payload
}

pub(super) fn decode(payload: &[u8]) -> Result<(Outcome, Totals), Fault> {
    let mut plain = Plain(payload);
    let mut number = || plain.varint();
    let (kinds, roots, blocks, sites, samples) =
        (number()?, number()?, number()?, number()?, number()?);
    let totals = Totals { kinds, roots, blocks, sites, samples };
    let (pause_ns, cpu_ns, private_bytes, copied_bytes) =
        (number()?, number()?, number()?, number()?);
    let has_given_up = plain.varint()? != 0;
    let gave_up = Some(plain.string()?.into()).filter(|_| has_given_up);
    let count = plain.varint()?.min(MAX_FIGURES as u64);
    let mut figure = |_| Ok((plain.string()?.into(), plain.varint()?));
    let figures = (0..count).map(&mut figure).collect::<Result<_, Fault>>()?;
    Ok((Outcome { pause_ns, cpu_ns, private_bytes, copied_bytes, gave_up, figures }, totals))
}
