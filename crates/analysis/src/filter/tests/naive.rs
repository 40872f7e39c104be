//! A naive twin of the evaluation: it tries every microsecond, and knows no windows.
//!
//! It is only asked about short traces, so that a quantifier over time is a loop.

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::Timestamp;
use proptest::prelude::*;

use super::super::*;
use super::strategies::{self, OwnedLife};

/// Beyond all moments and events that are asked about.
const FAR: i128 = 400;

struct Trace<'a> {
    start: i128,
    last: i128,
    peak: i128,
    clock: &'a [ClockReading],
}

impl Trace<'_> {
    fn end(&self) -> i128 {
        self.last + 1
    }

    /// What the wall clock shows.
    fn shows(&self, moment: i128) -> i128 {
        let passed = |reading: &&ClockReading| i128::from(reading.at.0) <= moment;
        self.clock.iter().rev().find(passed).map_or(moment, |reading| {
            i128::from(reading.shows.0) + moment - i128::from(reading.at.0)
        })
    }

    fn moment(&self, moment: &Moment) -> i128 {
        let text = moment.to_string();
        let micros = |text: &str| {
            let span = Filter::parse_all([format!("allocated at {text}")]).unwrap();
            let Claim::Allocated(When::At(Moment::From(Anchor::Start, offset))) =
                span.terms()[0].claim
            else {
                panic!("{text}")
            };
            offset
        };
        match moment {
            Moment::Share(share) => {
                let millionths: f64 = text.trim_end_matches('%').parse::<f64>().unwrap() * 1e4;
                assert_eq!(Share::new(millionths.round() as u32), Some(*share));
                self.start
                    + (self.end() - self.start).max(0) * millionths.round() as i128 / 1_000_000
            }
            Moment::Date(date) => (-FAR..FAR * 10)
                .find(|&moment| self.shows(moment) >= i128::from(date.time().0))
                .unwrap_or(i128::from(date.time().0).max(FAR * 10)),
            Moment::From(anchor, offset) => {
                let at = match anchor {
                    Anchor::Start => self.start,
                    Anchor::End => self.end(),
                    Anchor::Peak => self.peak,
                };
                let distance = offset.to_string();
                let value = micros(&distance[1..]);
                let forward = number_of(value);
                at + if distance.starts_with('-') { -forward } else { forward }
            }
        }
    }
}

/// An offset's microseconds, by what it is written as.
fn number_of(offset: Offset) -> i128 {
    let text = offset.to_string();
    let digits = text.find(|next: char| next.is_alphabetic()).unwrap();
    let scale = match &text[digits..] {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "min" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        other => panic!("{other}"),
    };
    text[..digits].parse::<i128>().unwrap() * scale
}

fn is_then(trace: &Trace<'_>, when: &When, at: i128) -> bool {
    match when {
        When::At(moment) => at == trace.moment(moment),
        When::Before(moment) => at < trace.moment(moment),
        When::After(moment) => at >= trace.moment(moment),
        When::Between(first, second) => trace.moment(first) <= at && at < trace.moment(second),
    }
}

fn is_within<T: Copy>(limits: &Limits<T>, value: i128, number: impl Fn(T) -> i128) -> bool {
    match *limits {
        Limits::Equal(limit) => value == number(limit),
        Limits::Below(limit) => value < number(limit),
        Limits::AtMost(limit) => value <= number(limit),
        Limits::Above(limit) => value > number(limit),
        Limits::AtLeast(limit) => value >= number(limit),
        Limits::Between(first, second) => number(first) <= value && value < number(second),
    }
}

fn lasts(trace: &Trace<'_>, limits: &Limits<Span>, life: &OwnedLife) -> bool {
    let number = |span| match span {
        Span::Time(micros) => i128::from(micros.get()),
        Span::Share(share) => trace.moment(&Moment::Share(share)) - trace.start,
    };
    let holds = |lifetime| is_within(limits, lifetime, number);
    match life.died {
        Some(died) => holds(died.saturating_sub(life.born).into()),
        // It may live for any time from its age on: the claim must hold whatever it is.
        None => {
            let age = (trace.end() - i128::from(life.born)).max(0);
            let ever = i128::MAX / 2;
            holds(age) && holds(ever) && !matches!(limits, Limits::Equal(_) | Limits::Between(..))
        }
    }
}

fn comes_from(source: KnownSource, life: &OwnedLife) -> bool {
    match (source, life.sampler) {
        (KnownSource::Minor, _) => life.source == Source::Minor,
        (KnownSource::Major, _) => life.source == Source::Major,
        (KnownSource::External, _) => life.source == Source::External,
        (KnownSource::Native, None | Some("malloc")) => life.source == Source::External,
        (KnownSource::OCaml, None) => life.source != Source::External,
        (KnownSource::OCaml, Some("ocaml")) | (KnownSource::Ruby, Some("ruby")) => true,
        (KnownSource::Mmap, Some("mmap" | "arena")) => true,
        (KnownSource::Arena, Some("arena")) => true,
        _ => false,
    }
}

