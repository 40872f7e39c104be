//! What of a process is sampled, and what its trace calls that.
//!
//! A trace has a sampler for each source that is on, numbered from 0: malloc's first, then a managed runtime's. The
//! rate of the first is the trace's own. Mappings have two behind these, which tell all: `mmap`, and `arena` for what
//! allocators and runtimes map. Each kind of memory that no allocator sees has one of its own from
//! when it is first used: malloc's under another name, so that it can be distinguished. There is room
//! for [`MOST_KINDS`]; others are malloc's.

use std::sync::Arc;

use lifetrace_trace::fact::{SampledUnit, Sampler};
use lifetrace_trace::ids::SamplerId;
use lifetrace_transport::message::{MemoryKind, SourceKind};
use lifetrace_transport::sources::{Source, SourceName, Sources, Unit};

/// Bits of a word, on the machines that we know.
pub(crate) const WORD_BITS: u8 = 64;

/// Kinds with a sampler of their own.
const MOST_KINDS: usize = 200;

/// The samplers of one session.
#[derive(Clone, Debug)]
pub(crate) struct Samplers {
    malloc: Option<f64>,
    /// The lowest that malloc's rate has been.
    lowest: Option<f64>,
    managed: Option<Source>,
    has_mappings: bool,
    kinds: Vec<(MemoryKind, Arc<str>)>,
}

impl Samplers {
    /// As they were sent to an agent.
    pub(crate) fn of(sources: &Sources) -> Samplers {
        Samplers {
            malloc: sources.malloc().map(|source| source.rate),
            lowest: sources.malloc().map(|source| source.rate),
            managed: sources.managed().copied(),
            has_mappings: sources.has_mappings(),
            kinds: Vec::new(),
        }
    }

    /// The runtime whose heap is sampled.
    pub(crate) fn runtime(&self) -> Option<SourceName> {
        self.managed.map(|source| source.name)
    }

    /// Whether malloc is all that is sampled.
    pub(crate) fn is_malloc_alone(&self) -> bool {
        self.malloc.is_some() && self.managed.is_none() && self.kinds.is_empty()
    }

    /// Malloc's rate as it is now: the probability of a word.
    pub(crate) fn malloc_rate(&self) -> Option<f64> {
        self.malloc
    }

    /// How many bytes a hit of malloc's has stood for at most.
    pub(crate) fn longest_interval(&self) -> Option<f64> {
        self.lowest.map(|per_word| f64::from(WORD_BITS / 8) / per_word)
    }

    /// How many bytes a block of that size and so many hits stands for.
    pub(crate) fn bytes_of(&self, source: SourceKind, bytes: u64, hits: u64) -> f64 {
        let (unit, rate) = match source.is_managed() {
            true => self.managed.map_or((Unit::WORD, 1.0), |source| (source.unit, source.rate)),
            false => (Unit::WORD, self.malloc.unwrap_or(1.0)),
        };
        let bytes_of_unit = match unit {
            Unit::OBJECT => bytes as f64,
            Unit::BYTE => 1.0,
            _ => f64::from(WORD_BITS / 8),
        };
        hits as f64 * (bytes_of_unit / rate)
    }

    /// Whether the sizes of blocks there are in words.
    pub(crate) fn counts_words(&self, source: SourceKind) -> bool {
        source.is_managed() && self.managed.is_none_or(|source| source.unit == Unit::WORD)
    }

    /// Whose a block is.
    pub(crate) fn of_source(&self, source: SourceKind) -> SamplerId {
        SamplerId(u8::from(source.is_managed() && self.malloc.is_some()))
    }

    /// Whose memory is that is mapped, an arena or the program's own.
    pub(crate) fn of_mapping(&self, is_arena: bool) -> SamplerId {
        SamplerId(self.sampled_blocks() + u8::from(is_arena))
    }

    /// Whether mappings are told.
    pub(crate) fn has_mappings(&self) -> bool {
        self.has_mappings
    }

    /// Whether blocks of malloc's are sampled.
    pub(crate) fn has_malloc(&self) -> bool {
        self.malloc.is_some()
    }

    /// Samplers of blocks.
    fn sampled_blocks(&self) -> u8 {
        u8::from(self.malloc.is_some()) + u8::from(self.managed.is_some())
    }

    /// Whose memory of a kind is.
    pub(crate) fn of_kind(&self, kind: MemoryKind) -> SamplerId {
        let known = self.kinds.iter().position(|(known, _)| *known == kind);
        known.map_or(self.of_source(SourceKind::Malloc), |index| self.id_of_kind(index))
    }

