//! Stacks that are not as usual: used up, huge, tiny, somebody else's, or full of code without
//! unwind information.

use std::path::Path;

#[cfg(target_arch = "x86_64")]
use lifetrace_trace::fact::Fact;

use crate::support::fixture;
use crate::support::hazard::{EXACT, SHORT_INTERVAL, check, check_despite_losses, same_ledger};
use crate::support::profile::read_through;
use crate::support::run::{Target, file_name, lifetrace_verb};
#[cfg(target_arch = "x86_64")]
use crate::support::{hazard::check_totals, profile::facts_of};

/// What the agent may take of a stack at most, in bytes; its own limit is a little higher.
const STACK_OF_OURS: u64 = 10 * 1024;

#[test]
fn handlers_that_allocate_on_signal_stacks() {
    check(&fixture::c("alternate_stack"), &["16"], 1);
    check(&fixture::c("alternate_stack"), &["64"], 1);
}

/// There a sample has no backtrace.
#[test]
fn handlers_that_allocate_on_the_smallest_signal_stacks() {
    check_despite_losses(&Target::new(&[&fixture::c("alternate_stack")]).arguments(&["8"]));
}

/// It dies of its own SIGSEGV, not of ours.
#[test]
fn a_stack_that_is_used_up() {
    for how in ["crash", "thread"] {
        check_despite_losses(&Target::new(&[&fixture::c("stack_end")]).arguments(&[how]));
    }
}

/// The agent must not be found entered when the program has jumped out of the end of its stack: what
/// comes afterwards is heard.
#[test]
fn a_program_that_recovers_from_the_end_of_its_stack() {
    let target = Target::new(&[&fixture::c("stack_end")]).arguments(&["recover"]);
    check_despite_losses(&target);
    let dump = dump(&target.record(EXACT).trace_of("stack_end"));
    let heard = dump.matches("hazard_after_overflow").count();
    assert!(heard >= 1000, "{heard} of 1000 allocations were heard");
}

#[test]
fn huge_stacks() {
    check(&fixture::c("huge_stack"), &[], 1);
}

#[test]
fn the_agent_is_frugal_with_other_peoples_stacks() {
    let target = Target::new(&[&fixture::c("stack_use")]);
    let stack_of = |told: String| -> u64 {
        let line = told.lines().find_map(|line| line.strip_prefix("stack ")).unwrap();
        line.parse().unwrap()
    };
    let recorded = target.record(EXACT);
    same_ledger(&target.bare(), &recorded);
    let used = stack_of(recorded.outcome.stdout_text());
    assert!(used < STACK_OF_OURS, "{used} bytes");
    assert!(used > stack_of(target.bare().stdout_text()), "nothing was sampled");
}

/// It has frame pointers, or its backtraces end there, and the trace says so.
#[cfg(target_arch = "x86_64")]
#[test]
fn code_that_was_made_at_run_time() {
    let target = Target::new(&[&fixture::c("made_code")]);
    for recording in check_totals(&target.clone().arguments(&["with"])) {
        let trace = recording.trace_of("made_code");
        assert!(!dump(&trace).contains("[truncated backtrace]"));
        let tree = tree_through("hazard_below", &trace);
        for part in ["  main  ", "  [anonymous]\n", "  hazard_below  "] {
            assert!(tree.contains(part), "no {part:?} in {tree}");
        }
    }
    let [exact, _] = check_totals(&target.arguments(&["without"]));
    let trace = exact.trace_of("made_code");
    let notice = Fact::Notice("cut-at-made-code:100".into());
    assert!(facts_of(&trace).contains(&notice), "{:?}", facts_of(&trace));
    let report = lifetrace_verb(&[Path::new("report"), &trace]).stdout_text();
    assert!(report.contains("runs code without unwind tables"), "{report}");
}

/// Compiled JavaScript has no unwind tables, but frame pointers and, if told so, names.
#[test]
fn javascript() {
    const SCRIPT: &str = "
        const kept = [];
        function leaf(n) { const b = Buffer.allocUnsafeSlow(20000); b.fill(n); if (n % 3 == 0) kept.push(b); return b[7]; }
        function work(n) { return leaf(n) + 1; }
        let sum = 0;
        for (let n = 0; n < 20000; n++) sum += work(n & 255);
        console.log(sum, kept.length, require('zlib').gzipSync(kept[0]).length);
    ";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("script.js"), SCRIPT).unwrap();
    let target = |options: &[&str]| {
        let target = Target::new(&["node"]).arguments(options);
        target.arguments(&["--single-threaded-gc", "script.js"]).folder(folder.path())
    };
    let bare = target(&[]).bare();
    assert_eq!(bare.code, 0, "{bare:?}");
    let named = target(&["--perf-basic-prof", "--interpreted-frames-native-stack"]);
    let recording = named.record(SHORT_INTERVAL);
    assert_eq!((recording.outcome.code, &recording.outcome.stdout), (0, &bare.stdout));
    let trace = recording.trace_of("node");
    let process = file_name(&trace).replace("node.", "").replace(".lt", "");
    let _ = std::fs::remove_file(format!("/tmp/perf-{process}.map"));
    assert!(read_through(&trace).samples > 1000);
    // Native, compiled and native again, out to the start.
    let tree = tree_through("leaf", &trace);
    for part in ["AllocateUninitialized", "  leaf  ", "script.js:3", "node::Start(", "  _start  "] {
        assert!(tree.contains(part), "no {part:?} in {tree}");
    }
}

fn tree_through(function: &str, trace: &Path) -> String {
    let filter = format!("fn:{function}");
    let arguments = ["report", "--view", "tree", "--filter", &filter, trace.to_str().unwrap()];
    lifetrace_verb(&arguments).stdout_text()
}

fn dump(trace: &Path) -> String {
    lifetrace_verb(&["dump".as_ref(), trace.as_os_str()]).stdout_text()
}
