//! Programs that run already, are attached to, and let go of.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::attached::Attached;
use crate::support::fixture;
use crate::support::profile::read_through;
use crate::support::reader::Reader;
use crate::support::run::{lifetrace, lifetrace_verb};
use crate::support::{births, run};

/// Everything is recorded.
const EXACT: [&str; 3] = ["--interval", "1", "-q"];

/// Each way of the fixture to get a hundred blocks.
const WAYS: [&str; 8] = [
    "by_malloc",
    "by_calloc",
    "by_realloc",
    "by_posix",
    "by_aligned",
    "by_memalign",
    "by_strdup",
    "by_pointer",
];

/// How many births the trace has of each way.
fn births_by_way(trace: &Path) -> [usize; WAYS.len()] {
    let births = births::of(trace);
    WAYS.map(|way| births.iter().filter(|birth| birth.functions().any(|it| it == way)).count())
}

#[test]
fn each_block_is_heard_from_then_on() {
    let mut program = Attached::start(&["blocks"]);
    assert_eq!(program.say("before"), "done\n");
    let recorder = program.attach_on(&["--interval", "1"]);
    assert!(recorder.line.contains("attached to process"), "{}", recorder.line);
    assert_eq!(program.say("while"), "done\n");
    let (code, said) = recorder.terminate();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(program.say("afterwards"), "done\n");
    let trace = program.trace();
    // A block by realloc is one of malloc's and what realloc has added to it.
    assert_eq!(births_by_way(&trace), [100, 100, 200, 100, 100, 100, 100, 100]);
    assert!(read_through(&trace).live.bytes.value < 1e5, "all of them were freed");
    let report = lifetrace_verb(&["report", trace.to_str().unwrap()]).stdout_text();
    assert!(report.contains("blocks from before are not known"), "{report}");
    let (code, rest) = program.finish();
    assert_eq!((code, &*rest), (Some(0), "0\nok\n"));
}

#[test]
fn the_code_is_as_it_was_before() {
    let program = Attached::start(&["blocks"]);
    let before = program.code();
    let recorder = program.attach_on(&[]);
    assert!(program.code() != before, "there are jumps");
    assert_eq!(recorder.terminate().0, Some(0));
    assert!(program.code() == before, "some byte was not put back");
    for _ in 0..3 {
        let outcome = program.attach(&["--duration", "10ms", "-q"]);
        assert_eq!((outcome.code, &*outcome.stderr_text()), (0, ""));
        assert!(program.code() == before, "some byte was not put back");
    }
    assert_eq!(program.finish().0, Some(0));
}

#[test]
fn again_and_again() {
    let mut program = Attached::start(&["blocks"]);
    let mappings = |program: &Attached| {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", program.pid())).unwrap();
        maps.lines().count()
    };
    let mut first = 0;
    for round in 0..12 {
        let recorder = program.attach_on(&["--interval", "1"]);
        assert_eq!(program.say("while"), "done\n");
        assert_eq!(recorder.terminate().0, Some(0));
        assert_eq!(births_by_way(&program.trace())[0], 100, "in round {round}");
        match round {
            // What is made once is there.
            2 => first = mappings(&program),
            _ => assert!(round < 2 || mappings(&program) <= first + 2, "mappings are left behind"),
        }
    }
    assert_eq!(program.finish().0, Some(0));
}

