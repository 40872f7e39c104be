//! How densely to sample, as people type it.

use std::hash::{BuildHasher, RandomState};

use anyhow::bail;
use lifetrace_recorder::{Rate, Rates, SourceChoice, SourceName};

use super::quantity;

/// Samples in so many bytes of malloc's, where nothing is said.
const DEFAULT_INTERVAL: u64 = 512 << 10;

/// The managed runtimes whose heaps can be asked for.
const MANAGED: &[Managed] = &[
    Managed {
        name: "ocaml",
        usual: MEMTRACES_RATE,
        variable: Some("MEMTRACE_RATE"),
        counts_objects: false,
    },
    Managed { name: "ruby", usual: OF_RUBYS_OBJECTS, variable: None, counts_objects: true },
];

/// One object in a thousand of Ruby's, where nothing is said.
const OF_RUBYS_OBJECTS: f64 = 1e-3;

/// Memtrace samples so where nothing is said.
const MEMTRACES_RATE: f64 = 1e-6;

/// A managed runtime, as users know it.
struct Managed {
    name: &'static str,
    /// The probability that a unit of its heap is hit, where nothing is said.
    usual: f64,
    /// Where its programs' users look for that.
    variable: Option<&'static str>,
    /// Its sampler hits objects: what is said of bytes is not said of it, nor the other way round, but that all of them
    /// are sampled.
    counts_objects: bool,
}

/// A probability, of what the source counts: bytes of malloc's, words or objects of a managed heap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cmd) struct Probability {
    of_a_byte: Rate,
    of_a_word: Rate,
}

/// How densely is to be sampled, as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cmd) struct Density {
    pub(in crate::cmd) interval: Option<Rate>,
    pub(in crate::cmd) rate: Option<Probability>,
}

impl Density {
    /// What is said of a source holds for it. Where both options are given, the interval is malloc's and
    /// the rate the managed heaps'; one that is given alone is for both, unless objects are hit: then a rate is theirs,
    /// and an interval malloc's. `variable` is what the environment says of a
    /// managed heap where nothing else is said.
    ///
    /// # Errors
    /// If both say something of the only source.
    pub(in crate::cmd) fn rates(
        self,
        sources: SourceChoice,
        variable: impl Fn(&str) -> Option<Probability>,
    ) -> anyhow::Result<Rates> {
        let Density { interval, rate } = self;
        let blocks = sources.of_blocks();
        if blocks.is_none() && (interval.is_some() || rate.is_some()) {
            bail!("mappings are all told: --interval and --rate say nothing of them");
        }
        let has_one = matches!(blocks, Some(SourceChoice::Native | SourceChoice::Only(_)));
        if has_one && interval.is_some() && rate.is_some() {
            bail!("--interval and --rate are about the same source here; give one of them");
        }
        let has_objects = |it: &&Managed| {
            it.counts_objects && blocks == Some(SourceChoice::Only(SourceName::new(it.name)))
        };
        if interval.is_some_and(|it| !it.is_exact())
            && let Some(managed) = MANAGED.iter().find(has_objects)
        {
            bail!(
                "--interval is about bytes, and {} is sampled by objects: give --rate",
                managed.name
            );
        }
        let malloc = interval.or(rate.map(|it| it.of_a_byte));
        let least = || Rate::from_interval(DEFAULT_INTERVAL).unwrap_or(Rate::EXACT);
        let rate = rate.map(|it| it.of_a_word);
        let exact = || rate.or(interval).filter(|it| it.is_exact());
        let beside_objects = interval.or_else(exact).unwrap_or_else(least);
        let rates = Rates::all(malloc.unwrap_or_else(least));
        let rates = rates.with_malloc_beside_objects(beside_objects);
        Ok(MANAGED.iter().fold(rates, |rates, managed| {
            let in_environment = managed.variable.and_then(&variable).map(|it| it.of_a_word);
            let of_bytes = if managed.counts_objects { exact() } else { interval };
            let rate = rate.or(of_bytes).or(in_environment).unwrap_or_else(|| managed.usual_rate());
            rates.with(SourceName::new(managed.name), rate)
        }))
    }
}

impl Managed {
    fn usual_rate(&self) -> Rate {
        Rate::from_probability_per_word(self.usual).unwrap_or(Rate::EXACT)
    }
}

/// What mappings are called.
const MAPPINGS: &str = "mmap";

