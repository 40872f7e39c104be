//! What pages conclude of programs of which we know what they do.

use std::path::Path;

use serde_json::Value;

use crate::support::ocaml;
use crate::support::run::{Recording, Target, lifetrace_verb};

/// A page as JSON.
fn page(trace: &Path, arguments: &[&str]) -> Value {
    let trace = trace.to_str().unwrap();
    let page = lifetrace_verb(&[&["report", trace, "--json"], arguments].concat());
    assert_eq!(page.code, 0, "{page:?}");
    serde_json::from_slice(&page.stdout).unwrap()
}

/// The callsites that are said to leak, and their rates in bytes an hour: the rate and its interval.
fn leaking(page: &Value) -> Vec<(&str, [f64; 3])> {
    let sites = page["callsites"].as_array().unwrap();
    let leaks = sites.iter().filter(|site| site["kind"] == "leak");
    leaks.map(|site| (site["function"].as_str().unwrap(), rate(&site["growth"]))).collect()
}

fn rate(growth: &Value) -> [f64; 3] {
    ["bytes_per_hour", "bytes_per_hour_low95", "bytes_per_hour_high95"]
        .map(|field| growth[field].as_f64().unwrap())
}

fn four_behaviours(seconds: &str) -> Recording {
    let target = Target::new(&[&ocaml::native("four_behaviours")]).arguments(&[seconds]);
    let recording = target.record(&["--rate", "1e-2", "--seed", "1"]);
    assert_eq!(recording.outcome.code, 0, "{:?}", recording.outcome);
    recording
}

/// All of them allocate by the same functions of the standard library, one of them for ever.
#[test]
fn a_line_that_leaks_by_the_standard_library() {
    let recording = four_behaviours("12");
    let said = recording.outcome.stdout_text();
    let bytes_per_second: f64 = said.split_whitespace().nth(1).unwrap().parse().unwrap();
    let page = page(&recording.traces()[0], &["--view", "leaks"]);
    let leaks = leaking(&page);
    let [(function, [rate, low, high])] = leaks[..] else { panic!("{leaks:?}") };
    assert_eq!(function, "Four_behaviours.leak");
    // Five standard deviations; the interval has two on each side.
    let bound = 2.6 * (high - low).max(0.02 * rate) / 2.0;
    let expected = 3600.0 * bytes_per_second;
    assert!((rate - expected).abs() < bound, "{rate} ({low} to {high}), expected {expected}");
}

/// Whoever says so has other machinery.
#[test]
fn callsites_are_where_the_user_says() {
    let recording = four_behaviours("1");
    let trace = &recording.traces()[0];
    let first = |arguments: &[&str]| {
        let page = page(trace, &[&["--view", "hot", "--metric", "live"], arguments].concat());
        page["callsites"][0]["function"].as_str().unwrap().to_owned()
    };
    assert_eq!(first(&["--no-machinery"]), "Stdlib__Bytes.make");
    assert_eq!(first(&["--machinery", "fn~^Four_behaviours[.]"]), "Four_behaviours");
    let filtered = ["--filter", "innermost fn=Four_behaviours.session"];
    assert_eq!(first(&filtered), "Four_behaviours.session");
}

/// What was sampled is at rest; the process is not.
#[test]
fn memory_that_grows_beside_what_is_sampled() {
    let target = Target::new(&[&ocaml::native("stub_leak")]).arguments(&["12"]);
    let recording = target.record(&["--rate", "1e-2"]);
    let trace = &recording.traces()[0];
    let leaks = page(trace, &["--view", "leaks"]);
    assert_eq!(leaks["verdict"], "grows-beside", "{leaks:#}");
    let growth = &leaks["resident"]["growth_beside"];
    let rate = growth["bytes_per_hour"].as_f64().unwrap();
    // A megabyte every 40 ms at most; less on a busy machine.
    let most = 3600.0 / 0.04 * f64::from(1 << 20);
    assert!(rate > 0.2 * most && rate < 1.1 * most, "{growth:#}");
    let text = lifetrace_verb(&["report", trace.to_str().unwrap()]).stdout_text();
    assert!(text.contains("The process grows beside what was sampled"), "{text}");
    assert!(text.contains("memory from malloc, which was not sampled"), "{text}");
}

/// What the allocator keeps of what was freed, since a block above it lives, is said as soon as the recording
/// is over; of a program whose memory is explained nothing is.
#[test]
fn memory_that_is_not_explained_is_told_after_a_recording() {
    let told = |script: &str| {
        let folder = tempfile::tempdir().unwrap();
        let target = Target::new(&["/usr/bin/perl"]).arguments(&["-e", script]);
        let target = target.folder(folder.path());
        target.record_as(&["-o", "x.lt", "--interval", "64KiB"]).stderr_text()
    };
    let waste = "@a = map { 'x' x 1000 } 1..100000; @b = map { 'y' x 100 } 1..1000; undef @a; \
                 select(undef, undef, undef, 0.5)";
    let text = told(waste);
    assert!(text.contains("\n  Resident at the end: "), "{text}");
    assert!(text.contains("The rest may be memory that the allocator keeps free"), "{text}");
    let text = told("@a = map { 'x' x 1000 } 1..100000; select(undef, undef, undef, 0.5)");
    assert!(text.contains("live at the end") && !text.contains("Resident at the end"), "{text}");
}

/// Most of the peak is dead, though nobody knows yet.
#[test]
fn garbage_in_the_young_heap_is_no_peak() {
    let target = Target::new(&[&ocaml::native("young_garbage")]);
    let recording = target.record(&["--rate", "1e-3", "--seed", "1"]);
    let trace = recording.traces()[0].to_str().unwrap().to_owned();
    for view in ["peak", "summary"] {
        let text = lifetrace_verb(&["report", "--view", view, &trace]).stdout_text();
        let (_, young) = text.split_once("Of what lived at the peak, ").unwrap();
        let (share, rest) = young.split_once(" %) is young").unwrap();
        let share: f64 = share.rsplit('(').next().unwrap().parse().unwrap();
        // 46.5 of 47.5 MiB.
        assert!((95.0..99.9).contains(&share), "{share} % {rest}");
        assert!(
            text.replace('\n', " ").contains("A young heap has room for up to 128 MiB."),
            "{text}"
        );
    }
    let old = page(&recording.traces()[0], &["--filter", "in old heap"]);
    let peak = old["totals"]["peak"]["bytes"].as_f64().unwrap();
    // Twice its interval.
    assert!((0.5e6..1.5e6).contains(&peak), "{}", old["totals"]);
}
