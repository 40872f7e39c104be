//! `lifetrace collect`: programs find it, it goes and comes again, and what it leaves is whole.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use lifetrace_trace::fact::Fact;
use lifetrace_trace::lt::Reader;
use lifetrace_trace::record::RecordKind;
use lifetrace_trace::{AnyReader, lt};

use crate::support::collecting::{Place, wait_for};
use crate::support::fixture;
use crate::support::run::{file_name, lifetrace_verb};

fn reader(path: &Path) -> AnyReader<BufReader<File>> {
    let file = BufReader::new(File::open(path).unwrap());
    AnyReader::lt(Reader::open(file).unwrap_or_else(|error: lt::Error| panic!("{error}")))
}

/// Births before and after the start of a trace, and its notices.
fn told(path: &Path) -> ([usize; 2], Vec<String>) {
    let mut reader = reader(path);
    let start = reader.info().start_time;
    let (mut births, mut notices) = ([0, 0], Vec::new());
    while let Some(record) = reader.next().unwrap() {
        match record.kind {
            RecordKind::Birth(_) => births[usize::from(record.time >= start)] += 1,
            RecordKind::Fact(fact) => {
                if let Fact::Notice(code) = *fact {
                    notices.push(code.to_string());
                }
            }
            _ => {}
        }
    }
    assert!(reader.as_lt().unwrap().is_complete(), "{}", path.display());
    (births, notices)
}

fn report(paths: &[&Path]) -> serde_json::Value {
    let mut words = vec![Path::new("report"), Path::new("--json")];
    words.extend(paths);
    let report = lifetrace_verb(&words);
    assert_eq!(report.code, 0, "{report:?}");
    serde_json::from_slice(&report.stdout).unwrap()
}

/// As in a container that is not told to see the programs of others.
#[test]
fn programs_that_it_cannot_see_run_on_and_it_says_so_once() {
    const ALONE: [&str; 5] = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
    if !Command::new(ALONE[0]).args(&ALONE[1..]).arg("true").status().is_ok_and(|it| it.success()) {
        eprintln!("skipped: no leave to have a PID namespace");
        return;
    }
    let place = Place::new();
    let mut collecting = place.collect_by(&ALONE);
    for _ in 0..2 {
        let output = Command::new("echo").arg("done").envs(place.variables()).output().unwrap();
        assert_eq!((&*output.stdout, output.stderr.len()), (&b"done\n"[..], 0), "{output:?}");
    }
    let said = collecting.line();
    assert!(said.contains("PID namespace") && said.contains("--pid host"), "{said}");
    assert_eq!((place.traces().len(), place.parts().len()), (0, 0));
    assert_eq!(collecting.kill(), "");
}

#[test]
fn a_program_finds_it_and_its_trace_is_there_when_it_has_ended() {
    let place = Place::new();
    let collecting = place.collect(&[]);
    let mut client = place.client(&fixture::c("collected"), &[]);
    client.work();
    let pid = client.pid();
    assert!(place.traces().is_empty() && place.parts().len() == 1);
    client.end();
    wait_for("the trace", || place.traces().len() == 1);
    let [trace] = &place.traces()[..] else { panic!() };
    assert!(file_name(trace).starts_with(&format!("lifetrace.collected.{pid}.20")), "{trace:?}");
    let modes = [trace, &place.traces_folder()].map(|it| it.metadata().unwrap().mode() & 0o777);
    assert_eq!(modes, [0o600, 0o700]);
    let ([earlier, births], notices) = told(trace);
    assert!(earlier == 0 && births > 1000 && notices.is_empty(), "{births} {notices:?}");
    let said = collecting.end();
    assert!(said.contains("1 trace finished") && place.parts().is_empty(), "{said}");
    assert!(!place.socket().exists());
}

