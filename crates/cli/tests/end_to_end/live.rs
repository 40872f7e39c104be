//! What a program holds while it runs, as scripts are told of it; and who records what.

use serde_json::Value;

use crate::support::fixture::c;
use crate::support::run::{Outcome, lifetrace_verb};
use crate::support::running::Running;

fn json(outcome: &Outcome) -> Value {
    assert_eq!((outcome.code, outcome.stderr_text()), (0, String::new()), "{outcome:?}");
    serde_json::from_slice(&outcome.stdout).unwrap()
}

fn still() -> Running {
    let running = Running::of(&c("stands_still"), &[], &["--interval", "4096"]);
    assert_eq!(running.said, "still\n");
    running
}

/// What `live` knows of a process that stands still, once it knows all: the recorder may be behind on a busy machine.
fn settled(pid: &str, arguments: &[&str]) -> Value {
    let look = || {
        json(&lifetrace_verb(
            &[&["live", "--once", "--json", "--top", "1000", pid], arguments].concat(),
        ))
    };
    let mut last = look();
    loop {
        let next = look();
        let totals = |document: &Value| document["processes"][0]["totals"]["live"].clone();
        if totals(&next) == totals(&last) && !totals(&next).is_null() {
            return next;
        }
        last = next;
    }
}

/// Callsites by their names, with quantities called as `report` calls them.
fn callsites(document: &Value, live: &str) -> Vec<[Value; 6]> {
    let callsites = document["callsites"].as_array().unwrap().iter();
    let fields = ["function", "file", "line", "allocated", "peak", live];
    let mut named: Vec<_> = callsites
        .filter(|site| site[live]["samples"] != 0)
        .map(|site| fields.map(|field| site[field].clone()))
        .collect();
    named.sort_by_key(|site| site[0].to_string() + &site[1].to_string());
    named
}

#[test]
fn its_numbers_are_those_of_the_report() {
    for filter in [&[][..], &["--filter", "fn=keep_rarely"]] {
        let running = still();
        let live = settled(&running.pid.to_string(), filter);
        let process = &live["processes"][0];
        assert_eq!((&process["state"], &process["pid"]), (&"running".into(), &running.pid.into()));
        let trace = running.folder.path().join(format!("t.{}.lt", running.pid));
        assert_eq!(process["trace"], trace.to_str().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let [then, finished] = ["then.lt", "finished.lt"].map(|name| folder.path().join(name));
        std::fs::copy(&trace, &then).unwrap();
        std::fs::hard_link(&trace, &finished).unwrap();
        assert_eq!(running.finish().0, Some(7));
        for trace in [&then, &finished] {
            let words = ["report", "--json", "--view", "hot", "--metric", "live", "--top", "1000"];
            let path = trace.to_str().unwrap();
            let report = lifetrace_verb(&[&words[..], &[path], filter].concat());
            let report: Value = serde_json::from_slice(&report.stdout).unwrap();
            assert_eq!(process["totals"]["live"], report["totals"]["live_at_end"]);
            assert_eq!(process["totals"]["allocated"], report["totals"]["allocated"]);
            assert_eq!(callsites(process, "live"), callsites(&report, "live_at_end"));
        }
        let functions: Vec<_> = callsites(process, "live").iter().map(|it| it[0].clone()).collect();
        assert!(functions.contains(&"keep_rarely".into()), "{functions:?}");
        assert_eq!(functions.contains(&"keep_often".into()), filter.is_empty());
    }
}

#[test]
fn as_text_it_has_a_page() {
    let running = still();
    let pid = running.pid.to_string();
    settled(&pid, &[]);
    let page = lifetrace_verb(&["live", "--once", &pid]);
    assert_eq!((page.code, page.stderr_text()), (0, String::new()));
    let text = page.stdout_text();
    assert!(text.starts_with(&format!("lifetrace live  {pid} stands_still\nrunning, ")), "{text}");
    assert!(text.contains("keep_often") && text.contains("GROWTH/MIN"), "{text}");
    let lines = lifetrace_verb(&["live", "--once"]);
    assert!(lines.stdout_text().contains(&pid), "{lines:?}");
}

#[test]
fn a_line_a_second_until_the_end() {
    let running = still();
    let pid = running.pid.to_string();
    let watching = std::thread::spawn(move || lifetrace_verb(&["live", "--json", &pid]));
    settled(&running.pid.to_string(), &[]);
    assert_eq!(running.finish().0, Some(7));
    let watched = watching.join().unwrap();
    assert_eq!((watched.code, watched.stderr_text()), (0, String::new()));
    let text = watched.stdout_text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = &lines.last().unwrap()["processes"][0];
    assert_eq!((&last["state"], &last["exit_status"]), (&"ended".into(), &7.into()), "{last}");
    assert!(last["totals"]["live"]["samples"].as_u64().unwrap() > 0);
}

#[test]
fn who_records_what_is_listed() {
    let running = still();
    let listed = |pid: u32| {
        let document = json(&lifetrace_verb(&["ps", "--json"]));
        let recorders = document["recorders"].as_array().unwrap().clone();
        let processes = recorders.iter().flat_map(|recorder| {
            let processes = recorder["processes"].as_array().unwrap().clone();
            processes.into_iter().map(move |process| (recorder.clone(), process))
        });
        processes.filter(|(_, process)| process["pid"] == pid).collect::<Vec<_>>()
    };
    let pid = running.pid;
    let [(recorder, process)] = &listed(pid)[..] else { panic!("not once: {:?}", listed(pid)) };
    assert_eq!(recorder["pid"], running.recorder.id());
    assert!(recorder["command"].as_str().unwrap().contains("record -q -o"), "{recorder}");
    assert_eq!(process["program"], "stands_still");
    let page = lifetrace_verb(&["ps"]).stdout_text();
    assert!(
        page.lines().any(|line| line.contains(&format!("{pid} ")) && line.contains("stands_still"))
    );
    running.finish();
    assert!(listed(pid).is_empty());
}

/// The program has written over its environment, so that its recorder must be found otherwise.
#[test]
fn one_that_calls_itself_something_else() {
    let running = Running::of(&c("retitled"), &[], &[]);
    let found = lifetrace_verb(&["live", "--once", "--json", &running.pid.to_string()]);
    assert_eq!(json(&found)["processes"][0]["pid"], running.pid);
}

#[test]
fn what_cannot_be_shown_is_said() {
    let own = std::process::id().to_string();
    let check = |arguments: &[&str], code: i32, part: &str| {
        let refused = lifetrace_verb(arguments);
        assert_eq!(refused.code, code, "{arguments:?} {refused:?}");
        assert!(refused.stderr_text().contains(part), "{arguments:?} {refused:?}");
    };
    check(&["live", "--once", &own], 1, "nobody records process");
    check(&["live", "--once", &own], 1, "lifetrace live -- CMD");
    check(&["live", "--once", "999999999"], 1, "there is no process 999999999");
    check(&["live", &own], 1, "standard output is no terminal");
    check(&["live", "--once", "--filter", "lifetime < 1s", &own], 1, "cannot be judged here");
    check(&["live", "--once", "--filter", "size >> 1", &own], 2, "size");
    check(&["live", "--once", "--interval", "4096", &own], 2, "cannot be used with");
    check(&["live", "--rate", "1"], 2, "were not provided");
    check(&["live", "--once", "--", "true"], 2, "cannot be used with");
}