/// What is sampled, by its name; mappings may be named beside.
pub(in crate::cmd) fn sources(text: &str) -> Result<SourceChoice, String> {
    match text.split_once(',') {
        None if text == MAPPINGS => Ok(SourceChoice::Mappings),
        None => blocks(text),
        Some((of_blocks, MAPPINGS) | (MAPPINGS, of_blocks)) if of_blocks != MAPPINGS => {
            blocks(of_blocks).map(SourceChoice::and_mappings)
        }
        Some(_) => Err(format!("two can be named if one is {MAPPINGS}: native,{MAPPINGS}")),
    }
}

/// What of blocks is sampled, by its name.
fn blocks(text: &str) -> Result<SourceChoice, String> {
    let names: Vec<_> = MANAGED.iter().map(|managed| managed.name).collect();
    match text {
        "auto" => Ok(SourceChoice::Auto),
        "native" => Ok(SourceChoice::Native),
        "all" => Ok(SourceChoice::All),
        _ if names.contains(&text) => Ok(SourceChoice::Only(SourceName::new(text))),
        _ => Err(format!("there are auto, native, {}, {MAPPINGS} and all", names.join(", "))),
    }
}

/// A mean distance between samples: a whole number of bytes, with a unit if need be.
pub(in crate::cmd) fn interval(text: &str) -> Result<Rate, String> {
    let bytes = quantity::bytes(text)?;
    Rate::from_interval(bytes).ok_or_else(|| "must be at least 1 byte".to_owned())
}

/// A probability.
pub(in crate::cmd) fn rate(text: &str) -> Result<Probability, String> {
    let probability: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let of_a_byte = Rate::from_probability_per_byte(probability);
    let both = of_a_byte.zip(Rate::from_probability_per_word(probability));
    both.map(|(of_a_byte, of_a_word)| Probability { of_a_byte, of_a_word })
        .ok_or_else(|| "not a probability above 0 and at most 1".to_owned())
}

