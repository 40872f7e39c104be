//! The column of events: everything but backtraces.
//!
//! A step is either an event or, rarely, a *directive* that changes what the next events are
//! understood by. An event takes few decisions:
//!
//! ```text
//! birth? ── yes ──> wait, class, size, samples
//!   | no
//! the next young block dies? is promoted? ── yes ──> wait
//!   | no
//! change? ── yes ──> wait, which way and how far to the block, or its id, promoted?
//!   | no
//! directive, its operands
//! ```
//!
//! A collector's minor cycle goes through the young blocks in the order of their births, so nearly
//! every subject is the expected one. Programs that free by themselves have no young blocks;
//! there, distances from the last subject and from the newest block are short.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use super::coder::Coder;
use super::live::Live;
use super::number::Number;
use super::probability::{Probability, code_tree};
use crate::framing::fault::Fault;
use crate::ids::AllocationId;

/// Kinds of allocations in a stretch, beyond which the oldest is forgotten.
const CLASSES: usize = 16;

/// Threads and domains in a stretch, beyond which the one that was quiet longest is forgotten.
pub(super) const ACTORS: usize = 64;

/// Something that takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A block was born; its id is the one that was due.
    Birth { wait: u64, class: Class, size: u64, samples: u64 },
    /// A block was promoted, or it died.
    Change { wait: u64, id: AllocationId, is_promotion: bool },
    /// From here on somebody else acts.
    Actor(Actor),
    /// The next block gets this id.
    NextId(AllocationId),
    /// The clock goes back.
    Back(u64),
    /// The next fact of the column of facts stands here.
    Fact,
}

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Actor {
    pub(super) thread: u32,
    pub(super) domain: u16,
}

/// What an allocation has in common with most others, as a number:
///
/// ```text
/// bits 0-1  source: 0 minor | 1 major | 2 external
/// bit  2    its size is in bytes, not words
/// bit  3    words that were added to a block
/// bit  4    outermost frames are missing
/// bit  5    it was hit more than once
/// bits 6-   the sampler
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Class(pub(super) u16);

impl Class {
    const SOURCE: u16 = 3;
    const MINOR: u16 = 0;
    const MANY_SAMPLES: u16 = 1 << 5;

    /// The class of such an allocation if its block was hit so many times.
    pub(super) fn hit(self, samples: u64) -> Self {
        Self(self.0 | if samples == 1 { 0 } else { Self::MANY_SAMPLES })
    }

    fn is_young(self) -> bool {
        self.0 & Self::SOURCE == Self::MINOR
    }
}

/// How far a subject is from where it is looked for, in living blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// From the last subject to newer ones.
    Forward,
    /// From the last subject to older ones.
    Backward,
    /// From the newest block to older ones.
    FromNewest,
}

const DIRECTIVE_ACTOR: usize = 0;
const DIRECTIVE_NEXT_ID: usize = 1;
const DIRECTIVE_BACK: usize = 2;
const DIRECTIVE_FACT: usize = 3;

/// What both sides know.
pub(super) struct Events {
    live: Live,
    /// Slots of ids; only a writer has them.
    slots: Option<FxHashMap<AllocationId, usize>>,
    next_id: u64,
    /// The first young block from here on is the next subject that is expected.
    expected_from: usize,
    /// Slot of the last subject.
    last_subject: usize,
    /// The last four kinds of events, two bits each: 0 birth, 1 promotion, 2 death.
    history: usize,
    /// Whether a directive came since the last event.
    directed: bool,
    actors: Vec<Actor>,
    classes: Vec<Class>,
    /// Place of the last birth's class.
    last_class: usize,
    models: Models,
}

/// What they have learnt.
struct Models {
    dies: [Probability; 16],
    promoted: [Probability; 16],
    change: [Probability; 8],
    directive: [Probability; 4],
    birth: [Probability; 64 * 16],
    waits: [Number; 4],
    class: Vec<[Probability; CLASSES]>,
    new_class: Number,
    sizes: Vec<Number>,
    samples: Number,
    tracked: Probability,
    way: [Probability; 4],
    distances: [Number; 3],
    id: Number,
    other_promoted: Probability,
    actor: Number,
    thread: Number,
    domain: Number,
    next_id: Number,
    back: Number,
}

