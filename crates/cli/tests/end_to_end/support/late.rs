//! What is heard of the managed heap of a program that was attached to.

use lifetrace_trace::event::Source;

use super::attached::{Attached, Recorder};
use super::births::Birth;
use super::run::lifetrace_verb;

/// Each word, or each object.
pub const EXACT: [&str; 2] = ["--rate", "1"];
/// So that what is estimated has an interval that a mistake does not fit into.
pub const DENSE: [&str; 2] = ["--rate", "0.01"];
/// How many standard deviations an estimate may be off. Each run has chances of its own, so that two of them, as in an
/// interval of 95 %, would be too few in one run of twenty.
const SIGMAS: f64 = 5.0;

/// Blocks of the managed heap whose backtrace has this function.
pub fn of<'a>(births: &'a [Birth], function: &'a str) -> impl Iterator<Item = &'a Birth> {
    let is_managed = |it: &&Birth| matches!(it.source, Source::Minor | Source::Major);
    births.iter().filter(is_managed).filter(move |it| it.functions().any(|name| name == function))
}

/// All of its code. The system may tell of it in more parts than before.
pub fn code(program: &Attached) -> Vec<u8> {
    program.code().into_iter().flat_map(|(_, bytes)| bytes).collect()
}

/// Waits until its code is as it was: the runtime has to come to a safe place first.
pub fn wait_for_code(program: &mut Attached, before: &[u8]) {
    const TRIES: usize = 50;
    for _ in 0..TRIES {
        assert_eq!(program.say("collect"), "done\n");
        if code(program) == before {
            return;
        }
    }
    panic!("some byte was not put back");
}

pub fn report(program: &Attached, words: &[&str]) -> String {
    let trace = program.trace();
    lifetrace_verb(&[&["report", trace.to_str().unwrap()], words].concat()).stdout_text()
}

/// That what was counted is what is estimated of `of`, as nearly as an estimate can tell: what is asked of the runtime
/// itself takes up to a hundredth. A recorder that others keep from its work loses samples, and says how many.
pub fn check_estimate(program: &Attached, filter: &str, of: &str, counted: f64) {
    let page: serde_json::Value =
        serde_json::from_str(&report(program, &["--json", "--filter", filter])).unwrap();
    let number = |name: String| page["totals"]["allocated"][name].as_f64().unwrap();
    let [estimate, low, high] = ["", "_low95", "_high95"].map(|end| number(format!("{of}{end}")));
    let deviation = (high - low) / 2.0 / 1.96;
    assert!(SIGMAS * deviation < 0.1 * counted, "{deviation} of {counted}");
    let losses = page["trace"]["facts"]["lost"].as_object().unwrap();
    let lost: f64 = losses.values().map(|it| it.as_f64().unwrap()).sum();
    let slack = counted * (0.01 + lost / (lost + number("samples".to_owned())));
    let off = (estimate - counted).abs();
    assert!(off < SIGMAS * deviation + slack, "{estimate} ± {deviation}, {counted}; {losses:?}");
}

pub fn terminate(recorder: Recorder) {
    let (code, said) = recorder.terminate();
    assert_eq!(code, Some(0), "{said}");
}
