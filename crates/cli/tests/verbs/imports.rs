//! What other profilers wrote, as traces. `fixtures/imports/README.md` says how the files were made.

use std::io::Read;

use crate::exports::{export, total};
use crate::peers::{Heaptrack, heaptrack_print};
use crate::*;

fn imports() -> PathBuf {
    traces().join("../imports")
}

/// The trace that becomes of a file, and what is said on the way.
pub(crate) fn import(input: &Path) -> (Scratch, Output) {
    let scratch = Scratch::new(b"");
    let output = run(&["import", argument(input), "-f", "-o", argument(&scratch.path())]);
    (scratch, output)
}

/// One that nothing is wrong with.
pub(crate) fn imported(input: &Path) -> Scratch {
    let (trace, output) = import(input);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    stdout(&["check", argument(&trace.path())]);
    trace
}

pub(crate) fn totals(trace: &Scratch) -> Heaptrack {
    let path = trace.path();
    // A profile of pprof does not tell the peak.
    let totals = json(&["report", argument(&path), "--json"])["totals"].clone();
    let of = |field: &str, part: &str| totals[field][part].as_f64().unwrap_or(0.0) as u64;
    Heaptrack {
        calls: of("allocated", "samples"),
        peak: of("peak", "bytes"),
        leaked: of("live_at_end", "bytes"),
    }
}

#[test]
fn a_recording_of_heaptrack_has_heaptracks_totals() {
    let file = imports().join("heaptrack.sqlite3.zst");
    assert_eq!(totals(&imported(&file)), heaptrack_print(&file));
}

#[test]
fn so_has_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("perl");
    let script = "push @{$h{$_ % 100}}, \"line $_ \" x 20 for 1..5_000; delete $h{$_} for 1..50";
    let mut heaptrack = Command::new("heaptrack");
    let output = heaptrack.arg("-o").arg(&file).args(["perl", "-e", script]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let file = file.with_extension("zst");
    let trace = imported(&file);
    assert_eq!(totals(&trace), heaptrack_print(&file));
    assert!(totals(&trace).calls > 5000);
}

#[test]
fn dhats_sums_are_kept() {
    let packed = imports().join("dhat.sqlite3.json.gz");
    let mut json = String::new();
    let unpacked = flate2::read::GzDecoder::new(fs::File::open(&packed).unwrap());
    { unpacked }.read_to_string(&mut json).unwrap();
    let file: Value = serde_json::from_str(&json).unwrap();
    let sum = |field: &str| -> u64 {
        let points = file["pps"].as_array().unwrap();
        points.iter().map(|point| point[field].as_u64().unwrap()).sum()
    };
    let trace = imported(&packed);
    let path = trace.path();
    for (field, part, name) in [
        ("allocated", "bytes", "tb"),
        ("allocated", "objects", "tbk"),
        ("peak", "bytes", "gb"),
        ("peak", "objects", "gbk"),
        ("live_at_end", "bytes", "eb"),
        ("live_at_end", "objects", "ebk"),
    ] {
        assert_eq!(total(argument(&path), field, part) as u64, sum(name), "{name}");
    }
}

#[test]
fn what_memray_says_of_the_peak_and_the_end_is_kept() {
    let peak = imported(&imports().join("memray.peak.html.gz"));
    let end = imported(&imports().join("memray.temporal.html.gz"));
    let (peak, end) = (peak.path(), end.path());
    // As `memray stats` and `memray transform csv --leaks` have it.
    for (path, field, bytes, objects) in
        [(&peak, "peak", 45_999_564.0, 2082.0), (&end, "live_at_end", 7_537_906.0, 2050.0)]
    {
        assert_eq!(total(argument(path), field, "bytes"), bytes);
        assert_eq!(total(argument(path), field, "objects"), objects);
    }
    let refused = run(&["report", argument(&peak), "--metric", "live"]);
    assert!(text(&refused.stderr).contains("cannot be answered"));
    let page = stdout(&["report", argument(&end), "--view", "leaks"]);
    assert!(page.contains("3.83 MiB"), "{page}");
    let document = json(&["report", argument(&end), "--view", "leaks", "--json"]);
    assert!(!document.to_string().contains("\"never_freed\":{"), "{document}");
    for format in ["firefox", "heaptrack", "dhat"] {
        let refused = run(&["export", "-F", format, argument(&end)]);
        assert!(text(&refused.stderr).contains("cannot be answered"), "{format}");
    }
    let collapsed = text(&export("collapsed", argument(&peak), &[]));
    let sum = |line: &str| line.rsplit(' ').next().and_then(|it| it.parse::<u64>().ok()).unwrap();
    assert_eq!(collapsed.lines().map(sum).sum::<u64>(), 45_999_564);
}