impl Models {
    fn new() -> Self {
        Self {
            dies: [Probability::EVEN; 16],
            promoted: [Probability::EVEN; 16],
            change: [Probability::EVEN; 8],
            directive: [Probability::EVEN; 4],
            birth: [Probability::EVEN; 64 * 16],
            waits: std::array::from_fn(|kind| match kind {
                0 | 1 => Number::new(1),
                _ => Number::mostly_zero(1),
            }),
            class: vec![[Probability::EVEN; CLASSES]; CLASSES],
            new_class: Number::new(0),
            sizes: vec![Number::new(6); CLASSES],
            samples: Number::new(2),
            tracked: Probability::EVEN,
            way: [Probability::EVEN; 4],
            distances: std::array::from_fn(|_| Number::mostly_zero(2)),
            id: Number::new(0),
            other_promoted: Probability::EVEN,
            actor: Number::new(3),
            thread: Number::new(0),
            domain: Number::new(0),
            next_id: Number::new(0),
            back: Number::new(0),
        }
    }
}

impl Events {
    /// At a checkpoint, with the blocks that live, oldest first, and whether they are young. A writer
    /// must be able to find blocks by their ids.
    pub(super) fn new(
        next_id: AllocationId,
        actor: Actor,
        blocks: impl IntoIterator<Item = (AllocationId, bool)>,
        is_writer: bool,
    ) -> Self {
        let mut live = Live::new();
        let mut slots = is_writer.then(FxHashMap::default);
        for (id, is_young) in blocks {
            if let Some(slots) = &mut slots {
                slots.insert(id, live.end());
            }
            live.push(id, is_young);
        }
        Self {
            live,
            slots,
            next_id: next_id.0,
            expected_from: 0,
            last_subject: 0,
            history: 0,
            directed: false,
            actors: vec![actor],
            classes: Vec::new(),
            last_class: 0,
            models: Models::new(),
        }
    }

    /// The id of the next block.
    pub(super) fn next_id(&self) -> AllocationId {
        AllocationId(self.next_id)
    }

    /// Who acts.
    pub(super) fn actor(&self) -> Actor {
        self.actors[0]
    }

    /// The blocks that live as far as is known, oldest first, and whether they are young.
    pub(super) fn living(&self) -> impl Iterator<Item = (AllocationId, bool)> {
        self.live.iter().map(|(slot, is_young)| (self.live.id(slot), is_young))
    }

    /// Codes a step.
    ///
    /// # Errors
    /// Only when decoding.
    #[inline]
    pub(super) fn code<C: Coder>(&mut self, coder: &mut C, step: Step) -> Result<Step, Fault> {
        let expected = self.live.next_young(self.expected_from);
        let context = self.kind_context(expected.is_some());
        let is_birth = matches!(step, Step::Birth { .. });
        if self.models.birth[context].code(coder, is_birth) {
            return self.code_birth(coder, step);
        }
        let (is_promotion, is_expected) = match (step, expected) {
            (Step::Change { id, is_promotion, .. }, Some(slot)) => {
                (is_promotion, self.live.id(slot) == id)
            }
            (Step::Change { is_promotion, .. }, None) => (is_promotion, false),
            _ => (false, false),
        };
        if let Some(slot) = expected {
            let recent = self.history & 15;
            if self.models.dies[recent].code(coder, is_expected && !is_promotion) {
                return Ok(self.code_expected(coder, step, slot, false));
            }
            if self.models.promoted[recent].code(coder, is_expected && is_promotion) {
                return Ok(self.code_expected(coder, step, slot, true));
            }
        }
        self.code_other(coder, step)
    }

    /// A minor cycle is the likelier the more young blocks there are, and goes on while there are any.
    fn kind_context(&self, has_next_young: bool) -> usize {
        let crowd = match self.history & 3 {
            0 => 2 + (self.live.young_count() / 4).min(13),
            _ => usize::from(has_next_young),
        };
        (self.history & 63) << 4 | crowd
    }

