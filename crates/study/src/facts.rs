//! What a trace tells beside the lives of blocks, added up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lifetrace_trace::fact::{
    Collector, Counters, Exit, Fact, Label, Looked, Lost, Module, Parent, Process, RuntimeCount,
    Sampler,
};
use lifetrace_trace::ids::{Bytes, SamplerId};
use lifetrace_trace::record::Birth;

/// Facts so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// What the process is, as it was told last.
    pub process: Option<Process>,
    /// The trace of the process that it was forked from.
    pub parent: Option<Parent>,
    /// How it ended.
    pub exit: Option<Exit>,
    /// The last value of each.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// As they were set last.
    pub samplers: BTreeMap<SamplerId, Sampler>,
    /// Events that are not in the trace, by reason.
    pub lost: BTreeMap<Arc<str>, u64>,
    /// The most that was seen.
    pub peak_resident: Option<Bytes>,
    /// How many markers there are.
    pub markers: u64,
    /// Object files, by number.
    pub modules: BTreeMap<u32, Module>,
    /// How many threads have got names.
    pub thread_names: u64,
    /// Begins and ends of collections.
    pub cycle_steps: u64,
    /// The last figures of a managed heap.
    pub collector: Option<Collector>,
    /// What a managed runtime has counted, by its own names.
    pub runtime_counts: BTreeMap<Arc<str>, Counted>,
    /// What the recorder wants the user to know, by code.
    pub notices: BTreeSet<Arc<str>>,
    /// The last look through the process's memory.
    pub looked: Option<Looked>,
    /// Births whose backtraces lack outermost frames.
    pub truncated_backtraces: u64,
}

/// A count of a managed runtime's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// When it was told first, which is before the first samples.
    pub first: u64,
    /// When it was told last.
    pub last: u64,
}

impl Facts {
    /// Adds a fact.
    pub fn take(&mut self, fact: Fact) {
        match fact {
            Fact::Process(process) => self.process = Some(process),
            Fact::Parent(parent) => self.parent = Some(parent),
            Fact::Exit(exit) => self.exit = Some(exit),
            Fact::Label(Label { key, value }) => drop(self.labels.insert(key, value)),
            Fact::Sampler(sampler) => drop(self.samplers.insert(sampler.id, sampler)),
            Fact::Lost(Lost { reason, count }) => {
                let sum = self.lost.entry(reason).or_default();
                *sum = sum.saturating_add(count);
            }
            Fact::Counters(Counters { resident, most_resident, .. }) => {
                self.peak_resident = self.peak_resident.max(resident).max(most_resident);
            }
            Fact::Marker(_) => self.markers += 1,
            Fact::Module(module) => drop(self.modules.insert(module.number, module)),
            Fact::ThreadName(_) => self.thread_names += 1,
            Fact::Cycle(_) => self.cycle_steps += 1,
            Fact::Collector(collector) => self.collector = Some(collector),
            Fact::RuntimeCount(RuntimeCount { name, value }) => {
                let new = Counted { first: value, last: value };
                self.runtime_counts.entry(name).or_insert(new).last = value;
            }
            Fact::Notice(code) => drop(self.notices.insert(code)),
            Fact::Looked(looked) => self.looked = Some(looked),
            Fact::Resize(_) | Fact::WallClock(_) | Fact::Held(_) => {}
        }
    }

    /// To be called after each birth.
    pub fn note_birth(&mut self, birth: &Birth) {
        self.truncated_backtraces += u64::from(birth.is_truncated);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_add_up() {
        let lost = |reason: &str, count| Fact::Lost(Lost { reason: reason.into(), count });
        let label = |value: &str| Fact::Label(Label { key: "build".into(), value: value.into() });
        let resident = |bytes| Fact::Counters(Counters { resident: bytes, ..Counters::default() });
        let mut facts = Facts::default();
        for fact in [
            lost("ring-full", u64::MAX),
            lost("ring-full", 2),
            lost("no-memory", 3),
            label("old"),
            label("new"),
            resident(Some(Bytes(7))),
            resident(None),
            resident(Some(Bytes(5))),
            Fact::Marker("here".into()),
            Fact::RuntimeCount(RuntimeCount { name: "objects".into(), value: 7 }),
            Fact::RuntimeCount(RuntimeCount { name: "objects".into(), value: 9 }),
            Fact::Exit(Exit::Status(0)),
            Fact::Exit(Exit::Signal(9)),
        ] {
            facts.take(fact);
        }
        assert_eq!((facts.lost["ring-full"], facts.lost["no-memory"]), (u64::MAX, 3));
        assert_eq!(&*facts.labels["build"], "new");
        assert_eq!(facts.runtime_counts["objects"], Counted { first: 7, last: 9 });
        assert_eq!(facts.peak_resident, Some(Bytes(7)));
        assert_eq!((facts.markers, facts.modules.len(), facts.exit), (1, 0, Some(Exit::Signal(9))));
    }
}
