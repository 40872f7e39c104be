//! What was counted in a trace, against what its index says.

use lifetrace_human as human;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::lt::{CheckpointPosition, Closing, Index, Passed, Summary};
use lifetrace_trace::record::RecordKind;
use serde::Serialize;

/// What has been read. Its fields are those of `--json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counted {
    allocations: u64,
    /// Of all allocations.
    #[serde(skip)]
    samples: u64,
    promotions: u64,
    collections: u64,
    facts: u64,
    /// What the index should say of the whole trace.
    #[serde(skip)]
    closing: Closing,
}

impl Counted {
    pub(super) fn take(&mut self, kind: &RecordKind) {
        match kind {
            RecordKind::Fact(fact) => {
                self.facts += 1;
                self.closing.take_fact(fact);
            }
            RecordKind::Promotion(_) => self.promotions += 1,
            RecordKind::Collection(_) => self.collections += 1,
            RecordKind::Birth(birth) => {
                self.allocations += 1;
                self.closing.take_birth(birth.is_truncated);
                self.samples = self.samples.saturating_add(birth.samples);
            }
        }
    }

    /// `43 events, 2 facts, 7 packets`.
    pub(super) fn text(&self, packets: Option<u64>) -> String {
        let count = |count: u64, what: &str| format!("{} {what}", human::count(count as f64));
        let events = count(self.allocations + self.promotions + self.collections, "events");
        let facts = (self.facts > 0).then(|| count(self.facts, "facts"));
        let packets = packets.map(|packets| count(packets, "packets"));
        let parts = [Some(events), facts, packets];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// What the index says otherwise. `duration` is in microseconds.
    pub(super) fn errors_of(&self, index: &Index, passed: &Passed, duration: u64) -> Vec<String> {
        let Summary { allocations, samples, promotions, collections, .. } = index.summary;
        let pairs = [
            ("allocations", allocations, self.allocations),
            ("samples", samples, self.samples),
            ("promotions", promotions, self.promotions),
            ("collections", collections, self.collections),
            ("facts", index.summary.facts, self.facts),
            ("frames", index.summary.frames, passed.frames),
            ("packets", index.summary.packets, passed.packets),
            ("microseconds from start to end", index.summary.duration, duration),
        ];
        let mut errors = differences(&pairs);
        errors.extend(index.closing.iter().flat_map(|closing| self.misstatements(closing)));
        let nowhere = index.checkpoints.iter().filter(|place| !is_there(place, passed));
        errors.extend(nowhere.take(1).map(|CheckpointPosition { offset, time }| {
            format!("it says that a checkpoint of time {} is at byte {offset}", time.0)
        }));
        errors
    }

    /// What the index says of the whole trace otherwise.
    fn misstatements(&self, told: &Closing) -> Vec<String> {
        let found = &self.closing;
        let peak = |closing: &Closing| closing.peak_resident.map_or(0, |peak| peak.0);
        let numbers = [
            ("backtraces cut off", told.truncated_backtraces, found.truncated_backtraces),
            ("bytes of resident memory at most", peak(told), peak(found)),
        ];
        let mut errors = differences(&numbers);
        let is_in = |fact: &&Fact, closing: &Closing| closing.facts.contains(fact);
        let only_told = told.facts.iter().filter(|fact| !is_in(fact, found));
        errors.extend(only_told.map(|fact| format!("it says {fact:?}, which is not so")));
        let only_found = found.facts.iter().filter(|fact| !is_in(fact, told));
        errors.extend(only_found.map(|fact| format!("it does not say {fact:?}")));
        errors
    }
}

/// What is told, and what was found.
fn differences(numbers: &[(&str, u64, u64)]) -> Vec<String> {
    let wrong = numbers.iter().filter(|(_, told, found)| told != found);
    wrong.map(|(what, told, found)| format!("it says {told} {what}, there are {found}")).collect()
}

fn is_there(place: &CheckpointPosition, passed: &Passed) -> bool {
    let found = passed.checkpoints.binary_search_by_key(&place.offset, |other| other.offset);
    found.is_ok_and(|at| passed.checkpoints[at] == *place)
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::fact::Exit;
    use lifetrace_trace::ids::{AllocationId, Timestamp};

    use super::*;

    fn place(offset: u64) -> CheckpointPosition {
        CheckpointPosition { offset, time: Timestamp(1000 + offset) }
    }

    /// Three deaths and a fact, in two segments.
    fn sound() -> (Counted, Index, Passed) {
        let mut counted = Counted::default();
        (0..3).for_each(|id| counted.take(&RecordKind::Collection(AllocationId(id))));
        counted.take(&RecordKind::from(Fact::Exit(Exit::Signal(9))));
        let summary =
            Summary { collections: 3, facts: 1, packets: 4, duration: 70, ..Summary::default() };
        let closing = Some(counted.closing.clone());
        let index = Index { summary, checkpoints: vec![place(300)], closing };
        let passed = Passed { checkpoints: vec![place(100), place(300)], packets: 4, frames: 0 };
        (counted, index, passed)
    }

    #[test]
    fn a_true_index_has_no_errors() {
        let (counted, index, passed) = sound();
        assert_eq!(counted.errors_of(&index, &passed, 70), Vec::<String>::new());
        assert_eq!(counted.text(Some(passed.packets)), "3 events, 1 facts, 4 packets");
        assert_eq!(counted.text(None), "3 events, 1 facts");
    }

    #[test]
    fn each_error_is_named() {
        let (counted, index, passed) = sound();
        let errors = |change: fn(&mut Index)| {
            let mut index = index.clone();
            change(&mut index);
            counted.errors_of(&index, &passed, 70)
        };
        assert_eq!(errors(|it| it.summary.samples = 9), ["it says 9 samples, there are 0"]);
        assert_eq!(errors(|it| it.summary.facts = 0), ["it says 0 facts, there are 1"]);
        assert_eq!(errors(|it| it.summary.packets = 5), ["it says 5 packets, there are 4"]);
        let wrong_place = ["it says that a checkpoint of time 1300 is at byte 301"];
        assert_eq!(errors(|it| it.checkpoints[0].offset += 1), wrong_place);
        assert_eq!(errors(|it| it.checkpoints[0].time.0 += 1).len(), 1);
        assert_eq!(counted.errors_of(&index, &passed, 71).len(), 1);
        assert_eq!(errors(|it| it.closing = None), Vec::<String>::new());
        let of_all = |change: fn(&mut Closing)| {
            let mut index = index.clone();
            change(index.closing.as_mut().unwrap());
            counted.errors_of(&index, &passed, 70)
        };
        let deep = ["it says 4 backtraces cut off, there are 0"];
        assert_eq!(of_all(|it| it.truncated_backtraces = 4), deep);
        assert_eq!(of_all(|it| it.facts.clear()), ["it does not say Exit(Signal(9))"]);
        let other_exit =
            ["it says Exit(Unknown), which is not so", "it does not say Exit(Signal(9))"];
        assert_eq!(of_all(|it| it.facts = vec![Fact::Exit(Exit::Unknown)]), other_exit);
    }
}
