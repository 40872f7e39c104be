//! What an imported file does not tell is answered nowhere, and every page says that it is an import.

use std::io::Write;

use lifetrace_pprof::proto::{Profile, Sample};
use lifetrace_pprof::tables::{Code, Strings};

use crate::imports::{import, imported};
use crate::*;

const LEAKY: &str = r#"{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,"bkacc":true,
"tu":"instrs","Mtu":"Minstr","tuth":500,"cmd":"leaky","pid":7,"te":4000000,"tg":4000000,"pps":[
{"tb":20000000,"tbk":20000,"tl":40000000000,"mb":20000000,"mbk":20000,"gb":20000000,"gbk":20000,
"eb":20000000,"ebk":20000,"rb":0,"wb":0,"fs":[1]},
{"tb":9000,"tbk":900,"tl":90000,"mb":10,"mbk":1,"gb":10,"gbk":1,"eb":0,"ebk":0,"rb":0,"wb":0,"fs":[2]}],
"ftbl":["[root]","0x1: leak_a (a.c:3)","0x2: brief (a.c:9)"]}"#;

/// A profile of samples of these types, one function each.
pub(crate) fn profile(types: &[&str], period: (&str, i64), samples: &[&[i64]]) -> Scratch {
    let (mut strings, mut code) = (Strings::default(), Code::default());
    let unit = |name: &str| if name.ends_with("objects") { "count" } else { "bytes" };
    let sample_type = types.iter().map(|name| strings.value_type(name, unit(name))).collect();
    let period_type = Some(strings.value_type(period.0, "bytes"));
    let sample = samples.iter().enumerate().map(|(number, value)| {
        let function_id = code.function(&format!("f{number}"), "f.c", &mut strings);
        let line = lifetrace_pprof::proto::Line { function_id, line: 1, column: 0 };
        let location_id = vec![code.add(0, vec![line])];
        Sample { location_id, value: value.to_vec(), ..Sample::default() }
    });
    let sample = sample.collect();
    let mut packed = Vec::new();
    let profile = Profile {
        sample_type,
        sample,
        location: code.locations,
        function: code.functions,
        string_table: strings.all,
        period_type,
        period: period.1,
        ..Profile::default()
    };
    lifetrace_pprof::write(&profile, &mut packed).unwrap();
    packed.flush().unwrap();
    Scratch::new(&packed)
}

const ALL: [&str; 4] = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"];
const SPACE: (&str, i64) = ("space", 524_288);

fn go() -> Scratch {
    profile(&ALL, SPACE, &[&[4, 4 << 20, 2, 2 << 20], &[3, 3 << 20, 0, 0]])
}

/// What is said of what is not answered; nothing else is.
fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    assert!(said.contains("cannot be answered"), "{arguments:?}: {said}");
    said
}

#[test]
fn what_needs_times_or_lifetimes_is_refused() {
    let dhat = imported(&Scratch::new(LEAKY.as_bytes()).path());
    let pprof = imported(&go().path());
    for (trace, profiler) in [(&dhat, "DHAT (Valgrind)"), (&pprof, "pprof")] {
        let path = trace.path();
        let path = argument(&path);
        for view in ["leaks", "timeline", "temporary", "lifetimes", "threads", "gc", "promotion"] {
            for json in [&[][..], &["--json"]] {
                let said = refused(&[&["report", path, "--view", view][..], json].concat());
                assert!(said.contains(&format!("the view {view}")), "{said}");
                assert!(said.contains(profiler) && said.contains("does tell: the views"), "{said}");
            }
        }
        for more in [
            &["--fail-if", "growth > 1MB/h"][..],
            &["--metric", "byte-seconds"],
            &["--filter", "lifetime < 1s"],
            &["--filter", "allocated before 50%"],
            &["--filter", "temporary"],
            &["--filter", "thread:main"],
        ] {
            refused(&[&["report", path][..], more].concat());
        }
        for format in ["firefox", "heaptrack", "events-csv", "events-json"] {
            refused(&["export", "-F", format, path]);
        }
        refused(&["export", "-F", "collapsed", "--metric", "byte-seconds", path]);
        refused(&["diff", path, path, "--metric", "byte-seconds"]);
        let slice = Scratch::new(b"");
        refused(&["slice", path, "--time", "0s-1s", "-f", "-o", argument(&slice.path())]);
    }
    let path = pprof.path();
    for more in [&["--view", "peak"][..], &["--metric", "peak"], &["--fail-if", "peak > 1B"]] {
        refused(&[&["report", argument(&path)][..], more].concat());
    }
    refused(&["export", "-F", "dhat", argument(&path)]);
}