    /// Adds a kind of that name; the fact that the trace is to have of it, if it is new, and if malloc is
    /// sampled.
    pub(crate) fn add_kind(
        &mut self,
        kind: MemoryKind,
        name: impl FnOnce() -> String,
    ) -> Option<Sampler> {
        let is_known = self.kinds.iter().any(|(known, _)| *known == kind);
        if is_known || self.kinds.len() == MOST_KINDS || self.malloc.is_none() {
            return None;
        }
        self.kinds.push((kind, name().into()));
        self.fact_of_kind(self.kinds.len() - 1)
    }

    fn id_of_kind(&self, index: usize) -> SamplerId {
        let mappings = if self.has_mappings { 2 } else { 0 };
        SamplerId(self.sampled_blocks() + mappings + index as u8)
    }

    fn fact_of_kind(&self, index: usize) -> Option<Sampler> {
        let (id, name) = (self.id_of_kind(index), Arc::clone(&self.kinds[index].1));
        self.malloc.map(|rate| Sampler { id, name, unit: SampledUnit::Word, rate })
    }

    /// Probability that a unit is hit, of the first one.
    pub(crate) fn first_rate(&self) -> f64 {
        self.malloc.or(self.managed.map(|source| source.rate)).unwrap_or(1.0)
    }

    /// Malloc's rate, and that of all kinds, is another one from now on; as the trace tells of it. Nothing, if
    /// malloc is not sampled, or that is no rate.
    pub(crate) fn change_rate(&mut self, per_word: f64) -> Vec<Sampler> {
        let is_rate = per_word > 0.0 && per_word <= 1.0;
        if !is_rate || self.malloc.is_none() {
            return Vec::new();
        }
        self.malloc = Some(per_word);
        self.lowest = self.lowest.map(|lowest| lowest.min(per_word));
        let kinds = (0..self.kinds.len()).filter_map(|index| self.fact_of_kind(index));
        self.facts().take(1).chain(kinds).collect()
    }

    /// As the trace tells of them.
    pub(crate) fn facts(&self) -> impl Iterator<Item = Sampler> {
        let malloc = self.malloc.map(Source::malloc).map(|it| (it, SourceKind::Malloc));
        let managed = self.managed.map(|it| (it, SourceKind::Minor));
        let blocks = malloc.into_iter().chain(managed).map(|(source, kind)| Sampler {
            id: self.of_source(kind),
            name: source.name.to_string().into(),
            unit: unit_of(source.unit),
            rate: source.rate,
        });
        let names = [(false, "mmap"), (true, "arena")].into_iter().filter(|_| self.has_mappings);
        blocks.chain(names.map(|(is_arena, name)| Sampler {
            id: self.of_mapping(is_arena),
            name: name.into(),
            unit: SampledUnit::Byte,
            rate: 1.0,
        }))
    }
}

