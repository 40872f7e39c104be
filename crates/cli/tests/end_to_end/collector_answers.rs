//! What a collector answers over HTTP, and to whom it does not.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use lifetrace_pprof::proto::Profile;

use crate::support::asking::{Answer, Answering, column, sum, token_file};
use crate::support::collecting::{Client, Place, signal, wait_for};
use crate::support::fixture;
use crate::support::root::only_root_can;
use crate::support::run::lifetrace_verb;

/// Stops a program, and waits until all that it has done is in its trace.
fn freeze(answering: &Answering, client: &Client) {
    signal(client.pid(), "-STOP");
    sleep(Duration::from_secs(1));
    wait_for("the trace to have all samples", || {
        sleep(Duration::from_millis(200));
        let process = &answering.json("/processes")["processes"][0];
        process["samples"].is_u64() && process["samples"] == process["allocated"]["samples"]
    });
}

fn program(answering: &Answering) -> Client {
    let mut client = answering.place.client(&fixture::c("collected"), &[]);
    client.work();
    wait_for("samples in its trace", || {
        let process = &answering.json("/processes")["processes"][0];
        process["live"]["samples"].as_u64() > Some(0)
    });
    client
}

/// What each backtrace of a profile has, by the names and lines of its frames.
fn by_stack(profile: &Profile, name: &str) -> BTreeMap<Vec<(String, i64)>, i64> {
    let at = column(profile, name);
    let line = |id: &u64| {
        let location = &profile.location[*id as usize - 1];
        let line = &location.line[0];
        let function = &profile.function[line.function_id as usize - 1];
        (profile.string_table[function.name as usize].clone(), line.line)
    };
    let mut sums = BTreeMap::new();
    for sample in &profile.sample {
        let stack = sample.location_id.iter().map(line).collect();
        *sums.entry(stack).or_default() += sample.value[at];
    }
    sums
}