#[test]
fn every_page_says_that_it_is_of_an_import() {
    let dhat = imported(&Scratch::new(LEAKY.as_bytes()).path());
    let path = dhat.path();
    let path = argument(&path);
    let note = "imported from DHAT (Valgrind), whose file does not tell when blocks were born";
    let is_told = |page: &str| page.split_whitespace().collect::<Vec<_>>().join(" ").contains(note);
    for view in ["summary", "hot", "tree", "paths", "functions", "peak"] {
        let page = stdout(&["report", path, "--view", view]);
        assert!(is_told(&page), "{page}");
        assert!(!page.contains("every allocation recorded") && !page.contains("start:"), "{page}");
        let document = json(&["report", path, "--view", view, "--json"]);
        let import = &document["trace"]["import"];
        assert_eq!(import["from"], "DHAT (Valgrind)");
        assert_eq!(import["lacks"], serde_json::json!(["times", "lifetimes", "sizes", "threads"]));
        assert_eq!(document["trace"]["duration_us"], Value::Null);
        assert_eq!(document["totals"]["peak"]["time_us"], Value::Null);
        assert_eq!(document["totals"]["peak"]["bytes"], 20_000_010);
    }
    let other = imported(&go().path());
    let other = other.path();
    for page in [
        stdout(&["info", path]),
        stdout(&["diff", path, path]),
        stdout(&["report", path, argument(&other)]),
        text(&crate::exports::export("speedscope", path, &[])),
    ] {
        assert!(is_told(&page), "{page}");
    }
    let difference = json(&["diff", path, path, "--json"]);
    assert_eq!(difference["before"][0]["import"]["from"], "DHAT (Valgrind)");
}

#[test]
fn numbers_that_are_not_told_are_null() {
    let trace = imported(&go().path());
    let path = trace.path();
    let document = json(&["report", argument(&path), "--json"]);
    let site = &document["callsites"][0];
    assert_eq!(site["peak"], Value::Null);
    assert_eq!(site["byte_seconds"], Value::Null);
    assert_eq!(document["totals"]["peak"], Value::Null);
    assert!(document["totals"]["allocated"]["bytes"].as_f64().unwrap() > 7e6);
    let page = stdout(&["report", argument(&path)]);
    assert!(!page.contains("at the peak") && page.contains("live at end"), "{page}");
    let several = json(&["report", argument(&path), SMALL, "--json"]);
    assert_eq!(several["totals"]["peak"], Value::Null);
    let rows: Value =
        serde_json::from_slice(&crate::exports::export("callsites-json", argument(&path), &[]))
            .unwrap();
    assert_eq!(rows[0]["peak_bytes"], Value::Null);
}

#[test]
fn what_a_recording_of_heaptrack_tells_is_answered() {
    let trace = imported(&traces().join("../imports/heaptrack.sqlite3.zst"));
    let path = trace.path();
    for view in ["leaks", "timeline", "temporary", "lifetimes", "peak", "sizes"] {
        let page = stdout(&["report", argument(&path), "--view", view]);
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains("imported from heaptrack 1.4.0"), "{page}");
        assert!(page.contains("times: known to 10 ms"), "{page}");
    }
    refused(&["report", argument(&path), "--view", "threads"]);
}

#[test]
fn traces_made_of_an_import_lack_the_same() {
    let trace = imported(&Scratch::new(LEAKY.as_bytes()).path());
    let (path, made) = (trace.path(), Scratch::new(b""));
    let (path, made) = (argument(&path), made.path());
    for verb in [
        &["strip", path, "-f", "-o", argument(&made)][..],
        &["slice", path, "--filter", "fn:leak_a", "-f", "-o", argument(&made)],
    ] {
        let output = run(verb);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        refused(&["report", argument(&made), "--view", "leaks"]);
    }
}

fn live(trace: &Scratch) -> Value {
    json(&["report", argument(&trace.path()), "--json"])["totals"]["live_at_end"].clone()
}

