//! What traces in our own format tell beside events.

use lifetrace_trace::event::Event;
use lifetrace_trace::fact::{Exit, Fact, Generation};
use lifetrace_trace::ids::ThreadId;
use lifetrace_trace::lt::{Item, Reader};
use lifetrace_transport::message::{self, Body, CollectorTotals, SampleId};
use lifetrace_transport::segment::LostReason;
use lifetrace_transport::sources::{SourceName, Unit};

use super::tests::{Scene, play_the_child};
use super::*;
use crate::admission::EXACT_RING_BYTES;
use crate::fake::{allocation, managed};
use crate::notice::Notice;
use crate::outcome::{SessionEnd, SessionReport};
use crate::rate::{Rate, Rates};

struct TraceContents {
    facts: Vec<Fact>,
    /// Of births: sizes and threads.
    births: Vec<(u64, ThreadId)>,
    is_complete: bool,
}

fn scene(change: impl FnOnce(&mut CollectorOptions)) -> Scene {
    Scene::with_output("%p.lt", |options| {
        options.format = Format::Lt;
        change(options);
    })
}

fn read(session: &SessionReport) -> TraceContents {
    let mut reader = Reader::open(std::fs::File::open(&session.path).unwrap()).unwrap();
    let mut told = TraceContents { facts: Vec::new(), births: Vec::new(), is_complete: false };
    while let Some((_, item)) = reader.next().unwrap() {
        match item {
            Item::Fact(fact) => told.facts.push(fact),
            Item::Event(Event::Allocation(_)) => {
                let size = reader.birth().unwrap().size.bytes(64).0;
                told.births.push((size, reader.thread()));
            }
            Item::Event(_) => {}
        }
    }
    assert_eq!(reader.damages(), []);
    told.is_complete = reader.is_complete();
    told
}

#[test]
fn sizes_are_in_bytes_and_births_have_threads() {
    let scene = scene(|_| {});
    let agent = scene.agent();
    agent.say_as(message::ThreadId(3), 0, allocation(0, 13, &[0x10]));
    agent.say_as(message::ThreadId(4), 0, allocation(1, 7, &[0x10]));
    let told = read(&scene.only_session());
    assert!(told.is_complete);
    assert_eq!(told.births, [(13, ThreadId(3)), (7, ThreadId(4))]);
}

#[test]
fn the_process_and_what_the_user_says_of_it_come_first() {
    let label = ("build".to_owned(), "7".to_owned());
    let scene = scene(|options| options.labels = vec![label]);
    let _agent = scene.agent();
    let told = read(&scene.only_session());
    let [Fact::Process(process), Fact::Sampler(sampler), Fact::Label(label), rest @ ..] =
        &told.facts[..]
    else {
        panic!("{:?}", told.facts)
    };
    assert_eq!(process.pid, u64::from(std::process::id()));
    assert_eq!((&*process.runtime, &*sampler.name), ("native", "malloc"));
    assert_eq!((&*label.key, &*label.value), ("build", "7"));
    assert!(matches!(rest, [Fact::WallClock(_)]), "{rest:?}");
}

#[test]
fn losses_are_told_when_they_are_noticed() {
    let scene = scene(|_| {});
    let agent = scene.agent();
    agent.segment.header().count_lost(LostReason::NoStack);
    agent.segment.header().count_lost(LostReason::NoStack);
    agent.say(0, allocation(0, 8, &[]));
    let session = scene.only_session();
    let lost = read(&session).facts.into_iter().filter_map(|fact| match fact {
        Fact::Lost(lost) => Some((lost.reason.to_string(), lost.count)),
        _ => None,
    });
    assert_eq!(lost.collect::<Vec<_>>(), [("no-stack".to_owned(), 2)]);
    assert_eq!(session.lost, [(LostReason::NoStack, 2)]);
}

#[test]
fn the_end_of_a_process_is_told() {
    let scene = scene(|_| {});
    play_the_child(&scene);
    let session = scene.only_session();
    let told = read(&session);
    // Its parent, this process, may have asked for its status before the recorder saw its end.
    let end = told.facts.iter().find_map(|fact| match fact {
        Fact::Exit(exit) => Some(*exit),
        _ => None,
    });
    assert!(matches!(end, Some(Exit::Signal(9) | Exit::Unknown)), "{end:?}");
    assert_eq!((told.births.len(), session.end), (1000, SessionEnd::Died));
}

#[test]
fn a_child_tells_whose_child_it_is() {
    let scene = scene(|_| {});
    let parent = scene.agent();
    parent.say(0, allocation(0, 8, &[]));
    play_the_child(&scene);
    let sessions = scene.collector.finish().sessions;
    let [first, second] = &sessions[..] else { panic!("{sessions:?}") };
    let parent_of = |session| {
        read(session).facts.into_iter().find_map(|fact| match fact {
            Fact::Parent(parent) => Some((parent.pid, parent.trace.to_string())),
            _ => None,
        })
    };
    let pid = std::process::id();
    assert_eq!(parent_of(first), None);
    assert_eq!(parent_of(second), Some((pid.into(), format!("{pid}.lt"))));
}