#[test]
fn when_it_ends_all_traces_are_finished_and_programs_go_on_with_the_next_one() {
    let place = Place::new();
    let collecting = place.collect(&[]);
    let mut clients = [(); 3].map(|()| place.client(&fixture::c("collected"), &[]));
    clients.iter_mut().for_each(|client| client.work());
    collecting.end();
    assert_eq!((place.traces().len(), place.parts().len()), (3, 0));
    clients.iter_mut().for_each(|client| client.work());
    let next = place.collect(&[]);
    wait_for("all to come again", || {
        clients.iter_mut().for_each(|client| client.work());
        place.parts().len() == 3
    });
    clients.iter_mut().for_each(|client| client.work());
    clients.into_iter().for_each(|client| client.end());
    next.end();
    let traces = place.traces();
    assert_eq!(traces.len(), 6);
    let late: Vec<_> =
        traces.iter().map(|trace| told(trace)).filter(|it| !it.1.is_empty()).collect();
    assert_eq!(late.len(), 3);
    for ([earlier, births], notices) in late {
        assert!(earlier == 0 && births > 100, "{births}");
        assert!(notices.len() == 1 && notices[0].starts_with("unheard:"), "{notices:?}");
    }
}

#[test]
fn a_program_may_be_there_before_it() {
    let place = Place::new();
    let mut client = place.client(&fixture::c("collected"), &[]);
    client.work();
    let collecting = place.collect(&[]);
    wait_for("it to come", || {
        client.work();
        !place.parts().is_empty()
    });
    client.work();
    client.end();
    collecting.end();
    let [trace] = &place.traces()[..] else { panic!("{:?}", place.traces()) };
    assert_eq!(told(trace).1, ["began-late"]);
    let report = lifetrace_verb(&[Path::new("report"), trace]);
    assert!(report.stdout_text().contains("was running when recording began"), "{report:?}");
}

#[test]
fn what_a_killed_one_has_left_the_next_one_finishes() {
    let place = Place::new();
    let collecting = place.collect(&[]);
    let mut client = place.client(&fixture::c("collected"), &[]);
    wait_for("something in the file", || {
        client.work();
        place.parts().iter().any(|part| part.metadata().is_ok_and(|it| it.len() > 4000))
    });
    collecting.kill();
    assert_eq!((place.traces().len(), place.parts().len()), (0, 1));
    client.work();
    client.end();
    let next = place.collect(&[]);
    let [trace] = &place.traces()[..] else { panic!("{:?}", place.traces()) };
    let ([_, births], notices) = told(trace);
    assert!(births > 100 && notices == ["recorder-killed"], "{births} {notices:?}");
    next.end();
}

/// What lives over a change of files is in both, and is not allocated twice.
#[test]
fn files_follow_each_other_and_together_say_what_one_would() {
    let place = Place::new();
    let collecting = place.collect(&["--rotate-every", "1s"]);
    let mut client = place.client(&fixture::c("collected"), &[]);
    wait_for("three files", || {
        client.work();
        place.traces().len() >= 3
    });
    client.end();
    collecting.end();
    let mut traces = place.traces();
    traces.sort_by_key(|trace| reader(trace).info().start_time);
    let (mut births, mut last) = (0, None::<String>);
    for trace in &traces {
        let ([earlier, own], notices) = told(trace);
        births += own;
        match last.replace(file_name(trace)) {
            None => assert!(earlier == 0 && notices.is_empty()),
            Some(last) => {
                assert!(earlier > 0 && earlier <= 64, "{earlier}");
                assert_eq!(notices, [format!("continues:{last}")]);
            }
        }
    }
    let whole = place.folder.path().join("whole.lt");
    let mut words: Vec<&Path> = vec![Path::new("join")];
    words.extend(traces.iter().rev().map(|trace| &**trace));
    words.extend([Path::new("-o"), &whole]);
    let joined = lifetrace_verb(&words);
    assert_eq!((joined.code, joined.stderr_text()), (0, String::new()));
    let ([earlier, own], notices) = told(&whole);
    assert_eq!((earlier, own, notices), (0, births, vec![]));
    let (whole, each) = (report(&[&whole]), traces.iter().map(|it| report(&[it])));
    let allocated = |report: &serde_json::Value| report["totals"]["allocated"]["bytes"].as_f64();
    let sum: f64 = each.filter_map(|report| allocated(&report)).sum();
    let all = allocated(&whole).unwrap();
    assert!((sum / all - 1.0).abs() < 1e-9, "{sum} {all}");
    let both: Vec<&Path> = traces.iter().map(|trace| &**trace).collect();
    let refused = lifetrace_verb(&[&[Path::new("report")][..], &both].concat());
    assert!(refused.code == 1 && refused.stderr_text().contains("lifetrace join"), "{refused:?}");
    let page = place.folder.path().join("page.html");
    let words = [Path::new("export"), Path::new("-F"), Path::new("html"), Path::new("-o"), &page];
    let refused = lifetrace_verb(&[&words[..], &both[1..2]].concat());
    assert!(refused.code == 1 && refused.stderr_text().contains("lifetrace join"), "{refused:?}");
    let gap = lifetrace_verb(&[
        Path::new("join"),
        &traces[0],
        &traces[2],
        Path::new("-o"),
        &place.folder.path().join("gap.lt"),
    ]);
    assert!(gap.code == 1 && gap.stderr_text().contains("give all files in between"), "{gap:?}");
}

