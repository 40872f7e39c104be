//! What the user wants to be sampled, and what is of a program therefore.

use lifetrace_transport::sources::{Source, SourceName, Sources};

use super::programs::Heaps;
use super::{ManagedHeap, RUNTIMES, Runtime, by_name};
use crate::notice::Notice;
use crate::rate::Rates;

/// What the user wants to be sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceChoice {
    /// The heap of the managed runtime that a program has, with malloc beside for some of them; else malloc.
    #[default]
    Auto,
    /// Malloc and its like.
    Native,
    /// The heap of this runtime.
    Only(SourceName),
    /// Malloc, the heap of the managed runtime that a program has, and mappings.
    All,
    /// Anonymous memory that programs have from the system themselves.
    Mappings,
    /// That, beside malloc or what [`Auto`](Self::Auto) is.
    MappingsAnd(Beside),
    /// The heap of this runtime in a program that has the agent linked in, and so knows that it has one.
    Linked(SourceName),
}

/// What is sampled beside mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// As [`SourceChoice::Auto`].
    Auto,
    /// As [`SourceChoice::Native`].
    Native,
    /// As [`SourceChoice::Only`].
    Only(SourceName),
}

impl SourceChoice {
    /// Whether mappings are told.
    pub fn has_mappings(self) -> bool {
        matches!(self, Self::All | Self::Mappings | Self::MappingsAnd(_))
    }

    /// What is sampled of blocks, if any are.
    pub fn of_blocks(self) -> Option<SourceChoice> {
        match self {
            Self::Mappings => None,
            Self::MappingsAnd(Beside::Auto) => Some(Self::Auto),
            Self::MappingsAnd(Beside::Native) => Some(Self::Native),
            Self::MappingsAnd(Beside::Only(name)) => Some(Self::Only(name)),
            other => Some(other),
        }
    }

    /// What is sampled so, and mappings beside.
    #[must_use]
    pub fn and_mappings(self) -> SourceChoice {
        match self {
            Self::Auto => Self::MappingsAnd(Beside::Auto),
            Self::Native => Self::MappingsAnd(Beside::Native),
            Self::Only(name) => Self::MappingsAnd(Beside::Only(name)),
            // The agent of a program that has it linked in does not hear them.
            other => other,
        }
    }

    /// Whether anybody wants to know what the program has.
    pub(crate) fn depends_on_program(self) -> bool {
        !matches!(self.of_blocks(), None | Some(Self::Native | Self::Linked(_)))
    }

    /// Whether a heap of this runtime is wanted, if there is one.
    pub(crate) fn wants(self, runtime: &dyn Runtime) -> bool {
        match self.of_blocks() {
            Some(Self::Auto | Self::All) => true,
            Some(Self::Only(name) | Self::Linked(name)) => name == runtime.name(),
            _ => false,
        }
    }

    /// What is sampled of a program, and what its user should know about that.
    pub(crate) fn settle(self, heaps: &Heaps, rates: &Rates) -> (Sources, Option<Notice>) {
        let of_blocks = self.of_blocks().map(|blocks| blocks.settle_blocks(heaps, rates));
        self.beside_mappings(of_blocks)
    }

    /// That, and mappings if they are told.
    fn beside_mappings(
        self,
        of_blocks: Option<(Sources, Option<Notice>)>,
    ) -> (Sources, Option<Notice>) {
        let (sources, notice) = of_blocks.unwrap_or((Sources::NONE, None));
        match self.has_mappings() {
            true => (sources.with(Source::mappings()), notice),
            false => (sources, notice),
        }
    }

    fn settle_blocks(self, heaps: &Heaps, rates: &Rates) -> (Sources, Option<Notice>) {
        let mut found = RUNTIMES.iter().copied().zip(heaps).filter(|(it, _)| self.wants(*it));
        let (sampled, unsampled) = match self {
            Self::Native | Self::Mappings | Self::MappingsAnd(_) => (None, None),
            // Of a runtime that is loaded later the agent finds out itself.
            Self::Only(name) => (by_name(name), found.next().and_then(notice_of_only)),
            Self::Linked(name) => (by_name(name), None),
            Self::Auto | Self::All => first_of(found),
        };
        let beside = sampled.map(|runtime| runtime.unit());
        let malloc = Sources::NONE.with(Source::malloc(rates.of_malloc(beside).per_word()));
        let sources = match (self, sampled) {
            (Self::Only(_) | Self::Linked(_), Some(runtime)) => {
                Sources::NONE.with(source(runtime, rates))
            }
            (Self::Auto, Some(runtime)) if !runtime.auto_has_malloc() => {
                Sources::NONE.with(source(runtime, rates))
            }
            (_, Some(runtime)) => malloc.with(source(runtime, rates)),
            (_, None) => malloc,
        };
        (sources, unsampled)
    }
}

fn source(runtime: &dyn Runtime, rates: &Rates) -> Source {
    let name = runtime.name();
    Source { name, unit: runtime.unit(), rate: rates.of(name).per_unit() }
}

fn notice_of_only((runtime, heap): (&dyn Runtime, &ManagedHeap)) -> Option<Notice> {
    match heap {
        ManagedHeap::Sampled => None,
        ManagedHeap::Unsampled(notice) => Some(Notice::OfRuntime(notice)),
        ManagedHeap::None => Some(Notice::OfRuntime(runtime.absence())),
    }
}