#[test]
fn v8s_sum_is_kept() {
    let packed = imports().join("node.heapprofile.gz");
    let mut json = String::new();
    let unpacked = flate2::read::GzDecoder::new(fs::File::open(&packed).unwrap());
    { unpacked }.read_to_string(&mut json).unwrap();
    let sizes = json.split("\"selfSize\":").skip(1);
    let sizes = sizes.map(|rest| rest.split(',').next().unwrap().parse::<u64>().unwrap());
    let trace = imported(&packed);
    let path = trace.path();
    let document = self::json(&["report", argument(&path), "--json"]);
    assert_eq!(
        document["totals"]["live_at_end"]["bytes"].as_f64(),
        Some(sizes.sum::<u64>() as f64)
    );
    assert_eq!(document["totals"]["allocated"], Value::Null);
    assert_eq!(document["totals"]["live_at_end"]["objects"], Value::Null);
}

#[test]
fn massifs_peak_is_kept() {
    let packed = imports().join("massif.sqlite3.gz");
    let mut profile = String::new();
    let unpacked = flate2::read::GzDecoder::new(fs::File::open(&packed).unwrap());
    { unpacked }.read_to_string(&mut profile).unwrap();
    let number = |snapshot: &str, name: &str| -> u64 {
        let value = snapshot.split(name).nth(1).unwrap().lines().next().unwrap();
        value.parse().unwrap()
    };
    let snapshots = profile.split("snapshot=").filter(|it| !it.contains("heap_tree=empty")).skip(1);
    let totals = snapshots.map(|snapshot| {
        let heap = number(snapshot, "mem_heap_B=");
        (heap + number(snapshot, "mem_heap_extra_B="), heap)
    });
    let heap = totals.max().unwrap().1 as f64;
    let trace = imported(&packed);
    let path = trace.path();
    let document = json(&["report", argument(&path), "--json"]);
    let totals = &document["totals"];
    assert_eq!(totals["peak"]["bytes"].as_f64(), Some(heap));
    for unknown in [&totals["peak"]["objects"], &totals["allocated"], &totals["live_at_end"]] {
        assert_eq!(unknown, &Value::Null);
    }
    assert_eq!(document["trace"]["exact"], false);
    let page = stdout(&["report", argument(&path), "--view", "peak"]);
    assert!(
        page.contains("the real peak may be 1 % higher") && !page.contains("objects."),
        "{page}"
    );
    let folded = text(&export("collapsed", argument(&path), &[]));
    assert!(folded.lines().all(|line| line.ends_with(|last: char| last.is_ascii_digit())));
    let judged = run(&["report", argument(&path), "--fail-if", "peak > 1kB"]);
    assert!(text(&judged.stderr).contains("as the file has it; the highest snapshot"));
}

#[test]
fn pages_of_what_was_imported() {
    for (file, golden) in [
        ("heaptrack.sqlite3.zst", "import-heaptrack.txt"),
        ("dhat.sqlite3.json.gz", "import-dhat.txt"),
        ("go.pb.gz", "import-pprof.txt"),
        ("memray.peak.html.gz", "import-memray-peak.txt"),
        ("memray.temporal.html.gz", "import-memray-temporal.txt"),
        ("node.heapprofile.gz", "import-v8.txt"),
        ("massif.sqlite3.gz", "import-massif.txt"),
    ] {
        let (trace, output) = import(&imports().join(file));
        let (path, said) = (trace.path(), text(&output.stderr));
        let said = said.replace(argument(&path), "OUT").replace(argument(&imports()), "IMPORTS");
        let report = stdout(&["report", argument(&path), "--top", "3"]);
        check_golden(golden, &format!("{said}\n{report}"));
    }
}

