//! The memory of a process at its end, from those who can know: the agent, which asks last of all it does, and whoever
//! has started the process.

use lifetrace_trace::fact::Counters;
use lifetrace_trace::ids::Bytes;
use lifetrace_transport::last_words::LastWords;

use crate::usage::Usage;

/// What they say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndMemory {
    /// By the agent: what was resident at the end, and the most that it was.
    left: Option<(Bytes, Bytes)>,
    /// The most before the program began, of it or of another.
    before: Option<Bytes>,
    usage: Option<Usage>,
}

impl EndMemory {
    pub(crate) fn new(words: &LastWords, usage: Option<Usage>) -> EndMemory {
        EndMemory {
            left: words.resident().map(|(now, most)| (Bytes(now), Bytes(most))),
            before: words.most_before().map(Bytes),
            usage,
        }
    }

    /// By somebody else, if whoever was asked before came too late to be told of the memory, too.
    pub(crate) fn or_usage(self, usage: impl FnOnce() -> Option<Usage>) -> EndMemory {
        match self.usage {
            Some(Usage { most_resident: Some(_), .. }) => self,
            late => EndMemory { usage: usage().or(late), ..self },
        }
    }

    /// The most resident memory that the program has had, if that is known.
    pub(crate) fn most_resident(&self) -> Option<Bytes> {
        // What is not more than there was before may be another program's.
        let by_usage = self.usage.and_then(|usage| usage.most_resident);
        let by_usage = by_usage.filter(|most| self.before.is_some_and(|before| *most > before));
        self.left.map(|(_, most)| most).max(by_usage)
    }

    /// For the trace; nothing if nothing is known.
    pub(crate) fn counters(&self) -> Option<Counters> {
        let counters = Counters {
            resident: self.left.map(|(now, _)| now),
            most_resident: self.most_resident(),
            minor_faults: self.usage.and_then(|usage| usage.minor_faults),
            major_faults: self.usage.and_then(|usage| usage.major_faults),
            ..Counters::default()
        };
        Some(counters).filter(|counters| *counters != Counters::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(most: u64) -> Option<Usage> {
        Some(Usage { most_resident: Some(Bytes(most)), ..Usage::default() })
    }

    #[test]
    fn what_may_be_another_programs_is_not_known() {
        let words = LastWords::default();
        assert_eq!(EndMemory::new(&words, usage(70)).most_resident(), None);
        words.keep_most_before(70);
        assert_eq!(EndMemory::new(&words, usage(70)).most_resident(), None);
        assert_eq!(EndMemory::new(&words, None).counters(), None);
        let killed = EndMemory::new(&words, None).or_usage(|| usage(80));
        assert_eq!(killed.most_resident(), Some(Bytes(80)));
        let late = Some(Usage { minor_faults: Some(3), ..Usage::default() });
        let killed = EndMemory::new(&words, late).or_usage(|| usage(80));
        assert_eq!(killed.most_resident(), Some(Bytes(80)));
        assert!(EndMemory::new(&words, late).or_usage(|| None).counters().is_some());
        words.keep_resident(30, 50);
        let exited = EndMemory::new(&words, usage(70));
        let counters = exited.counters().unwrap();
        assert_eq!((counters.resident, counters.most_resident), (Some(Bytes(30)), Some(Bytes(50))));
    }
}