#[test]
fn who_may_not_ask_learns_nothing() {
    let answering = Answering::new(&[]);
    let client = program(&answering);
    let (host, token) = (&answering.address, &answering.token);
    let say = |headers: &str| answering.say(&format!("GET /processes HTTP/1.1\r\n{headers}\r\n"));
    let bearer = format!("Authorization: Bearer {token}\r\n");
    for (status, headers) in [
        (401, format!("Host: {host}\r\n")),
        (401, format!("Host: {host}\r\nAuthorization: Bearer {}0\r\n", &token[1..])),
        (403, format!("Host: evil.example\r\n{bearer}")),
        (403, bearer.clone()),
        (403, format!("Host: {host}\r\n{bearer}Origin: http://evil.example\r\n")),
        (403, format!("Host: {host}\r\n{bearer}Sec-Fetch-Site: cross-site\r\n")),
        (200, format!("Host: {host}\r\n{bearer}Origin: http://{host}\r\n")),
    ] {
        let answer = say(&headers);
        assert_eq!(answer.status, status, "{headers}");
        let tells = answer.text().contains(&client.pid().to_string());
        assert_eq!(tells, status == 200, "{}", answer.text());
    }
    let foreign = "Origin: http://evil.example\r\n";
    let snapshot = format!("/processes/{}/snapshot", client.pid());
    assert_eq!(answering.ask("POST", &snapshot, foreign).status, 403);
    assert_eq!(answering.say("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n").status, 400);
    for (reason, count) in [("token", 2.0), ("host", 2.0), ("origin", 3.0), ("malformed", 1.0)] {
        let metric = format!("lifetrace_http_refused_total{{reason=\"{reason}\"}}");
        assert_eq!(answering.metric(&metric), Some(count), "{reason}");
    }
    let target = format!("/processes?token={token}");
    assert_eq!(
        answering.say(&format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")).status,
        200
    );
}

#[test]
fn another_user_is_refused_even_with_the_token() {
    if !only_root_can("be another user") {
        return;
    }
    let answering = Answering::new(&["--allow", "all"]);
    let url = format!("http://{}/metrics?token={}", answering.address, answering.token);
    let script = format!(
        "import urllib.request, urllib.error\ntry: print(urllib.request.urlopen('{url}').status)\n\
         except urllib.error.HTTPError as error: print(error.code)"
    );
    let ask = |user: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(user).args(["/usr/bin/python3", "-c", &script]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(ask(&["--reuid=65534", "--regid=65534", "--clear-groups"]), "403\n");
    assert_eq!(ask(&["--reuid=0"]), "200\n");
    assert_eq!(answering.metric("lifetrace_http_refused_total{reason=\"user\"}"), Some(1.0));
}

#[test]
fn it_listens_to_this_machine_alone() {
    for address in ["0.0.0.0:0", "192.168.0.1:80", "nonsense"] {
        let refused = lifetrace_verb(&["collect", "--dir", "/nonexistent", "--listen", address]);
        assert_eq!(refused.code, 2, "{refused:?}");
    }
    let place = Place::new();
    let refusal = place.refusal(&["--listen", "unix:/tmp/lifetrace-test-http"]);
    assert!(refusal.contains("others than its owner can write"), "{refusal}");
    let exposed = place.folder.path().join("exposed");
    fs::write(&exposed, "0123456789abcdef0123456789abcdef").unwrap();
    let token = ["--listen", "127.0.0.1:0", "--token-file", exposed.to_str().unwrap()];
    assert!(place.refusal(&token).contains("can be read by others"));
}

#[test]
fn a_socket_is_listened_to_as_well() {
    let place = Place::new();
    let path = place.folder.path().join("run/http");
    let mut collecting = place.collect(&["--listen", &format!("unix:{}", path.display())]);
    assert!(collecting.line().contains("answering at unix:"));
    let token = fs::read_to_string(token_file(&place)).unwrap();
    let modes = [&path, &token_file(&place)].map(|it| it.metadata().unwrap().mode() & 0o777);
    assert_eq!(modes, [0o600, 0o600]);
    let mut stream = UnixStream::connect(&path).unwrap();
    let request = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        token.trim()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let answer = Answer::hear(stream);
    assert!(answer.status == 200 && answer.text().contains("Nothing is being recorded"));
    collecting.end();
    assert!(!path.exists());
}

/// Over several files, of which each has but a part of it.
#[test]
fn a_profile_says_what_the_report_of_the_whole_trace_says() {
    let answering = Answering::new(&["--rotate-every", "1s"]);
    let mut client = program(&answering);
    let pid = client.pid();
    let heap = format!("/processes/{pid}/pprof/heap");
    let first = answering.profile(&heap);
    wait_for("three files", || {
        client.work();
        answering.place.traces().len() >= 3
    });
    freeze(&answering, &client);
    let (last, report) =
        (answering.profile(&heap), answering.json(&format!("/processes/{pid}/report")));
    let names: Vec<_> =
        last.sample_type.iter().map(|it| &*last.string_table[it.kind as usize]).collect();
    assert_eq!(names, ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]);
    assert_eq!(last.string_table[last.default_sample_type as usize], "inuse_space");
    let totals = &report["totals"];
    for (name, total) in [
        ("alloc_space", &totals["allocated"]["bytes"]),
        ("alloc_objects", &totals["allocated"]["objects"]),
        ("inuse_space", &totals["live_at_end"]["bytes"]),
        ("inuse_objects", &totals["live_at_end"]["objects"]),
    ] {
        let (profile, report) = (sum(&last, name) as f64, total.as_f64().unwrap());
        let slack = last.sample.len() as f64 + 1.0;
        assert!((profile - report).abs() <= slack, "{name}: {profile} {report}");
    }
    assert!(
        sum(&last, "inuse_space") > 1000 && sum(&last, "alloc_space") > sum(&first, "alloc_space")
    );
    // What is allocated only grows, at each place.
    let (earlier, later) = (by_stack(&first, "alloc_space"), by_stack(&last, "alloc_space"));
    for (stack, bytes) in &earlier {
        assert!(later.get(stack).is_some_and(|now| now >= bytes), "{stack:?}");
    }
    let site =
        |(stack, _): (&Vec<(String, i64)>, &i64)| stack.iter().any(|it| it.0 == "hazard_collected");
    assert!(later.iter().any(site), "{later:?}");
    signal(pid, "-CONT");
    client.end();
}

#[test]
fn scrapes_add_up_and_differences_are_of_their_time() {
    let answering = Answering::new(&["--rotate-every", "1s"]);
    let mut client = program(&answering);
    let pid = client.pid();
    let allocs = format!("/processes/{pid}/pprof/allocs");
    let mut scrapes = vec![answering.profile(&allocs)];
    for _ in 0..8 {
        client.work();
        sleep(Duration::from_millis(300));
        scrapes.push(answering.profile(&allocs));
    }
    freeze(&answering, &client);
    scrapes.push(answering.profile(&allocs));
    let totals = scrapes.iter().map(|it| sum(it, "alloc_space"));
    let deltas = totals.clone().zip(totals.clone().skip(1)).map(|(before, after)| after - before);
    assert!(deltas.clone().all(|delta| delta >= 0), "{:?}", deltas.collect::<Vec<_>>());
    let all = totals.clone().next().unwrap() + deltas.sum::<i64>();
    let report = answering.json(&format!("/processes/{pid}/report"));
    let expected = report["totals"]["allocated"]["bytes"].as_f64().unwrap();
    let stacks = scrapes.last().unwrap().sample.len() as f64;
    assert!((all as f64 - expected).abs() <= stacks + 1.0, "{all} {expected}");
    // While it stands still nothing comes, and what lives stays.
    let still = answering.profile(&format!("/processes/{pid}/pprof/heap?seconds=1"));
    assert!(still.sample.is_empty(), "{still:?}");
    signal(pid, "-CONT");
    let moving = answering.profile(&format!("{allocs}?seconds=2&gc=1"));
    assert_eq!(moving.string_table[moving.default_sample_type as usize], "alloc_space");
    assert!(sum(&moving, "alloc_space") > 0 && moving.duration_nanos > 0, "{moving:?}");
    assert!((sum(&moving, "alloc_space") as f64) < expected + 1e9);
    client.end();
}

#[test]
fn go_tool_pprof_fetches_profiles() {
    let answering = Answering::new(&[]);
    let client = program(&answering);
    let folder = tempfile::tempdir().unwrap();
    for query in ["heap", "allocs", "heap?seconds=1", "heap?gc=1"] {
        let Answering { address, token, .. } = &answering;
        let url = format!("http://any:{token}@{address}/processes/{}/pprof/{query}", client.pid());
        let mut command = Command::new("go");
        command.args(["tool", "pprof", "-top", "-sample_index=alloc_space", &url]);
        command.env("PPROF_TMPDIR", folder.path()).env("HOME", folder.path());
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{query}: {said}{errors}");
        assert!(
            said.contains("hazard_collected") && said.contains("Type: alloc_space"),
            "{query}: {said}"
        );
    }
    client.end();
}

#[test]
fn figures_for_prometheus() {
    let answering = Answering::new(&["--rotate-every", "1s"]);
    let mut client = program(&answering);
    let labels = format!("{{pid=\"{}\",program=\"collected\"}}", client.pid());
    let of = |text: &str, name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}{labels} ")));
        line.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
    };
    let counters = [
        "lifetrace_allocated_bytes_total",
        "lifetrace_allocated_objects_total",
        "lifetrace_samples_total",
        "lifetrace_trace_written_bytes_total",
        "lifetrace_lost_events_total",
    ];
    answering.get(&format!("/processes/{}/pprof/heap", client.pid()));
    let mut last = counters.map(|_| 0.0);
    wait_for("files", || {
        client.work();
        let text = answering.get("/metrics").text();
        let now = counters.map(|name| of(&text, name));
        assert!(last.iter().zip(&now).all(|(last, now)| last <= now), "{last:?} {now:?}");
        last = now;
        let [live, low, high] =
            ["", "_low95", "_high95"].map(|end| of(&text, &format!("lifetrace_live_bytes{end}")));
        assert!(low <= live && live <= high && live > 0.0, "{low} {live} {high}");
        answering.place.traces().len() >= 3
    });
    assert!(last[0] > 1e6 && last[4] == 0.0, "{last:?}");
    for name in ["lifetrace_processes", "lifetrace_processes_followed", "lifetrace_sessions_total"]
    {
        assert_eq!(answering.metric(name), Some(1.0), "{name}");
    }
    assert!(answering.metric("lifetrace_collector_resident_bytes").unwrap() > 1e6);
    let open = answering.ask("GET", "/metrics", "Accept: application/openmetrics-text\r\n");
    assert!(open.head.contains("application/openmetrics-text; version=1.0.0"), "{}", open.head);
    assert!(
        open.text().ends_with("# EOF\n")
            && open.text().contains("# TYPE lifetrace_samples counter\n")
    );
    client.end();
}