    #[inline]
    fn code_birth<C: Coder>(&mut self, coder: &mut C, step: Step) -> Result<Step, Fault> {
        let (wait, class, size, samples) = match step {
            Step::Birth { wait, class, size, samples } => (wait, class, size, samples),
            _ => (0, Class(0), 0, 0),
        };
        let wait = self.models.waits[self.after_change()].code(coder, wait);
        let (place, class) = self.code_class(coder, class)?;
        let size = self.models.sizes[place].code(coder, size);
        let samples = match class.0 & Class::MANY_SAMPLES {
            0 => 1,
            _ => self.models.samples.code(coder, samples),
        };
        let slot = self.live.end();
        if self.live.push(AllocationId(self.next_id), class.is_young()) {
            self.renumber();
        } else if let Some(slots) = &mut self.slots {
            slots.insert(AllocationId(self.next_id), slot);
        }
        self.next_id = self.next_id.wrapping_add(1);
        self.expected_from = 0;
        self.history = self.history << 2 & 255;
        Ok(Step::Birth { wait, class, size, samples })
    }

    /// The class and its place in the table of classes, in the order of their first births. The last
    /// place is taken by whoever comes when the table is full.
    fn code_class<C: Coder>(
        &mut self,
        coder: &mut C,
        class: Class,
    ) -> Result<(usize, Class), Fault> {
        let known = self.classes.len().min(CLASSES - 1);
        let place = self.classes[..known].iter().position(|it| *it == class).unwrap_or(known);
        let tree = &mut self.models.class[self.last_class];
        let mut asked = 0;
        while asked < known && !tree[asked].code(coder, asked == place) {
            asked += 1;
        }
        let place = asked;
        if place == known {
            let told = self.models.new_class.code(coder, class.0.into());
            let told = u16::try_from(told).map_err(|_| Fault::Unexpected("a class"))?;
            self.classes.truncate(place);
            self.classes.push(Class(told));
        }
        self.last_class = place;
        Ok((place, self.classes[place]))
    }

    #[inline]
    fn code_expected<C: Coder>(
        &mut self,
        coder: &mut C,
        step: Step,
        slot: usize,
        is_promotion: bool,
    ) -> Step {
        let wait = if let Step::Change { wait, .. } = step { wait } else { 0 };
        let wait = self.models.waits[2 + self.after_change()].code(coder, wait);
        let id = self.live.id(slot);
        self.apply(id, Some(slot), is_promotion);
        Step::Change { wait, id, is_promotion }
    }

    /// What is neither a birth nor what was expected.
    fn code_other<C: Coder>(&mut self, coder: &mut C, step: Step) -> Result<Step, Fault> {
        let is_change = matches!(step, Step::Change { .. });
        let context = usize::from(self.directed) * 4 + (self.history & 3);
        self.directed = !self.models.change[context].code(coder, is_change);
        if self.directed {
            return self.code_directive(coder, step);
        }
        let (wait, id, is_promotion) = match step {
            Step::Change { wait, id, is_promotion } => (wait, id, is_promotion),
            _ => (0, AllocationId(0), false),
        };
        let wait = self.models.waits[2 + self.after_change()].code(coder, wait);
        let slot = self.slots.as_ref().and_then(|slots| slots.get(&id).copied());
        let (slot, id) = if self.models.tracked.code(coder, slot.is_some()) {
            let slot = self.code_distance(coder, slot.unwrap_or_default())?;
            (Some(slot), self.live.id(slot))
        } else {
            (None, self.code_id(coder, id))
        };
        let is_promotion = self.models.other_promoted.code(coder, is_promotion);
        self.apply(id, slot, is_promotion);
        Ok(Step::Change { wait, id, is_promotion })
    }

    fn after_change(&self) -> usize {
        usize::from(self.history & 3 != 0)
    }

    fn apply(&mut self, id: AllocationId, slot: Option<usize>, is_promotion: bool) {
        self.history = (self.history << 2 | if is_promotion { 1 } else { 2 }) & 255;
        let Some(slot) = slot else { return };
        self.expected_from = slot + 1;
        self.last_subject = slot;
        if is_promotion {
            self.live.promote(slot);
            return;
        }
        self.live.bury(slot);
        if let Some(slots) = &mut self.slots {
            slots.remove(&id);
        }
    }