#[test]
fn busy_threads() {
    let program = Attached::start(&["threads", "8"]);
    for _ in 0..3 {
        let outcome = program.attach(&["--interval", "16KiB", "--duration", "300ms", "-q"]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let profile = read_through(&program.trace());
        assert!(profile.allocated.samples > 10, "{:?}", profile.allocated);
    }
    let (code, rest) = program.finish();
    assert!(code == Some(0) && rest.ends_with("ok\n"), "{rest}");
}

#[test]
fn waiting_threads_wait_on() {
    let program = Attached::start(&["waits"]);
    for _ in 0..5 {
        let outcome = program.attach(&["--duration", "20ms", "-q"]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let (code, rest) = program.finish();
    assert!(code == Some(0) && rest.ends_with("ok\n"), "{rest}");
}

#[test]
fn children_have_traces_of_their_own_and_are_let_go_of() {
    let program = Attached::start(&["forks"]);
    let outcome = program.attach(&["--interval", "1", "--duration", "500ms", "-q", "--keep-empty"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let traces = program.traces();
    assert!(traces.len() > 1, "{traces:?}");
    let child = traces.iter().find(|path| **path != program.trace()).unwrap();
    let parent = Reader::open(child).info().pid;
    assert_ne!(parent, u64::from(program.pid()));
    let outcome = program.attach(&["--no-children", "--duration", "100ms", "-q"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let (code, rest) = program.finish();
    assert!(code == Some(0) && rest.ends_with("ok\n"), "{rest}");
}

/// They connect before they enter it; afterwards that would kill them.
#[test]
fn children_that_enter_a_sandbox() {
    let program = Attached::start(&["sandboxes"]);
    let outcome = program.attach(&["--interval", "1", "--duration", "500ms", "-q", "--keep-empty"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(program.traces().len() > 1, "{:?}", program.traces());
    let (code, rest) = program.finish();
    assert!(code == Some(0) && rest.ends_with("ok\n"), "{rest}");
}

#[test]
fn libraries_that_come_and_go() {
    let plugin = fixture::c_library("plugin");
    let program = Attached::start(&["opens", plugin.to_str().unwrap()]);
    for _ in 0..5 {
        let outcome = program.attach(&["--interval", "1KiB", "--duration", "50ms", "-q"]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let (code, rest) = program.finish();
    assert!(code == Some(0) && rest.ends_with("ok\n"), "{rest}");
}

#[test]
fn detach_ends_a_recording() {
    let program = Attached::start(&["threads", "2"]);
    let recorder = program.attach_on(&[]);
    let again = program.attach(&["-q"]);
    assert_eq!(again.code, 1);
    let whom = format!("is being recorded already, by process {}", recorder.child.id());
    assert!(again.stderr_text().contains(&whom), "{again:?}");
    let outcome = program.detach();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let (code, said) = recorder.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(read_through(&program.trace()).allocated.samples > 0);
    let outcome = program.detach();
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr_text().contains("is not attached to"), "{outcome:?}");
    assert!(program.finish().1.ends_with("ok\n"));
}

/// A recorder that is killed puts nothing back; anybody can.
#[test]
fn what_a_killed_recorder_has_left() {
    let program = Attached::start(&["threads", "2"]);
    let before = program.code();
    let kill = || {
        let mut recorder = program.attach_on(&[]);
        recorder.child.kill().unwrap();
        drop(recorder.end());
        assert!(program.code() != before, "there are jumps");
    };
    kill();
    let outcome = program.detach();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stderr_text().contains("was gone"), "{outcome:?}");
    assert!(program.code() == before, "all is put back");
    kill();
    let outcome = program.attach(&["--duration", "100ms", "-q"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(read_through(&program.trace()).allocated.samples > 0);
    assert!(program.code() == before, "all is put back");
    assert!(program.finish().1.ends_with("ok\n"));
}

/// The library is there since its start, and hears malloc by its name.
#[test]
fn a_program_whose_recording_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(run::lifetrace());
    command.args(["record", "-q", "--duration", "1ms", "-o"]).arg(folder.path().join("%p.lt"));
    command.arg("--").arg(fixture::c("attached")).arg("blocks");
    let mut program = Attached::of(&mut command);
    let pid = only_child(program.pid());
    // Its recording ends while it runs.
    let mut over = false;
    let output = folder.path().join("again.lt");
    while !over {
        let outcome = lifetrace_verb(
            &[
                &["attach", &pid.to_string(), "-f", "-o", output.to_str().unwrap()],
                &["--duration", "10ms"][..],
                &EXACT,
            ]
            .concat(),
        );
        over = outcome.code == 0;
        let told = outcome.stderr_text();
        assert!(over || told.contains("is being recorded already"), "{outcome:?}");
    }
    assert_eq!(program.say("afterwards"), "done\n");
    drop(program.finish());
}

fn only_child(pid: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.trim().parse().unwrap()
}

#[test]
fn another_allocator() {
    let library = Path::new("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2");
    if !library.exists() {
        assert!(std::env::var_os("CI").is_none(), "CI must have jemalloc");
        return;
    }
    let mut command = Command::new(fixture::c("attached"));
    let mut program = Attached::of(command.arg("blocks").env("LD_PRELOAD", library));
    let recorder = program.attach_on(&["--interval", "1"]);
    assert_eq!(program.say("while"), "done\n");
    assert_eq!(recorder.terminate().0, Some(0));
    assert_eq!(births_by_way(&program.trace()), [100, 100, 200, 100, 100, 100, 100, 100]);
    assert!(program.finish().1.ends_with("ok\n"));
}

/// What it says of a process that it does not attach to.
fn refusal(pid: u32) -> String {
    let outcome = lifetrace_verb(&["attach", &pid.to_string(), "-o", "/nonexistent/x.lt"]);
    assert_eq!((outcome.code, outcome.stdout.len()), (1, 0), "{outcome:?}");
    outcome.stderr_text()
}

#[test]
fn what_cannot_be_attached_to() {
    let said = refusal(u32::MAX / 2);
    assert!(said.contains("there is no such process"), "{said}");
    let said = refusal(0);
    assert!(said.contains("there is no such process"), "{said}");
    let threads = Attached::start(&["threads", "2"]);
    let tasks = std::fs::read_dir(format!("/proc/{}/task", threads.pid())).unwrap();
    let numbers = tasks.map(|it| it.unwrap().file_name().to_str().unwrap().parse().unwrap());
    let thread = numbers.filter(|&it: &u32| it != threads.pid()).max().unwrap();
    let said = refusal(thread);
    assert!(said.contains(&format!("a thread of process {}", threads.pid())), "{said}");
    // The folder for its trace is not there, and nothing is done to it.
    let said = refusal(threads.pid());
    assert!(said.contains("/nonexistent"), "{said}");
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", threads.pid())).unwrap();
    assert!(!maps.contains("lifetrace"), "{maps}");
    stop(&threads, "STOP");
    let said = refusal(threads.pid());
    assert!(said.contains("is stopped") && said.contains("kill -CONT"), "{said}");
    stop(&threads, "CONT");
    assert!(threads.finish().1.ends_with("ok\n"));
}

/// Nobody records it, and somebody wants to see it: its trace goes with the page, unless a name for it is given.
#[test]
fn live_attaches_by_itself() {
    let program = Attached::start(&["threads", "2"]);
    let (before, kept) = (program.code(), program.folder.path().join("kept.lt"));
    for output in [None, Some(&kept)] {
        let mut command = Command::new(lifetrace());
        command.args(["live", "--json", "--interval", "16KiB", &program.pid().to_string()]);
        if let Some(path) = output {
            command.arg("-o").arg(path);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let has_samples = |line: String| {
            let page: serde_json::Value = serde_json::from_str(&line).unwrap();
            page["processes"][0]["totals"]["allocated"]["samples"].as_u64().is_some_and(|it| it > 0)
        };
        assert!(lines.any(|line| has_samples(line.unwrap())));
        let told = Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert!(told.success() && child.wait().unwrap().success());
        assert!(program.code() == before, "some byte was not put back");
        assert_eq!(kept.exists(), output.is_some());
    }
    assert!(read_through(&kept).allocated.samples > 0);
    assert!(program.finish().1.ends_with("ok\n"));
}

fn stop(program: &Attached, signal: &str) {
    let pid = program.pid().to_string();
    assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
    let is_stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(") ").next().unwrap().starts_with('T')
    };
    while is_stopped() != (signal == "STOP") {
        std::thread::yield_now();
    }
}

#[test]
fn programs_of_other_kinds() {
    for (program, words) in [
        (fixture::c_static("attached"), "is statically linked"),
        (fixture::c_musl("attached"), "uses the musl C library"),
    ] {
        let program = Attached::of(Command::new(program).arg("idle"));
        let said = refusal(program.pid());
        assert!(said.contains(words), "{said}");
        assert!(program.finish().1.ends_with("ok\n"));
    }
}

/// Says `ready`, reads until its input ends, and says `ok`.
const OF_32_BITS: &str = "
.globl _start
_start: mov $4, %eax; mov $1, %ebx; mov $ready, %ecx; mov $6, %edx; int $0x80
more: mov $3, %eax; xor %ebx, %ebx; mov $room, %ecx; mov $64, %edx; int $0x80
test %eax, %eax; jg more
mov $4, %eax; mov $1, %ebx; mov $ok, %ecx; mov $3, %edx; int $0x80
mov $1, %eax; xor %ebx, %ebx; int $0x80
.data
ready: .ascii \"ready\\n\"
ok: .ascii \"ok\\n\"
.lcomm room, 64
";

#[test]
fn a_program_of_32_bits() {
    let folder = tempfile::tempdir().unwrap();
    let [source, object, program] = ["a.s", "a.o", "a"].map(|name| folder.path().join(name));
    std::fs::write(&source, OF_32_BITS).unwrap();
    let run = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    run(Command::new("as").args(["--32", "-o"]).args([&object, &source]));
    run(Command::new("ld").args(["-m", "elf_i386", "-o"]).args([&program, &object]));
    let program = Attached::of(&mut Command::new(program));
    let said = refusal(program.pid());
    assert!(said.contains("32-bit"), "{said}");
    assert!(program.finish().1.ends_with("ok\n"));
}
