//! The numbers of reports, against what other programs counted and against each other.

use serde_json::Value;

use crate::*;

/// What independent readers counted: allocations, promotions, collections, samples.
fn check(trace: &str, [samples, promotions, collections, words]: [u64; 4]) {
    for verb in ["info", "report"] {
        let facts = &json(&[verb, trace, "--json"])["trace"];
        assert_eq!(facts["samples"], samples);
        assert_eq!(facts["promotions"], promotions);
        assert_eq!(facts["collections"], collections);
        assert_eq!(facts["sampled_words"], words);
        assert_eq!(facts["unmatched_events"], 0);
    }
}

#[test]
fn counts() {
    check("reference-ocamlopt.ctf", [1676, 257, 1566, 1676]);
    check("ocamlopt-1e-6.ctf", [457, 61, 451, 457]);
    check("ocamlopt-1e-5.ctf", [4699, 626, 4617, 4700]);
    check("json-1e-5.ctf", [5099, 323, 5092, 5360]);
    check("listmap-1e-5.ctf", [8757, 1488, 8756, 8757]);
    check("server-1e-5.ctf", [12_254, 550, 12_175, 12_265]);
}

/// Horvitz-Thompson and the naive estimate (samples / rate) are of the same amount.
#[test]
fn estimates_agree_with_the_number_of_samples() {
    for (trace, samples) in [("json-1e-5.ctf", 5360.0), ("server-1e-5.ctf", 12_265.0)] {
        let report = json(&["report", trace, "--json"]);
        let allocated = &report["totals"]["allocated"];
        let naive = samples / 1e-5 * 8.0;
        let difference = (allocated["bytes"].as_f64().unwrap() - naive).abs();
        assert!(
            difference < allocated["bytes_interval95"].as_f64().unwrap(),
            "{trace}: {difference}"
        );
    }
}

#[test]
fn callsites_add_up_to_the_total() {
    for sort in ["allocated", "live", "peak"] {
        let report =
            json(&["report", "server-1e-5.ctf", "--json", "--top", "1000", "--sort", sort]);
        let key = if sort == "live" { "live_at_end" } else { sort };
        let callsites = report["callsites"].as_array().unwrap();
        assert_eq!(callsites.len() as u64, report["callsites_total"].as_u64().unwrap());
        let bytes = |value: &Value| value[key]["bytes"].as_f64().unwrap();
        let (sum, total): (f64, f64) =
            (callsites.iter().map(bytes).sum(), bytes(&report["totals"]));
        assert!((sum - total).abs() < 1.0, "{sort}: {sum} of {total}");
        let shares: f64 =
            callsites.iter().map(|callsite| callsite["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-6, "{shares}");
    }
}

#[test]
fn live_samples_are_those_not_collected() {
    let report = json(&["report", "server-1e-5.ctf", "--json"]);
    assert_eq!(report["totals"]["live_at_end"]["samples"], 12_254 - 12_175);
    assert_eq!(report["totals"]["promoted"]["samples"], 550);
}