fn unit_of(unit: Unit) -> SampledUnit {
    match unit {
        Unit::BYTE => SampledUnit::Byte,
        Unit::OBJECT => SampledUnit::Object,
        _ => SampledUnit::Word,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const NATIVE: Sources = Sources::NONE.with(Source::malloc(0.5));
    const OF_OCAML: Source =
        Source { name: SourceName::new("ocaml"), unit: Unit::WORD, rate: 0.25 };
    const OF_FAKE: Source =
        Source { name: SourceName::new("fake"), unit: Unit::OBJECT, rate: 0.25 };
    pub(crate) const OCAML: Sources = Sources::NONE.with(OF_OCAML);
    pub(crate) const BOTH: Sources = NATIVE.with(OF_OCAML);
    pub(crate) const FAKE: Sources = Sources::NONE.with(OF_FAKE);
    pub(crate) const FAKE_AND_NATIVE: Sources = NATIVE.with(OF_FAKE);

    fn samplers(sources: Sources) -> Samplers {
        Samplers::of(&sources)
    }

    fn check(sources: Sources, first_rate: f64, expected: &[(u8, &str, f64)]) {
        let samplers = samplers(sources);
        assert_eq!(samplers.first_rate(), first_rate);
        let facts: Vec<Sampler> = samplers.facts().collect();
        let told: Vec<_> = facts.iter().map(|it| (it.id.0, &*it.name, it.rate)).collect();
        assert_eq!(told, expected);
        let ocaml = expected.last().unwrap().0;
        for source in [SourceKind::Minor, SourceKind::Major, SourceKind::External] {
            assert_eq!(samplers.of_source(source), SamplerId(ocaml));
        }
        assert_eq!(samplers.of_source(SourceKind::Malloc), SamplerId(0));
    }

    #[test]
    fn the_first_that_is_on_has_number_0() {
        check(OCAML, 0.25, &[(0, "ocaml", 0.25)]);
        check(BOTH, 0.5, &[(0, "malloc", 0.5), (1, "ocaml", 0.25)]);
    }

    #[test]
    fn mallocs_rate_changes() {
        let mut both = samplers(BOTH);
        let kinds = [3, 9].map(|number| MemoryKind::new(number).unwrap());
        assert_eq!(both.of_kind(kinds[0]), SamplerId(0));
        let told = both.add_kind(kinds[0], || "gpu".into()).unwrap();
        assert_eq!((told.id, &*told.name, told.rate), (SamplerId(2), "gpu", 0.5));
        assert_eq!(both.add_kind(kinds[0], || "gpu".into()), None);
        assert_eq!(both.add_kind(kinds[1], || "pool".into()).unwrap().id, SamplerId(3));
        assert_eq!(kinds.map(|kind| both.of_kind(kind)), [SamplerId(2), SamplerId(3)]);
        let told = both.change_rate(0.125);
        let told: Vec<_> = told.iter().map(|it| (it.id.0, &*it.name, it.rate)).collect();
        assert_eq!(told, [(0, "malloc", 0.125), (2, "gpu", 0.125), (3, "pool", 0.125)]);
        for nonsense in [0.0, -1.0, 1.5, f64::NAN] {
            assert_eq!(both.change_rate(nonsense), []);
        }
        assert_eq!((both.first_rate(), both.malloc_rate()), (0.125, Some(0.125)));
        assert_eq!((both.change_rate(1.0).len(), both.longest_interval()), (3, Some(64.0)));
        assert_eq!(samplers(OCAML).change_rate(0.125), []);
        assert_eq!(samplers(OCAML).add_kind(kinds[0], || "gpu".into()), None);
    }

    #[test]
    fn a_kind_too_many_is_mallocs() {
        let mut samplers = samplers(NATIVE);
        let kinds = (0..MemoryKind::MOST).filter_map(MemoryKind::new);
        let told =
            kinds.filter_map(|kind| samplers.add_kind(kind, || "k".into())).map(|told| told.id.0);
        assert!(told.eq(1..=MOST_KINDS as u8));
        assert_eq!(samplers.of_kind(MemoryKind::new(4000).unwrap()), SamplerId(0));
    }

    #[test]
    fn mappings_have_two() {
        let told = |sources| {
            let facts: Vec<Sampler> = samplers(sources).facts().collect();
            facts.iter().map(|it| (it.id.0, it.name.to_string(), it.rate)).collect::<Vec<_>>()
        };
        let mappings = |first| [(first, "mmap".to_owned(), 1.0), (first + 1, "arena".into(), 1.0)];
        let alone = Sources::NONE.with(Source::mappings());
        assert_eq!(told(alone), mappings(0));
        assert_eq!(told(BOTH.with(Source::mappings()))[2..], mappings(2));
        let mut native = samplers(NATIVE.with(Source::mappings()));
        let kind = MemoryKind::new(3).unwrap();
        assert_eq!(native.add_kind(kind, || "gpu".into()).unwrap().id, SamplerId(3));
        assert_eq!(native.of_mapping(true), SamplerId(2));
        assert!(!native.is_malloc_alone());
        assert_eq!((samplers(alone).first_rate(), samplers(alone).has_malloc()), (1.0, false));
    }

    #[test]
    fn malloc_alone() {
        let samplers = samplers(NATIVE);
        assert_eq!((samplers.first_rate(), samplers.facts().count()), (0.5, 1));
    }

    #[test]
    fn a_hit_stands_for_its_unit() {
        let samplers = samplers(FAKE_AND_NATIVE);
        let facts: Vec<_> = samplers.facts().map(|it| (it.name.to_string(), it.unit)).collect();
        let expected = [("malloc", SampledUnit::Word), ("fake", SampledUnit::Object)];
        assert!(facts.iter().map(|(name, unit)| (&**name, *unit)).eq(expected));
        assert_eq!(samplers.bytes_of(SourceKind::Malloc, 40, 3), 3.0 * 16.0);
        assert_eq!(samplers.bytes_of(SourceKind::Minor, 40, 1), 160.0);
        assert!(!samplers.counts_words(SourceKind::Minor));
        assert_eq!(self::samplers(OCAML).bytes_of(SourceKind::Minor, 40, 3), 3.0 * 32.0);
        assert!(self::samplers(OCAML).counts_words(SourceKind::Major));
        assert!(!self::samplers(BOTH).counts_words(SourceKind::Malloc));
    }
}