/// The file that is read is the one that is being written, whatever it is called until it is finished.
#[test]
fn what_it_records_can_be_looked_at() {
    let place = Place::new();
    let collecting = place.collect(&["--rotate-every", "1s"]);
    let mut client = place.client(&fixture::c("collected"), &[]);
    let pid = client.pid().to_string();
    wait_for("a file and another one", || {
        client.work();
        !place.traces().is_empty() && !place.parts().is_empty()
    });
    let live = lifetrace_verb(&["live", "--once", "--json", &pid]);
    assert_eq!((live.code, live.stderr_text()), (0, String::new()));
    let live: serde_json::Value = serde_json::from_str(&live.stdout_text()).unwrap();
    let trace = live["processes"][0]["trace"].as_str().unwrap();
    assert!(trace.ends_with(".part"), "{live}");
    let listed = lifetrace_verb(&["ps", "--json"]);
    assert!(listed.stdout_text().contains(&format!("\"pid\": {pid}")), "{listed:?}");
    client.end();
    collecting.end();
}

#[test]
fn a_second_one_is_refused() {
    let place = Place::new();
    let first = place.collect(&[]);
    assert!(place.refusal(&[]).contains("another `lifetrace collect` listens there"));
    let elsewhere = place.folder.path().join("elsewhere/socket");
    let refusal = place.refusal(&["--socket", elsewhere.to_str().unwrap()]);
    assert!(refusal.contains("another `lifetrace collect` writes there"), "{refusal}");
    assert!(!elsewhere.exists());
    first.end();
    place.collect(&[]).end();
}

#[test]
fn a_place_where_others_could_listen_is_refused() {
    let place = Place::new();
    let refusal = place.refusal(&["--socket", "/tmp/lifetrace-test-socket"]);
    assert!(refusal.contains("could listen in place of the collector"), "{refusal}");
}

#[test]
fn a_program_in_which_nothing_is_sampled_leaves_nothing() {
    let place = Place::new();
    let collecting = place.collect(&["--interval", "1GiB"]);
    let client = place.client(&fixture::c("collected"), &["small"]);
    client.end();
    let said = collecting.end();
    assert!(place.traces().is_empty() && place.parts().is_empty(), "{said}");
}

#[test]
fn the_oldest_traces_go() {
    let place = Place::new();
    let collecting = place.collect(&["--rotate-size", "8KiB", "--keep-size", "40KiB"]);
    let mut client = place.client(&fixture::c("collected"), &[]);
    let mut first = None;
    wait_for("the first to go", || {
        client.work();
        first = first.take().or_else(|| place.traces().into_iter().next());
        first.as_ref().is_some_and(|first| !first.exists())
    });
    client.end();
    let said = collecting.end();
    assert!(said.contains("removed by --keep"), "{said}");
}

#[test]
fn the_library_is_put_down_for_others_to_find() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("lib");
    let put = lifetrace_verb(&[Path::new("library"), Path::new("--install"), &place]);
    let library = place.join("liblifetrace.so");
    assert_eq!(put.stdout_text(), format!("{}\n", library.display()));
    assert!(library.metadata().unwrap().mode() & 0o111 != 0);
    let words = ["env", "--export", "--socket", "/run/x/socket", "--library"].map(Path::new);
    let told = lifetrace_verb(&[&words[..], &[&place]].concat()).stdout_text();
    let expected = format!(
        "export LD_PRELOAD={}\nexport LIFETRACE_SOCKET=standing:/run/x/socket\n",
        library.display()
    );
    assert_eq!(told, expected);
    let awkward = folder.path().join("with space");
    let refused = lifetrace_verb(&[Path::new("library"), Path::new("--install"), &awkward]);
    assert!(refused.code == 1 && refused.stderr_text().contains("LD_PRELOAD has no way"));
}