/// The first runtime whose heap can be sampled; if there is none, why that of the first one cannot.
fn first_of<'a>(
    found: impl Iterator<Item = (&'static dyn Runtime, &'a ManagedHeap)>,
) -> (Option<&'static dyn Runtime>, Option<Notice>) {
    let mut why = None;
    for (runtime, heap) in found {
        match heap {
            ManagedHeap::Sampled => return (Some(runtime), None),
            ManagedHeap::Unsampled(notice) => why = why.or(Some(Notice::OfRuntime(notice))),
            ManagedHeap::None => {}
        }
    }
    (None, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::Rate;
    use crate::runtimes::Language as _;
    use crate::runtimes::fake::Fake;
    use crate::runtimes::ocaml::OCaml;

    const UNSAMPLED: ManagedHeap = ManagedHeap::Unsampled(&WHY);
    static WHY: crate::notice::RuntimeNotice = crate::notice::RuntimeNotice::unsampled("why");

    fn rates() -> Rates {
        let rate = |rate| Rate::from_probability_per_word(rate).unwrap();
        Rates::all(rate(0.5)).with(OCaml.name(), rate(0.25)).with(Fake.name(), rate(0.125))
    }

    /// These two runtimes' heaps, and none of the others'.
    fn heaps(ocaml: ManagedHeap, fake: ManagedHeap) -> Heaps {
        let of = |name| if name == OCaml.name() { ocaml } else { fake };
        let mut heaps = [ManagedHeap::None; RUNTIMES.len()];
        for (heap, runtime) in heaps.iter_mut().zip(RUNTIMES) {
            let name = runtime.name();
            if name == OCaml.name() || name == Fake.name() {
                *heap = of(name);
            }
        }
        heaps
    }

    /// The names of what is sampled, and the notice's code.
    fn settled(choice: SourceChoice, heaps: Heaps) -> (Vec<String>, Option<String>) {
        let (sources, notice) = choice.settle(&heaps, &rates());
        let names = sources.iter().map(|source| source.name.to_string());
        (names.collect(), notice.map(|notice| notice.code().into_owned()))
    }

    fn check(choice: SourceChoice, expected: [(&[&str], Option<&str>); 3]) {
        let found = [ManagedHeap::None, ManagedHeap::Sampled, UNSAMPLED];
        for (heap, (names, notice)) in found.into_iter().zip(expected) {
            let (found, told) = settled(choice, heaps(heap, ManagedHeap::None));
            assert_eq!(
                (found, told.as_deref()),
                (names.iter().map(|it| (*it).to_owned()).collect(), notice),
                "{choice:?}"
            );
        }
    }

    #[test]
    fn each_choice_for_each_program() {
        let (malloc, ocaml) = (&["malloc"][..], &["ocaml"][..]);
        let (native, all) = (&["malloc", "mmap"][..], &["malloc", "ocaml", "mmap"][..]);
        let why = Some("why");
        check(SourceChoice::Native, [(malloc, None); 3]);
        check(SourceChoice::Auto, [(malloc, None), (ocaml, None), (malloc, why)]);
        check(SourceChoice::All, [(native, None), (all, None), (native, why)]);
        check(SourceChoice::Mappings, [(&["mmap"], None); 3]);
        check(SourceChoice::Native.and_mappings(), [(native, None); 3]);
        let auto = SourceChoice::Auto.and_mappings();
        check(auto, [(native, None), (&["ocaml", "mmap"], None), (native, why)]);
        let only = SourceChoice::Only(OCaml.name());
        check(only, [(ocaml, Some("no-ocaml")), (ocaml, None), (ocaml, why)]);
        let beside = &["ocaml", "mmap"][..];
        let expected = [(beside, Some("no-ocaml")), (beside, None), (beside, why)];
        check(only.and_mappings(), expected);
        check(SourceChoice::Linked(OCaml.name()), [(ocaml, None); 3]);
    }

    #[test]
    fn of_several_runtimes_the_first_that_can_be_sampled_is() {
        let auto = |found| settled(SourceChoice::Auto, found);
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            auto(heaps(ManagedHeap::Sampled, ManagedHeap::Sampled)),
            (names(&["ocaml"]), None)
        );
        // This one has malloc beside.
        let both = names(&["malloc", "fake"]);
        assert_eq!(auto(heaps(ManagedHeap::None, ManagedHeap::Sampled)), (both.clone(), None));
        assert_eq!(auto(heaps(UNSAMPLED, ManagedHeap::Sampled)), (both, None));
        let only = SourceChoice::Only(Fake.name());
        assert_eq!(
            settled(only, heaps(ManagedHeap::Sampled, ManagedHeap::Sampled)),
            (names(&["fake"]), None)
        );
        assert!(only.wants(&Fake) && !only.wants(&OCaml));
    }

    #[test]
    fn each_source_has_its_rate_and_its_unit() {
        let (sources, _) =
            SourceChoice::All.settle(&heaps(ManagedHeap::None, ManagedHeap::Sampled), &rates());
        assert_eq!(sources.malloc().map(|it| it.rate), Some(0.5));
        let managed = sources.managed().unwrap();
        assert_eq!((managed.unit, managed.rate), (Fake.unit(), 0.125));
        let beside = Rate::from_probability_per_word(1e-6).unwrap();
        let rates = rates().with_malloc_beside_objects(beside);
        let of_malloc = |ocaml, fake| {
            let (sources, _) = SourceChoice::All.settle(&heaps(ocaml, fake), &rates);
            sources.malloc().map(|it| it.rate)
        };
        let [none, sampled] = [ManagedHeap::None, ManagedHeap::Sampled];
        let found = [of_malloc(none, sampled), of_malloc(sampled, none), of_malloc(none, none)];
        assert_eq!(found, [Some(1e-6), Some(0.5), Some(0.5)]);
    }
}