/// A recording as long as it was, not packed.
fn plain_recording() -> Vec<u8> {
    let trace = imported(&imports().join("heaptrack.sqlite3.zst"));
    export("heaptrack", argument(&trace.path()), &[])
}

#[test]
fn a_cut_file_gives_what_is_before_the_cut() {
    let read = |name: &str| fs::read(imports().join(name)).unwrap();
    for (name, whole, cuts) in [
        ("heaptrack", plain_recording(), &[0.5, 0.91, 0.9995][..]),
        ("DHAT", read("dhat.sqlite3.json.gz"), &[0.3, 0.9, 0.999]),
        ("pprof", read("go.pb.gz"), &[0.98, 0.999]),
    ] {
        let all = totals(&imported(&Scratch::new(&whole).path())).calls;
        let mut before = 0;
        for part in cuts {
            let cut = &whole[..(whole.len() as f64 * part) as usize];
            // A text that ends with a line is no cut one.
            let cut = Scratch::new(if cut.ends_with(b"\n") { &cut[..cut.len() - 2] } else { cut });
            let (trace, output) = import(&cut.path());
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{name} {part}: {said}");
            assert!(said.contains("cut"), "{name} {part}: {said}");
            stdout(&["check", argument(&trace.path())]);
            let found = totals(&trace).calls;
            assert!(found >= before && found <= all, "{name} {part}: {found} of {all}");
            before = found;
        }
        assert!(before > all / 2, "{name}: {before} of {all}");
    }
}

#[test]
fn what_is_none_of_these_is_refused() {
    for (content, expected) in [
        (&b""[..], "found an empty file"),
        (b"hello, world", "found \"hello, world\""),
        (b"{\"a\":1}", "\"dhatFileVersion\""),
        (b"{\"dhatFileVersion\":3}", "version 3 of DHAT's format"),
        (b"{\"dhatFileVersion\":2,\"mode\":\"copy\",\"bklt\":false,\"pps\":[{\"tb\":1,\"tbk\":1,\"fs\":[1]}]}", "mode \"copy\""),
        (b"{\"dhatFileVersion\":2,\"pps\":[{\"tb\":-1}]}", "line 1 column"),
        (b"v 10400 3\nx /bin/ls\n", "heaptrack --interpret"),
        (b"heap profile: 1: 2 [3: 4] @ heapprofile\n", "2 bytes live, its backtraces have 0"),
        (b"desc: (none)\ncmd: x\ntime_unit: i\n", "no snapshot in it has a tree"),
        (b"--- heapz 1 ---\nformat = java\n", "pprof -proto"),
        (b"heap_v2/524288\n  t*: 1: 2 [0: 0]\n", "no backtrace"),
        (b"{\"head\":{\"callFrame\":{}}}", "nothing lives in it"),
        (b"{\"snapshot\":{\"meta\":{}}}", "heap snapshot of V8"),
        (b"\x04\x22\x4d\x18\x60", "packed by lz4, as recordings of memray"),
        (b"memray\0\x0b\0\0\0", "memray flamegraph -o page.html"),
        (b"allocator,num_allocations,size,tid,thread_name,stack_trace\r\n", "not say of which moment"),
        (b"<!DOCTYPE html>\n<title>memray - table report</title>", "which has no backtraces"),
        (b"\xfd7zXZ\0", "xz -d"),
        (b"\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x03cpu\x32\x02ns", "cpu/ns"),
        (b"\x1f\x8b\x08", "cut"),
        (b"\x28\xb5\x2f\xfd", "cut"),
    ] {
        let input = Scratch::new(content);
        let (trace, output) = import(&input.path());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
        assert!(said.contains(argument(&input.path())), "{said}");
        assert_eq!(fs::read(trace.path()).unwrap(), b"", "{said}");
    }
    let trace = traces().join(SAMPLE);
    assert!(text(&import(&trace).1.stderr).contains("is a trace already"));
}

#[test]
fn a_pipe_is_imported_as_a_file_is() {
    let file = imports().join("go.pb.gz");
    let piped = run_on(&file, &["import", "-", "-o", "-"]);
    assert_eq!(piped.status.code(), Some(0), "{}", text(&piped.stderr));
    assert_eq!(piped.stdout, fs::read(imported(&file).path()).unwrap());
}
