//! Pages of traces as they are, and of what is left of damaged ones.

use std::path::Path;

use lifetrace_study::Study;
use lifetrace_study::choice::Choice;
use lifetrace_study::watch::unwatched;
use proptest::prelude::*;

use crate::made::{Step, written};
use crate::*;

/// Says where two lists part, not what all of them is.
pub fn check_same<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T], what: &str) {
    let differing = found.iter().zip(expected).position(|(a, b)| a != b);
    if let Some(at) = differing {
        panic!("{what} {at}: {:?} is not {:?}", found[at], expected[at]);
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

fn check(study: &Study) -> Decoded {
    let decoded = decode(study, ALL);
    let (lives, events) = heard::heard(study);
    let name = study.reading.trace.path.display();
    check_same(&decoded.lives(), &lives, &format!("{name}: life"));
    check_same(&decoded.events(), &events, &format!("{name}: event"));
    decoded
}

#[test]
fn a_page_has_all_lives_in_their_order() {
    for path in fixtures() {
        let study = study(&path);
        let decoded = check(&study);
        let facts = decoded.facts();
        let summary = study.reading.profile.summary();
        assert_eq!(facts["exact"], summary.sampling.is_exact());
        assert_eq!(facts["samples_in_trace"], study.reading.profile.replay().births());
        assert_eq!(facts["thinned"], serde_json::Value::Null);
        if summary.samples > 0 {
            assert_eq!(facts["peak"], summary.peak.time.as_micros() as u64, "{}", path.display());
        }
    }
}

#[test]
fn samples_are_small() {
    for path in fixtures() {
        let study = study(&path);
        let decoded = decode(&study, ALL);
        let samples = study.reading.profile.summary().samples as usize;
        let bytes = decoded.bytes_of(&["sample.", "change.", "kind."]);
        assert!(bytes <= 25 * samples.max(10), "{}: {bytes} of {samples}", path.display());
    }
}

#[test]
fn documents_are_those_of_reports() {
    let decoded = decode(&study(&fixture("server-1e-5.ctf")), ALL);
    let documents = decoded.header["documents"].as_object().unwrap();
    assert_eq!(documents.keys().collect::<Vec<_>>(), ["summary", "leaks", "promotion", "gc"]);
    for (view, document) in documents {
        assert_eq!(document["view"], view.as_str());
        assert_eq!(document["filter"], serde_json::Value::Null);
        assert!(document["callsites"].as_array().is_some_and(|it| !it.is_empty()), "{view}");
    }
    let native = decode(&study(&fixture("native-python.lt")), ALL);
    let documents = native.header["documents"].as_object().unwrap();
    assert_eq!(documents.keys().collect::<Vec<_>>(), ["summary", "leaks"]);
}

#[test]
fn the_process_is_told_beside() {
    let decoded = decode(&study(&fixture("native-python.lt")), ALL);
    let [time, resident] = ["memory.time", "memory.resident"].map(|it| decoded.numbers(it));
    assert!(!time.is_empty() && time.is_sorted() && resident.len() == time.len());
    let most = resident.iter().copied().fold(0.0, f64::max);
    let told =
        decoded.header["documents"]["summary"]["trace"]["facts"]["peak_resident_bytes"].as_f64();
    assert!(most > 1e6 && told.unwrap() >= most);
}

#[test]
fn what_is_left_of_a_damaged_trace_is_in_its_page() {
    for name in ["sample-v2.1.lt", "leaking.lt", "listmap-1e-5.ctf", "lost.lt"] {
        let whole = std::fs::read(fixture(name)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let mut pages = 0;
        for part in 1..16 {
            let mut bytes = whole[..whole.len() * part / 16].to_vec();
            check_left(&path, &bytes, &mut pages);
            bytes.extend_from_slice(&whole[bytes.len()..]);
            let at = whole.len() * part / 16;
            bytes[at..(at + 9).min(whole.len())].fill(0x5a);
            check_left(&path, &bytes, &mut pages);
        }
        assert!(pages > 12, "{name}: {pages}");
    }
}

fn check_left(path: &Path, bytes: &[u8], pages: &mut u64) {
    std::fs::write(path, bytes).unwrap();
    let Ok(study) = Study::of(path, Choice::default(), unwatched) else { return };
    let decoded = check(&study);
    let damage = decoded.facts()["damage"].as_array().unwrap();
    let has_damage =
        !study.reading.damages.is_empty() || study.reading.damages.unfinished.is_some();
    assert_eq!(damage.is_empty(), !has_damage);
    *pages += 1;
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![4 => 0u64..3, 2 => 0u64..5000, 1 => 0u64..1 << 40];
    let step = (wait, 0u8..8, 0u64..60, 0usize..5, 0u32..4, 1u64..1 << 30);
    let step = step.prop_map(|(wait, what, block, depth, thread, bytes)| Step {
        wait,
        what,
        block,
        depth,
        thread,
        bytes,
    });
    prop::collection::vec(step, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_is_in_the_page(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made.lt");
        std::fs::write(&path, written(&steps, &["main", "f", "", "g<T>(int)", "malloc"])).unwrap();
        check(&study(&path));
    }
}