fn claim_holds(trace: &Trace<'_>, claim: &Claim, life: &OwnedLife) -> bool {
    let happened = |when: &Option<When>, at: Option<u64>| {
        at.is_some_and(|at| when.is_none_or(|when| is_then(trace, &when, at.into())))
    };
    match claim {
        Claim::Preset(preset) => preset.terms().iter().all(|term| holds(trace, term, life)),
        Claim::Allocated(when) => is_then(trace, when, life.born.into()),
        Claim::Freed(when) => happened(when, life.died),
        Claim::Promoted(when) => happened(when, life.promoted),
        Claim::Alive(when) => (-FAR..FAR).any(|moment| {
            let is_alive = i128::from(life.born) <= moment
                && life.died.is_none_or(|died| moment < i128::from(died));
            is_alive && is_then(trace, when, moment)
        }),
        Claim::InOldHeap => life.promoted.is_some() || life.source == Source::Major,
        Claim::Size(limits) => is_within(limits, life.bytes.into(), |size| i128::from(size.0.0)),
        Claim::Lifetime(limits) => lasts(trace, limits, life),
        Claim::Thread(ThreadClaim::Number(number)) => life.thread == Some(number.0),
        Claim::Thread(ThreadClaim::Name(name)) => {
            life.thread_name.is_some_and(|thread| name.matches(thread))
        }
        Claim::Source(SourceClaim::Known(source)) => comes_from(*source, life),
        Claim::Source(SourceClaim::Sampler(name)) => {
            life.sampler.is_some_and(|sampler| name.matches(sampler))
        }
        Claim::Frame(_) | Claim::Label(_) => true,
    }
}

fn holds(trace: &Trace<'_>, term: &Term, life: &OwnedLife) -> bool {
    claim_holds(trace, &term.claim, life) != term.negated
}

/// All times are short, so that trying every microsecond is enough.
fn is_short(filter: &Filter, trace: &Trace<'_>) -> bool {
    let terms: Vec<Term> = filter
        .terms()
        .iter()
        .flat_map(|term| match term.claim {
            Claim::Preset(preset) => preset.terms(),
            _ => vec![term.clone()],
        })
        .collect();
    let moments = terms.iter().flat_map(|term| term.claim.moments().collect::<Vec<_>>());
    moments.into_iter().all(|moment| match moment {
        Moment::Date(date) => date.time().0 < 200,
        _ => trace.moment(&moment).abs() < FAR - 100,
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        max_global_rejects: 1_000_000,
        max_local_rejects: 1_000_000,
        ..ProptestConfig::default()
    })]
    #[test]
    fn evaluation_is_as_the_naive_one(
        filter in strategies::life_filter(),
        life in strategies::life(200),
        (start, last, peak, clock) in strategies::bounds(),
    ) {
        let trace = Trace { start: start.into(), last: last.into(), peak: peak.into(), clock: &clock };
        prop_assume!(is_short(&filter, &trace));
        let bounds = Bounds {
            start: Timestamp(start),
            end: Some(Timestamp(last)),
            peak: Some(Timestamp(peak)),
            clock: &clock,
        };
        let resolved = filter.resolve(&bounds).unwrap();
        let (whole, mut life) = (life.clone(), life);
        let in_old_heap = |term: &Term| term.claim == Claim::InOldHeap && !term.negated;
        if filter.terms().iter().any(in_old_heap) && life.source != Source::Major {
            life.born = life.promoted.unwrap_or(life.born);
        }
        let expected = filter.terms().iter().all(|term| holds(&trace, term, &life));
        prop_assert_eq!(resolved.matches(&whole.life()), expected, "{}", filter);
    }

    /// What a filter does not need may be anything.
    #[test]
    fn what_is_not_needed_does_not_matter(
        filter in strategies::life_filter(),
        life in strategies::life(u64::MAX),
        other in strategies::life(u64::MAX),
        (start, last, peak, clock) in strategies::bounds(),
    ) {
        let needs = filter.needs();
        let bounds = Bounds {
            start: Timestamp(start),
            end: Some(Timestamp(last)),
            peak: Some(Timestamp(peak)),
            clock: &clock,
        };
        let poor_bounds = Bounds {
            end: bounds.end.filter(|_| needs.end),
            peak: bounds.peak.filter(|_| needs.peak),
            clock: if needs.clock { &clock } else { &[] },
            ..bounds
        };
        let mut poor = life.clone();
        poor.died = if needs.death { life.died } else { other.died };
        poor.promoted = if needs.promotion { life.promoted } else { other.promoted };
        poor.thread_name = if needs.thread_name { life.thread_name } else { other.thread_name };
        let (rich, poorly) =
            (filter.resolve(&bounds).unwrap(), filter.resolve(&poor_bounds).unwrap());
        prop_assert_eq!(rich.matches(&life.life()), poorly.matches(&poor.life()), "{}", filter);
    }
}
