//! What is so of a whole trace, told again in its index: nobody has to read all events to know how the
//! process ended, what was lost, or what a user should beware of.
//!
//! ```text
//! varint    births whose backtraces lack outermost frames
//! varint    most resident memory that was told, in bytes, plus one; 0 if none was
//! varint    number of facts that follow
//! varint, bytes    for each: its tag, and what it has as the first fact of a segment
//! ```

use super::fact_codec::FactCodec;
use crate::fact::Fact;
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};
use crate::ids::Bytes;

/// Most bytes of it; a trace that has more to say must be read.
const LONGEST: usize = 1 << 16;

/// What all facts and births of a trace come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closing {
    /// Births whose backtraces lack outermost frames.
    pub truncated_backtraces: u64,
    /// The most that was told.
    pub peak_resident: Option<Bytes>,
    /// The last of the process, its parent, its end, its managed heap, each label and each sampler; of
    /// what was lost the sum for each reason; each notice once. In the order in which they were first told.
    pub facts: Vec<Fact>,
}

impl Closing {
    /// Takes a birth into account.
    pub fn take_birth(&mut self, is_truncated: bool) {
        self.truncated_backtraces += u64::from(is_truncated);
    }

    /// Takes a fact into account.
    pub fn take_fact(&mut self, fact: &Fact) {
        if let Fact::Counters(counters) = fact {
            let most = counters.resident.max(counters.most_resident);
            self.peak_resident = self.peak_resident.max(most);
        }
        if !is_of_all(fact) {
            return;
        }
        match (self.facts.iter_mut().find(|earlier| is_successor(fact, earlier)), fact) {
            (Some(Fact::Lost(sum)), Fact::Lost(more)) => {
                sum.count = sum.count.saturating_add(more.count);
            }
            (Some(earlier), _) => *earlier = fact.clone(),
            (None, _) => self.facts.push(fact.clone()),
        }
    }

    pub(super) fn encode(&self, payload: &mut Vec<u8>) {
        payload.put_varint(self.truncated_backtraces);
        payload.put_varint(self.peak_resident.map_or(0, |peak| peak.0.saturating_add(1)));
        payload.put_varint(self.facts.len() as u64);
        for fact in &self.facts {
            let (tag, bytes) = FactCodec::default().encode(fact);
            payload.put_varint(tag);
            payload.put_bytes(&bytes);
        }
    }

    /// Facts that only a later version knows are left out.
    pub(super) fn decode(plain: &mut Plain<'_>) -> Result<Self, Fault> {
        let truncated_backtraces = plain.varint()?;
        let peak_resident = plain.varint()?.checked_sub(1).map(Bytes);
        let mut facts = Vec::new();
        for _ in 0..plain.varint()? {
            let tag = plain.varint()?;
            facts.extend(FactCodec::default().decode(tag, plain.bytes()?)?);
        }
        Ok(Self { truncated_backtraces, peak_resident, facts })
    }
}

/// Whether a fact is of the whole trace, and not of a moment or a part.
fn is_of_all(fact: &Fact) -> bool {
    match fact {
        Fact::Process(_)
        | Fact::Parent(_)
        | Fact::Exit(_)
        | Fact::Collector(_)
        | Fact::RuntimeCount(_)
        | Fact::Label(_)
        | Fact::Sampler(_)
        | Fact::Lost(_)
        | Fact::Looked(_)
        | Fact::Notice(_) => true,
        Fact::Counters(_)
        | Fact::ThreadName(_)
        | Fact::Module(_)
        | Fact::Cycle(_)
        | Fact::Resize(_)
        | Fact::Held(_)
        | Fact::Marker(_)
        | Fact::WallClock(_) => false,
    }
}

/// Whether a fact takes the place of an earlier one, both being of the whole trace.
fn is_successor(fact: &Fact, earlier: &Fact) -> bool {
    match (fact, earlier) {
        (Fact::Label(new), Fact::Label(old)) => new.key == old.key,
        (Fact::Sampler(new), Fact::Sampler(old)) => new.id == old.id,
        (Fact::Lost(new), Fact::Lost(old)) => new.reason == old.reason,
        (Fact::Notice(new), Fact::Notice(old)) => new == old,
        (Fact::RuntimeCount(new), Fact::RuntimeCount(old)) => new.name == old.name,
        _ => std::mem::discriminant(fact) == std::mem::discriminant(earlier),
    }
}

/// The writer's side: given up if it grows too long.
pub(super) struct Draft {
    closing: Option<Closing>,
    len: usize,
}

impl Draft {
    pub(super) fn new() -> Self {
        Self { closing: Some(Closing::default()), len: 0 }
    }

    pub(super) fn take_birth(&mut self, is_truncated: bool) {
        if let Some(closing) = &mut self.closing {
            closing.take_birth(is_truncated);
        }
    }