#[test]
fn whole_traces_are_answered_on_demand() {
    let answering = Answering::new(&["--rotate-every", "1s"]);
    let mut client = program(&answering);
    let pid = client.pid();
    wait_for("two files", || {
        client.work();
        answering.place.traces().len() >= 2
    });
    let of = |what: &str| format!("/processes/{pid}/{what}");
    let whole = answering.place.folder.path().join("whole.lt");
    for target in ["trace", "trace?minutes=1"] {
        fs::write(&whole, answering.get(&of(target)).body).unwrap();
        let checked = lifetrace_verb(&["check".as_ref(), whole.as_os_str()]);
        assert_eq!(checked.code, 0, "{target}: {checked:?}");
    }
    let hot = answering.json(&of("report?view=hot&top=3&filter=size+%3E+1KiB"));
    assert_eq!((&hot["view"], &hot["filter"]), (&"hot".into(), &"size>1KiB".into()), "{hot}");
    assert!(answering.json(&of("report?view=leaks&minutes=1"))["totals"].is_object());
    let page = answering.get(&of("page"));
    assert!(page.status == 200 && page.text().contains("<!doctype html>"), "{}", page.head);
    assert!(page.head.contains("script-src 'sha256-"), "{}", page.head);
    assert!(answering.get("/").text().contains(&of("page")));
    let listed = &answering.json("/processes")["processes"][0];
    assert_eq!((&listed["pid"], &listed["state"]), (&pid.into(), &"followed".into()), "{listed}");
    assert_eq!(answering.get(&of("report?filter=%3C%3C")).status, 400);
    assert_eq!(answering.get(&of("pprof/heap?debug=1")).status, 400);
    assert_eq!(answering.get(&of("nothing")).status, 404);
    assert_eq!(answering.ask("POST", &of("report"), "").status, 405);
    // Its heap is no heap of objects.
    let snapshot = answering.ask("POST", &of("snapshot"), "");
    assert_eq!(snapshot.status, 409, "{}", snapshot.text());
    client.end();
    wait_for("its end", || answering.place.parts().is_empty());
    let ended = &answering.json("/processes?ended=1")["processes"][0];
    assert!(ended["pid"] == pid && ended["traces"].as_array().unwrap().len() >= 3, "{ended}");
    let heap = answering.get(&of("pprof/heap"));
    assert!(heap.status == 404 && heap.text().contains("?ended=1"), "{}", heap.text());
    assert!(answering.json(&of("report"))["totals"]["allocated"]["bytes"].as_f64() > Some(1e6));
    assert_eq!(answering.ask("POST", &of("snapshot"), "").status, 404);
    let left = fs::read_dir(answering.place.traces_folder()).unwrap().flatten();
    let left: Vec<_> =
        left.filter(|it| it.file_name().to_string_lossy().contains("http.")).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_snapshot_is_taken_of_a_heap_of_objects() {
    let answering = Answering::new(&["--sources", "auto"]);
    let script = "$stdout.sync = true; $kept = Array.new(30_000) { Object.new }; puts 'ready'; gets; puts 'done'";
    let client = answering.place.client(Path::new("ruby"), &["-e", script]);
    let target = format!("/processes/{}/snapshot", client.pid());
    let told = answering.ask("POST", &target, "");
    assert_eq!(told.status, 200, "{}", told.text());
    let told: serde_json::Value = serde_json::from_slice(&told.body).unwrap();
    let path = Path::new(told["path"].as_str().unwrap());
    assert_eq!(Some(path.metadata().unwrap().len()), told["file_bytes"].as_u64());
    let sent = answering.place.folder.path().join("sent.lth");
    let answer = answering.ask("POST", &format!("{target}?file=1"), "");
    assert!(answer.status == 200 && answer.head.contains(".lth\""), "{}", answer.head);
    fs::write(&sent, answer.body).unwrap();
    let checked = lifetrace_verb(&["check".as_ref(), sent.as_os_str()]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(told["blocks"].as_u64() > Some(30_000), "{told}");
    client.end();
}

/// What lives is told all the same, and that something is missing as well.
#[test]
fn files_that_are_gone_are_counted() {
    let options = ["--rotate-size", "8KiB", "--rotate-every", "1s", "--keep-size", "40KiB"];
    let answering = Answering::new(&options);
    let mut client = program(&answering);
    let mut first = None;
    wait_for("the first to go", || {
        client.work();
        first = first.take().or_else(|| answering.place.traces().into_iter().next());
        first.as_ref().is_some_and(|first: &PathBuf| !first.exists())
    });
    let page = answering.get(&format!("/processes/{}/page", client.pid()));
    assert!(page.status == 409 && page.text().contains("have been removed"), "{}", page.text());
    let heap = answering.profile(&format!("/processes/{}/pprof/heap", client.pid()));
    assert!(sum(&heap, "inuse_space") > 1000);
    let comments: Vec<_> =
        heap.comment.iter().map(|&at| &*heap.string_table[at as usize]).collect();
    assert!(comments.iter().any(|it| it.contains("gone before they were read")), "{comments:?}");
    client.end();
}

#[test]
fn a_collector_ends_while_somebody_waits() {
    let answering = Answering::new(&[]);
    let client = program(&answering);
    let Answering { place: _place, collecting, address, token } = answering;
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    let target = format!("/processes/{}/pprof/heap?seconds=300&token={token}", client.pid());
    write!(stream, "GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    sleep(Duration::from_millis(500));
    collecting.end();
    client.end();
}