    fn code_distance<C: Coder>(&mut self, coder: &mut C, slot: usize) -> Result<usize, Fault> {
        let (way, distance) = self.measure(slot);
        let way = code_tree(&mut self.models.way, 2, coder, way as usize);
        let way = match way {
            0 => Way::Forward,
            1 => Way::Backward,
            2 => Way::FromNewest,
            _ => return Err(Fault::Unexpected("a way to a block")),
        };
        let distance = self.models.distances[way as usize].code(coder, distance);
        let found = match way {
            Way::Forward => self.live.forward(self.last_subject + 1, distance),
            Way::Backward => self.live.backward(self.last_subject, distance),
            Way::FromNewest => self.live.backward(self.live.end(), distance),
        };
        found.ok_or(Fault::Unexpected("the distance to a living block"))
    }

    /// The shortest way to a slot, when writing.
    fn measure(&self, slot: usize) -> (Way, u64) {
        if self.slots.is_none() {
            return (Way::Forward, 0);
        }
        let newest = (Way::FromNewest, self.live.count(slot + 1..self.live.end()));
        let last = match slot.cmp(&self.last_subject) {
            Ordering::Greater => (Way::Forward, self.live.count(self.last_subject + 1..slot)),
            Ordering::Less => (Way::Backward, self.live.count(slot + 1..self.last_subject)),
            Ordering::Equal => newest,
        };
        if last.1 <= newest.1 { last } else { newest }
    }

    /// The id of a block that is not in the table, counted back from the newest.
    fn code_id<C: Coder>(&mut self, coder: &mut C, id: AllocationId) -> AllocationId {
        let distance = self.next_id.wrapping_sub(id.0) as i64;
        let distance = self.models.id.code_signed(coder, distance);
        AllocationId(self.next_id.wrapping_sub(distance as u64))
    }

    fn code_directive<C: Coder>(&mut self, coder: &mut C, step: Step) -> Result<Step, Fault> {
        let directive = match step {
            Step::Actor(_) => DIRECTIVE_ACTOR,
            Step::NextId(_) => DIRECTIVE_NEXT_ID,
            Step::Back(_) => DIRECTIVE_BACK,
            _ => DIRECTIVE_FACT,
        };
        match code_tree(&mut self.models.directive, 2, coder, directive) {
            DIRECTIVE_ACTOR => self.code_actor(coder, step),
            DIRECTIVE_NEXT_ID => {
                let id = if let Step::NextId(id) = step { id.0 } else { 0 };
                let jump = id.wrapping_sub(self.next_id) as i64;
                let jump = self.models.next_id.code_signed(coder, jump);
                self.next_id = self.next_id.wrapping_add(jump as u64);
                Ok(Step::NextId(AllocationId(self.next_id)))
            }
            DIRECTIVE_BACK => {
                let back = if let Step::Back(back) = step { back } else { 0 };
                Ok(Step::Back(self.models.back.code(coder, back)))
            }
            _ => Ok(Step::Fact),
        }
    }

    /// The most recent actors come first; one that was never heard of, or long ago, is told whole.
    fn code_actor<C: Coder>(&mut self, coder: &mut C, step: Step) -> Result<Step, Fault> {
        let actor = if let Step::Actor(actor) = step { actor } else { self.actors[0] };
        let known = self.actors.len();
        let rank = self.actors.iter().position(|it| *it == actor).unwrap_or(known);
        let rank = self.models.actor.code(coder, rank as u64) as usize;
        if rank > known {
            return Err(Fault::Unexpected("a thread that was told"));
        }
        let actor = if rank == known {
            let thread = self.models.thread.code(coder, actor.thread.into()) as u32;
            let domain = self.models.domain.code(coder, actor.domain.into()) as u16;
            self.actors.truncate(ACTORS - 1);
            Actor { thread, domain }
        } else {
            self.actors.remove(rank)
        };
        self.actors.insert(0, actor);
        Ok(Step::Actor(actor))
    }

    fn renumber(&mut self) {
        self.last_subject = 0;
        if let Some(slots) = &mut self.slots {
            slots.clear();
            slots.extend(self.live.iter().map(|(slot, _)| (self.live.id(slot), slot)));
        }
    }
}
