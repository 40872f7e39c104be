//! What of a process is sampled, and what its trace calls that.
//!
//! A trace has a sampler for each source that is on, numbered from 0: malloc's first, then OCaml's. The
//! rate of the first is the trace's own.

use lifetrace_trace::fact::{SampledUnit, Sampler};
use lifetrace_trace::ids::SamplerId;
use lifetrace_transport::message::SourceKind;
use lifetrace_transport::segment::{Settings, Sources};

/// Bits of a word, on the machines that we know.
pub(crate) const WORD_BITS: u8 = 64;

/// The samplers of one session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samplers {
    malloc: Option<f64>,
    ocaml: Option<f64>,
}

impl Samplers {
    /// As an agent has been told.
    pub(crate) fn of(settings: &Settings) -> Samplers {
        let rate_of = |source, rate| settings.sources.has(source).then_some(rate);
        Samplers {
            malloc: rate_of(Sources::NATIVE, settings.rate_per_word),
            ocaml: rate_of(Sources::OCAML, settings.managed_rate_per_word),
        }
    }

    /// Whose a block is.
    pub(crate) fn of_source(&self, source: SourceKind) -> SamplerId {
        SamplerId(u8::from(source.is_managed() && self.malloc.is_some()))
    }

    /// Probability that a word is hit, of the first one.
    pub(crate) fn first_rate(&self) -> f64 {
        self.malloc.or(self.ocaml).unwrap_or(1.0)
    }

    /// Malloc's rate is another one from now on; as the trace tells of it, unless malloc is not sampled, or
    /// that is no rate.
    pub(crate) fn change_rate(&mut self, per_word: f64) -> Option<Sampler> {
        let is_rate = per_word > 0.0 && per_word <= 1.0;
        self.malloc = Some(per_word).filter(|_| is_rate && self.malloc.is_some()).or(self.malloc);
        self.facts().next().filter(|_| is_rate && self.malloc.is_some())
    }

    /// As the trace tells of them.
    pub(crate) fn facts(&self) -> impl Iterator<Item = Sampler> {
        let of = |name: &str, rate, source| {
            let id = self.of_source(source);
            Sampler { id, name: name.into(), unit: SampledUnit::Word, rate }
        };
        let malloc = self.malloc.map(|rate| of("malloc", rate, SourceKind::Malloc));
        let ocaml = self.ocaml.map(|rate| of("ocaml", rate, SourceKind::Minor));
        malloc.into_iter().chain(ocaml)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// malloc's at a half, OCaml's at a quarter.
    pub(crate) fn samplers(sources: Sources) -> Samplers {
        Samplers::of(&Settings {
            ring_count: 1,
            ring_bytes: 4096,
            rate_per_word: 0.5,
            managed_rate_per_word: 0.25,
            seed: 0,
            follow_children: 0,
            recorder_pid: 0,
            sources,
            stack_limit: 1,
        })
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
        check(Sources::OCAML, 0.25, &[(0, "ocaml", 0.25)]);
        check(Sources::NATIVE.and(Sources::OCAML), 0.5, &[(0, "malloc", 0.5), (1, "ocaml", 0.25)]);
    }

    #[test]
    fn mallocs_rate_changes() {
        let mut both = samplers(Sources::NATIVE.and(Sources::OCAML));
        let told = both.change_rate(0.125).unwrap();
        assert_eq!((told.id, &*told.name, told.rate), (SamplerId(0), "malloc", 0.125));
        for nonsense in [0.0, -1.0, 1.5, f64::NAN] {
            assert_eq!(both.change_rate(nonsense), None);
        }
        assert_eq!(both.first_rate(), 0.125);
        assert_eq!(samplers(Sources::OCAML).change_rate(0.125), None);
    }

    #[test]
    fn malloc_alone() {
        let samplers = samplers(Sources::NATIVE);
        assert_eq!((samplers.first_rate(), samplers.facts().count()), (0.5, 1));
    }
}
