//! Events that were lost, by reason.

use lifetrace_trace::fact::{Fact, Lost};
use lifetrace_transport::segment::{LostReason, SegmentHeader};

/// How many events have been lost since the start, for each of the reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses([u64; LostReason::ALL.len()]);

impl Losses {
    /// As a session's agent has counted.
    pub(crate) fn read(header: &SegmentHeader) -> Losses {
        Losses(LostReason::ALL.map(|reason| header.lost(reason)))
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The reasons that there were.
    pub(crate) fn by_reason(&self) -> Vec<(LostReason, u64)> {
        let counts = LostReason::ALL.into_iter().zip(self.0);
        counts.filter(|&(_, count)| count > 0).collect()
    }

    /// Whether blocks may be dead whose deaths were not heard.
    pub(crate) fn hide_deaths(&self) -> bool {
        let count = |reason: LostReason| self.0[reason as usize];
        [
            LostReason::RingFull,
            LostReason::RingBusy,
            LostReason::Reentrant,
            LostReason::DeathUnobserved,
        ]
        .into_iter()
        .any(|reason| count(reason) > 0)
    }

    /// What has been lost since `before`.
    pub(crate) fn facts_since(&self, before: &Losses) -> impl Iterator<Item = Fact> {
        let now = LostReason::ALL.into_iter().zip(self.0);
        let grown = now.zip(before.0).filter(|((_, now), before)| now > before);
        grown.map(|((reason, now), before)| {
            Fact::Lost(Lost { reason: reason.code().into(), count: now - before })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_grown_is_told() {
        let before = Losses([0, 3, 0, 5, 0, 0, 0, 0]);
        let now = Losses([2, 3, 0, 9, 0, 0, 0, 0]);
        let lost =
            |reason: LostReason, count| Fact::Lost(Lost { reason: reason.code().into(), count });
        let expected = [lost(LostReason::RingFull, 2), lost(LostReason::NoBlockRecord, 4)];
        assert_eq!(now.facts_since(&before).collect::<Vec<_>>(), expected);
        assert_eq!(now.facts_since(&now).count(), 0);
        assert_eq!((now.total(), now.by_reason().len()), (14, 3));
    }
}