#[test]
fn a_trace_of_the_greatest_size_is_finished() {
    const LIMIT: u64 = 100_000;
    let scene = scene(|options| options.max_size = Some(LIMIT));
    let agent = scene.agent();
    let mut id = 0;
    while !agent.segment.header().stopped() {
        let frames: Vec<u64> = (0..100).map(|depth| id * 1000 + depth).collect();
        agent.say(0, allocation(id, 8, &frames));
        id += 1;
    }
    let session = scene.only_session();
    assert!(session.is_full && session.error.is_none(), "{session:?}");
    assert!(session.bytes > LIMIT / 2 && session.bytes <= LIMIT, "{session:?}");
    let told = read(&session);
    assert!(told.is_complete && told.births.len() > 10);
    assert!(matches!(told.facts.last(), Some(Fact::Marker(_))), "{:?}", told.facts.last());
}

#[test]
fn whatever_the_limit_is_no_trace_is_longer() {
    for limit in [600, 1000, 2000, 5000, 10_000, 300_000] {
        let scene = scene(|options| options.max_size = Some(limit));
        let agent = scene.agent();
        let mut id = 0;
        while !agent.segment.header().stopped() && id < 1_000_000 {
            agent.say(0, allocation(id, 8 + id % 777, &[id % 13, 5]));
            agent.say(0, Body::Release { id: SampleId(id / 2) });
            id += 1;
        }
        let session = scene.only_session();
        assert!(session.bytes <= limit, "{limit}: {session:?}");
        assert_eq!(session.path.metadata().unwrap().len(), session.bytes);
    }
}

const OCAML: SourceName = SourceName::new("ocaml");

fn ocaml(options: &mut CollectorOptions) {
    let malloc = Rate::from_interval(4096).unwrap();
    let ocaml = Rate::from_probability_per_word(0.5).unwrap();
    options.sources = SourceChoice::Only(OCAML);
    options.rates = Rates::all(malloc).with(OCAML, ocaml);
    options.stack_limit = 77;
}

#[test]
fn an_agent_of_ocaml_is_told_what_is_wanted_and_its_trace_says_so() {
    let scene = scene(ocaml);
    let agent = scene.agent();
    let settings = *agent.segment.header().settings();
    let source = settings.sources.of(OCAML).unwrap();
    assert!(!settings.sources.has_malloc() && !settings.exact());
    assert_eq!((source.unit, source.rate, settings.stack_limit), (Unit::WORD, 0.5, 77));
    agent.say(0, Body::Runtime { name: OCAML, blocks_are_mallocs: false, version: b"4.14" });
    agent.say(0, managed(0, 24, &[0x10]));
    let session = scene.only_session();
    // This very program's file has none: the agent knows better.
    assert_eq!(session.notices, []);
    let facts = read(&session).facts;
    let samplers: Vec<_> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Sampler(sampler) => Some((sampler.id.0, &*sampler.name, sampler.rate)),
            _ => None,
        })
        .collect();
    assert_eq!(samplers, [(0, "ocaml", 0.5)]);
    let runtimes: Vec<_> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Process(process) => Some((&*process.runtime, &*process.runtime_version)),
            _ => None,
        })
        .collect();
    assert_eq!(runtimes, [("native", ""), ("ocaml", "4.14")]);
    assert!(!facts.iter().any(|fact| matches!(fact, Fact::Notice(_))));
}

#[test]
fn collections_and_totals_are_told() {
    let scene = scene(ocaml);
    let agent = scene.agent();
    for count in [3, 4, 4] {
        let (minor_collections, minor_words) = (Some(count), Some(count * 1000));
        let totals = CollectorTotals {
            minor_collections,
            minor_words,
            runtime: OCAML,
            ..Default::default()
        };
        agent.say(0, Body::from(&totals.to_bytes()));
    }
    for _ in 0..2 {
        agent.say(0, Body::Notice { code: b"ocaml-domains-misreported" });
    }
    let session = scene.only_session();
    let codes: Vec<_> = session.notices.iter().map(Notice::code).collect();
    assert_eq!(codes, ["ocaml-domains-misreported", "no-ocaml"]);
    let facts = read(&session).facts;
    let told: Vec<u64> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Cycle(cycle) if cycle.generation == Generation::Minor => Some(cycle.number),
            Fact::Collector(collector) => collector.minor_words,
            _ => None,
        })
        .collect();
    // The first figures say where counting begins.
    assert_eq!(told, [3000, 4, 4000]);
    let notices = facts.iter().filter(|fact| matches!(fact, Fact::Notice(_)));
    assert_eq!(notices.count(), 2);
}

#[test]
fn an_exact_session_has_large_rings() {
    let exact = Rate::EXACT;
    for (sources, is_large) in [(SourceChoice::Only(OCAML), true), (SourceChoice::Native, false)] {
        let scene = scene(|options| {
            options.sources = sources;
            options.rates = Rates::all(Rate::from_interval(4096).unwrap()).with(OCAML, exact);
        });
        let agent = scene.agent();
        let settings = *agent.segment.header().settings();
        assert_eq!(settings.ring_bytes == EXACT_RING_BYTES, is_large);
        let last = settings.ring_count as usize - 1;
        agent.say(last, allocation(0, 8, &[1]));
        assert_eq!(read(&scene.only_session()).births.len(), 1);
    }
}
