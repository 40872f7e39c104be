//! Another rate for a process that a collector is recording.

use crate::support::asking::Answering;
use crate::support::collecting::wait_for;
use crate::support::fixture;
use crate::support::ocaml;
use crate::support::run::lifetrace_verb;

/// How many standard deviations an estimate may be off.
const SIGMAS: f64 = 5.0;

const ROUNDS: usize = 100;

/// Three threads, four MiB each, in blocks of 1000 bytes.
const BYTES_OF_WORK: usize = 3 * (4 << 20) / 1000 * 1000;

fn change(answering: &Answering, pid: u32, interval: &str) -> (u16, serde_json::Value) {
    let answer = answering.ask("POST", &format!("/processes/{pid}/rate?interval={interval}"), "");
    let document = serde_json::from_slice(&answer.body);
    (answer.status, document.unwrap_or_else(|_| answer.text().into()))
}

/// Each thread has a countdown of the rate before whenever the rate changes, and a quarter of what it does until the next
/// change goes by until that ends.
#[test]
fn a_rate_that_changes_all_the_time_keeps_estimates_true() {
    let answering = Answering::new(&["--interval", "512KiB"]);
    let mut client = answering.place.client(&fixture::c("rates"), &[]);
    let (_, first) = change(&answering, client.pid(), "1MiB");
    assert_eq!(first["interval_bytes_before"], 512 << 10, "{first}");
    for _ in 0..ROUNDS {
        for (interval, before) in [("64KiB", 1 << 20), ("1MiB", 64 << 10)] {
            let (status, changed) = change(&answering, client.pid(), interval);
            assert_eq!((status, &changed["interval_bytes_before"]), (200, &before.into()));
            client.work();
        }
    }
    let pid = client.pid();
    client.end();
    let traces = || answering.place.traces();
    wait_for("the trace", || !traces().is_empty());
    let trace = traces().remove(0);
    let page = ["report", "--json", "--filter", "fn=hazard_rates", trace.to_str().unwrap()];
    let page: serde_json::Value =
        serde_json::from_str(&lifetrace_verb(&page).stdout_text()).unwrap();
    let number = |name: &str| page["totals"]["allocated"][name].as_f64().unwrap();
    let [estimate, low, high] = ["bytes", "bytes_low95", "bytes_high95"].map(number);
    let (deviation, all) = ((high - low) / 2.0 / 1.96, (2 * ROUNDS * BYTES_OF_WORK) as f64);
    assert!(SIGMAS * deviation < 0.1 * all, "{deviation} of {all}");
    assert!((estimate - all).abs() < SIGMAS * deviation, "{estimate} ± {deviation}, {all}");
    assert!(number("samples") > (100 * ROUNDS) as f64, "{page}");
    assert_eq!(change(&answering, pid, "64KiB").0, 404);
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let answering = Answering::new(&["--sources", "auto"]);
    let client = answering.place.client(&ocaml::native("attached"), &[]);
    let (status, why) = change(&answering, client.pid(), "64KiB");
    assert!(status == 409 && why.to_string().contains("malloc's alone"), "{why}");
    assert_eq!(change(&answering, client.pid(), "0").0, 400);
    assert_eq!(change(&answering, 1, "64KiB").0, 404);
}