#[test]
fn bytes_without_objects_keep_their_sum() {
    let values = [7_000_000, 600_000, 121_316, 524_288 * 40, 1_000];
    let samples: Vec<_> = values.iter().map(std::slice::from_ref).collect();
    let truth: i64 = values.iter().sum();
    for period in [SPACE, ("inuse_space", 524_288)] {
        let trace = imported(&profile(&["inuse_space"], period, &samples).path());
        let found = live(&trace);
        let bytes = found["bytes"].as_f64().unwrap();
        assert!((bytes - truth as f64).abs() < 100.0, "{bytes} of {truth}");
        assert!(found["bytes_low95"].as_f64().unwrap() < truth as f64);
        assert!(found["bytes_high95"].as_f64().unwrap() > truth as f64);
        assert_eq!(found["objects"], Value::Null);
        let one = imported(&profile(&["inuse_space"], period, &[&[1000]]).path());
        assert_eq!(live(&one)["bytes"], 1000);
        refused(&["report", argument(&trace.path()), "--metric", "objects"]);
        refused(&["report", argument(&trace.path()), "--metric", "allocated"]);
        let page = stdout(&["report", argument(&trace.path())]);
        assert!(page.contains("callsites with bytes live at the end"), "{page}");
        assert!(!page.contains("\nallocated   "), "{page}");
    }
}

#[test]
fn a_profile_without_a_period_is_not_called_exact() {
    for period in [("space", 0), ("cpu", 100)] {
        let trace = imported(&profile(&ALL, period, &[&[4, 4000, 2, 2000]]).path());
        let path = trace.path();
        let page = stdout(&["report", argument(&path)]);
        assert!(page.contains("how it was sampled is not told"), "{page}");
        assert!(!page.contains("exact"), "{page}");
        assert_eq!(json(&["report", argument(&path), "--json"])["trace"]["exact"], false);
        assert_eq!(live(&trace)["bytes"], 2000);
        let judged = run(&["report", argument(&path), "--fail-if", "live > 1kB"]);
        let said = text(&judged.stderr);
        assert!(said.contains("does not tell how it was sampled") && !said.contains("exactly"));
    }
    let all = imported(&profile(&ALL, ("space", 1), &[&[4, 4000, 2, 2000]]).path());
    assert_eq!(json(&["report", argument(&all.path()), "--json"])["trace"]["exact"], true);
}

#[test]
fn places_without_names_are_counted() {
    let (mut strings, mut code) = (Strings::default(), Code::default());
    let sample_type = vec![strings.value_type("inuse_space", "bytes")];
    let function_id = code.function("named", "f.c", &mut strings);
    let line = lifetrace_pprof::proto::Line { function_id, line: 1, column: 0 };
    let location_id = vec![code.add(0, Vec::new()), code.add(0, vec![line])];
    let sample = vec![Sample { location_id, value: vec![5], ..Sample::default() }];
    let (location, function, string_table) = (code.locations, code.functions, strings.all);
    let profile =
        Profile { sample_type, sample, location, function, string_table, ..Profile::default() };
    let mut packed = Vec::new();
    lifetrace_pprof::write(&profile, &mut packed).unwrap();
    let (trace, output) = import(&Scratch::new(&packed).path());
    let said = text(&output.stderr);
    assert!(said.contains("1 of 2 places in the code have no names"), "{said}");
    assert!(said.contains("1 in no file that the profile tells of"), "{said}");
    let page = stdout(&["report", argument(&trace.path())]).replace('\n', " ");
    assert!(page.contains("1 of 2 places in the code have no names"), "{page}");
}

#[test]
fn a_difference_of_profiles_is_not_taken_for_memory() {
    let delta = [&[10, 10_000, 10, 10_000][..], &[0, 0, -8, -8000], &[1, 1000, 5, 5000]];
    for samples in [&delta[..], &delta[2..]] {
        let (trace, output) = import(&profile(&ALL, ("space", 0), samples).path());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains(if samples.len() > 1 { "8,000 bytes less" } else { "difference" }));
        let path = trace.path();
        let totals = json(&["report", argument(&path), "--json"])["totals"].clone();
        let truth: i64 = samples.iter().map(|values| values[1]).sum();
        assert_eq!(totals["allocated"]["bytes"], truth);
        assert_eq!(totals["live_at_end"], Value::Null);
        refused(&["report", argument(&path), "--fail-if", "leaked > 0"]);
    }
    let (_, output) = import(&profile(&ALL[2..], SPACE, &[&[-1, -8000], &[1, 9]]).path());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("a difference of two profiles") && said.contains("lifetrace diff"),
        "{said}"
    );
}