    /// Takes a fact as a reader will see it.
    pub(super) fn take_fact(&mut self, fact: &Fact) {
        let Some(closing) = &mut self.closing else { return };
        if !is_of_all(fact) {
            return closing.take_fact(fact);
        }
        let (tag, bytes) = FactCodec::default().encode(fact);
        let Ok(Some(fact)) = FactCodec::default().decode(tag, &bytes) else { return };
        closing.take_fact(&fact);
        let mut payload = Vec::new();
        closing.encode(&mut payload);
        self.len = payload.len();
        if self.len > LONGEST {
            *self = Self { closing: None, len: 0 };
        }
    }

    /// Length of what will be written, or a little more.
    pub(super) fn longest(&self) -> u64 {
        const VARINT: usize = 10;
        (self.len + 3 * VARINT) as u64
    }

    pub(super) fn finish(self) -> Option<Closing> {
        self.closing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::{Collector, Counters, Exit, Label, Lost, Process};

    fn lost(reason: &str, count: u64) -> Fact {
        Fact::Lost(Lost { reason: reason.into(), count })
    }

    fn label(key: &str, value: &str) -> Fact {
        Fact::Label(Label { key: key.into(), value: value.into() })
    }

    fn heap(minor_words: u64) -> Fact {
        Fact::Collector(Collector { minor_words: Some(minor_words), ..Collector::default() })
    }

    fn resident(bytes: u64) -> Fact {
        Fact::Counters(Counters { resident: Some(Bytes(bytes)), ..Counters::default() })
    }

    fn closing(facts: &[Fact]) -> Closing {
        let mut draft = Draft::new();
        facts.iter().for_each(|fact| draft.take_fact(fact));
        draft.finish().unwrap()
    }

    #[test]
    fn the_last_counts_and_losses_add_up() {
        let notice = |code: &str| Fact::Notice(code.into());
        let closing = closing(&[
            label("build", "7"),
            lost("ring-full", 5),
            notice("a"),
            heap(10),
            resident(70),
            Fact::Exit(Exit::Unknown),
            lost("no-memory", 1),
            lost("ring-full", u64::MAX),
            label("build", "8"),
            notice("a"),
            notice("b"),
            heap(30),
            resident(60),
            Fact::Marker("here".into()),
            Fact::Exit(Exit::Status(3)),
        ]);
        let expected = [
            label("build", "8"),
            lost("ring-full", u64::MAX),
            notice("a"),
            heap(30),
            Fact::Exit(Exit::Status(3)),
            lost("no-memory", 1),
            notice("b"),
        ];
        assert_eq!(closing.facts, expected);
        assert_eq!(closing.peak_resident, Some(Bytes(70)));
    }

    #[test]
    fn it_is_read_as_it_was_written_and_a_later_version_may_say_more() {
        let mut closing = closing(&[heap(1 << 40), lost("ring-full", 3), resident(0)]);
        closing.take_birth(true);
        let mut payload = Vec::new();
        closing.encode(&mut payload);
        for len in 0..payload.len() {
            assert_eq!(Closing::decode(&mut Plain(&payload[..len])), Err(Fault::CutShort));
        }
        payload.push(77);
        assert_eq!(Closing::decode(&mut Plain(&payload)), Ok(closing.clone()));
        // One fact more, of an unknown kind.
        let mut later = vec![1, 1, 3];
        later.extend_from_slice(&payload[3..payload.len() - 1]);
        later.extend_from_slice(&[99, 2, 0, 0]);
        assert_eq!(Closing::decode(&mut Plain(&later)), Ok(closing));
    }

    #[test]
    fn its_length_is_foreseen() {
        let mut draft = Draft::new();
        for number in 0..200 {
            draft.take_fact(&label(&format!("key {number}"), "value"));
            draft.take_fact(&heap(number << 50));
        }
        draft.take_birth(true);
        let longest = draft.longest();
        let mut payload = Vec::new();
        draft.finish().unwrap().encode(&mut payload);
        let len = payload.len() as u64;
        assert!(len <= longest && longest <= len + 40, "{len} {longest}");
    }

    /// A reader has what was cut only; it comes to the same.
    #[test]
    fn long_names_are_cut_before_they_are_compared() {
        let long = "k".repeat(5000);
        let closing = closing(&[label(&format!("{long}1"), "a"), label(&format!("{long}2"), "b")]);
        assert_eq!(closing.facts, [label(&long[..4096], "b")]);
    }

    #[test]
    fn what_grows_too_long_is_left_out() {
        let mut draft = Draft::new();
        for number in 0..100 {
            draft.take_fact(&label(&format!("key {number}"), &"v".repeat(1000)));
        }
        assert_eq!(draft.finish(), None);
        let argument = "x".repeat(4096).into();
        let process = Process { arguments: vec![argument; 20], ..Process::default() };
        let mut draft = Draft::new();
        draft.take_fact(&Fact::Process(process));
        assert_eq!((draft.longest(), draft.finish()), (30, None));
    }
}