/// Different at each call.
pub(in crate::cmd) fn random_seed() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OCAML: SourceChoice = SourceChoice::Only(SourceName::new("ocaml"));

    #[test]
    fn intervals() {
        let check = |text: &str, bytes: u64| {
            assert_eq!(interval(text), Ok(Rate::from_interval(bytes).unwrap()), "{text}");
        };
        check("1", 1);
        check("1.00000000000000000000000000000000000000000000", 1);
        check("4096", 4096);
        check("4096B", 4096);
        check("512KiB", 512 << 10);
        check("512 KiB", 512 << 10);
        check("512k", 512 << 10);
        check("512kb", 512_000);
        check("0.5M", 512 << 10);
        check("1.5KiB", 1536);
        check("1MB", 1_000_000);
        check("2GiB", 2 << 30);
        check("3.0", 3);
        check("18446744073709551615", u64::MAX);
    }

    #[test]
    fn intervals_that_make_no_sense() {
        for text in [
            "",
            "0",
            "0KiB",
            "-1",
            "-1KiB",
            "3.5",
            "0.3KiB",
            "potato",
            "KiB",
            "1e3",
            "1 2",
            "1TiBs",
            "NaN",
            "inf",
            ".",
            "1.2.3",
            "18446744073709551616",
            "99999999999GiB",
            "１",
        ] {
            assert!(interval(text).is_err(), "{text:?}: {:?}", interval(text));
        }
    }

    #[test]
    fn rates() {
        let check = |text: &str, probability| {
            let found = rate(text).unwrap();
            assert_eq!(Some(found.of_a_byte), Rate::from_probability_per_byte(probability));
            assert_eq!(found.of_a_word.per_word(), probability);
        };
        check("1", 1.0);
        check("0.25", 0.25);
        check("1e-5", 1e-5);
        for text in ["", "0", "-0.0", "-1", "1.0001", "3.5", "NaN", "inf", "potato", "1KiB"] {
            assert!(rate(text).is_err(), "{text:?}");
        }
    }

    fn check(
        sources: SourceChoice,
        (interval, rate, default): (Option<&str>, Option<&str>, Option<&str>),
        expected: (f64, f64),
    ) {
        let parsed = |text: Option<&str>| text.map(|text| self::rate(text).unwrap());
        let interval = interval.map(|text| self::interval(text).unwrap());
        let density = Density { interval, rate: parsed(rate) };
        let rates = density.rates(sources, |_| parsed(default)).unwrap();
        let found = (rates.malloc.per_word(), rates.of(SourceName::new("ocaml")).per_word());
        let is_close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-3;
        assert!(is_close(found.0, expected.0) && is_close(found.1, expected.1), "{found:?}");
    }

    #[test]
    fn one_option_is_for_both_sources_and_two_are_for_one_each() {
        use SourceChoice::{All, Auto, Native};
        let usual = 8.0 / 524_288.0;
        for sources in [Auto, Native, OCAML, All] {
            check(sources, (None, None, None), (usual, 1e-6));
            check(sources, (None, Some("1e-4"), None), (8e-4, 1e-4));
            check(sources, (Some("64KiB"), None, None), (8.0 / 65536.0, 8.0 / 65536.0));
            check(sources, (None, None, Some("1e-3")), (usual, 1e-3));
            // What is typed outweighs the environment.
            check(sources, (Some("64KiB"), None, Some("1e-3")), (8.0 / 65536.0, 8.0 / 65536.0));
            check(sources, (None, Some("1e-4"), Some("1e-3")), (8e-4, 1e-4));
        }
        for sources in [Auto, All] {
            check(sources, (Some("64KiB"), Some("1e-4"), None), (8.0 / 65536.0, 1e-4));
        }
        check(All, (Some("1"), Some("1"), None), (1.0, 1.0));
    }

    #[test]
    fn what_is_said_of_bytes_is_not_said_of_objects() {
        let density = |interval: Option<&str>, rate: Option<&str>| Density {
            interval: interval.map(|text| self::interval(text).unwrap()),
            rate: rate.map(|text| self::rate(text).unwrap()),
        };
        let check = |interval, rate, expected: (f64, f64)| {
            let rates = density(interval, rate).rates(SourceChoice::Auto, |_| None).unwrap();
            let malloc = Rate::from_probability_per_word(expected.0).unwrap();
            let ruby = SourceName::new("ruby");
            assert_eq!(rates.of(ruby).per_word(), expected.1, "{interval:?} {rate:?}");
            assert_eq!(rates.clone().with_malloc_beside_objects(malloc), rates);
        };
        let of_interval = |bytes| Rate::from_interval(bytes).unwrap().per_word();
        check(None, None, (of_interval(512 << 10), 1e-3));
        check(None, Some("0.25"), (of_interval(512 << 10), 0.25));
        check(Some("64KiB"), None, (of_interval(64 << 10), 1e-3));
        check(Some("64KiB"), Some("0.25"), (of_interval(64 << 10), 0.25));
        check(None, Some("1"), (1.0, 1.0));
        check(Some("1"), None, (1.0, 1.0));
        let ruby = SourceChoice::Only(SourceName::new("ruby"));
        let refused = density(Some("64KiB"), None).rates(ruby, |_| None).unwrap_err();
        assert!(refused.to_string().contains("give --rate"), "{refused}");
        assert!(density(Some("1"), None).rates(ruby, |_| None).is_ok());
    }

    #[test]
    fn both_options_for_one_source_contradict_each_other() {
        let both = Density { interval: interval("1KiB").ok(), rate: rate("1").ok() };
        for sources in [SourceChoice::Native, OCAML] {
            assert!(both.rates(sources, |_| None).is_err());
            assert!(both.rates(sources.and_mappings(), |_| None).is_err());
        }
        let one = Density { rate: None, ..both };
        assert!(one.rates(SourceChoice::Mappings, |_| None).is_err());
        let none = Density { interval: None, ..one };
        assert!(none.rates(SourceChoice::Mappings, |_| None).is_ok());
    }

    #[test]
    fn sources_have_names() {
        let names = ["auto", "native", "ocaml", "all"].map(|name| sources(name).unwrap());
        use SourceChoice::{All, Auto, Native};
        assert_eq!(names, [Auto, Native, OCAML, All]);
        assert!(sources("").is_err());
        let known = "there are auto, native, ocaml, ruby, mmap and all";
        assert_eq!(sources("rubin").unwrap_err(), known);
        assert_eq!(sources("mmap"), Ok(SourceChoice::Mappings));
        for both in ["native,mmap", "mmap,native"] {
            assert_eq!(sources(both), Ok(Native.and_mappings()));
        }
        assert_eq!(sources("all,mmap"), Ok(All));
        assert_eq!(sources("rubin,mmap").unwrap_err(), known);
        assert!(sources("native,ocaml").is_err() && sources("mmap,mmap").is_err());
    }

    #[test]
    fn seeds_differ() {
        assert_ne!(random_seed(), random_seed());
    }
}
