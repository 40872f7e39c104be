//! Programs as Debian ships them: they do what they always do, and what a sampled run estimates is
//! what an exact run counts.
//!
//! The commands are deterministic, so that two runs allocate the same. An estimate may be off by
//! [`SIGMAS`] of the standard deviations that follow from the exact run's blocks.

use std::path::{Path, PathBuf};
use std::process::Command;

use lifetrace_analysis::Summary;
use lifetrace_analysis::estimate::Estimate;

use crate::support::blocks::{self, Block};
use crate::support::deviation;
use crate::support::fixture;
use crate::support::profile::{assert_complete, read_through};
use crate::support::run::{Outcome, Recording, Target, file_name, files};

/// One in two million estimates is further off.
const SIGMAS: f64 = 5.0;

const PYTHON: &str = "
import ast, json
records = [{'id': n, 'name': 'name %d' % n, 'tags': ['a', 'b', str(n)]} for n in range(2000)]
for _ in range(5):
    text = json.dumps(records, indent=1)
    assert json.loads(text) == records
program = '\\n'.join('def f%d(a, b=%d):\\n    return [a + b * i for i in range(%d)]' % (n, n, n) for n in range(300))
print(len(text), sum(1 for _ in ast.walk(ast.parse(program))))
";

const PERL: &str = "
my %words;
for my $n (1 .. 30000) { push @{ $words{ ($n * 7919) % 1009 } }, { number => $n, text => 'x' x ($n % 50) } }
my $sum = 0;
for my $key (sort keys %words) { $sum += length $_->{text} for @{ $words{$key} } }
print \"$sum\\n\";
";

const GIT: &str = "
set -e
cd \"$(mktemp -d)\"
git init -q .
for n in 1 2 3 4 5 6 7 8; do seq 1 ${n}00 > file$n; git add file$n; git commit -q -m \"commit $n\"; done
git log --stat
git fsck --strict 2>&1
rm -rf \"$PWD\"
";

fn sqlite() -> Target {
    let script = Path::new(env!("CARGO_TARGET_TMPDIR")).join("load.sql");
    std::fs::write(&script, sql()).unwrap();
    Target::new(&["sqlite3", ":memory:"]).stdin(&script)
}

fn sql() -> String {
    let insert = |row: u64| {
        let number = row * 2_654_435_761 % 10_007;
        format!("insert into t values({row}, 'name {number}', {number});\n")
    };
    let select =
        |row: u64| format!("select count(*), max(name) from t where n = {};\n", row * 7 % 10_007);
    std::iter::once("create table t(id integer primary key, name text, n int);\n".to_owned())
        .chain((0..20_000).map(insert))
        .chain(["create index by_n on t(n);\n".to_owned()])
        .chain((0..2_000).map(select))
        .collect()
}

fn python() -> Target {
    let environment = [("PYTHONHASHSEED", "0"), ("PYTHONMALLOC", "malloc")];
    Target::new(&["/usr/bin/python3", "-c", PYTHON]).environment(&environment)
}

fn perl() -> Target {
    let environment = [("PERL_HASH_SEED", "0"), ("PERL_PERTURB_KEYS", "0")];
    Target::new(&["perl", "-e", PERL]).environment(&environment)
}

fn git() -> Target {
    Target::new(&["sh", "-c", GIT]).environment(&[
        ("GIT_AUTHOR_NAME", "A"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
        ("GIT_AUTHOR_DATE", "2020-01-01T00:00:00Z"),
        ("GIT_COMMITTER_NAME", "A"),
        ("GIT_COMMITTER_EMAIL", "a@example.org"),
        ("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ])
}

fn compiler() -> Target {
    let source = fixture::source("cpp/heavy.cpp");
    Target::new(&["g++", "-std=c++17", "-O1", "-c", "-o", "/dev/null"])
        .arguments(&[source.to_str().unwrap()])
}

/// Runs it bare, exactly and sampled, and compares what `program` has allocated.
fn check(target: &Target, program: &str) {
    let bare = target.bare();
    assert_eq!(bare.code, 0, "{bare:?}");
    let exact = recorded(target, &["--rate", "1"], &bare);
    let sampled = recorded(target, &["--interval", "64KiB", "--seed", "1"], &bare);
    assert_eq!(programs(&exact), programs(&sampled), "a trace for each process of either run");
    compare(&blocks::of(&exact.trace_of(program)), &read_through(&sampled.trace_of(program)));
}

fn recorded(target: &Target, options: &[&str], bare: &Outcome) -> Recording {
    let recording = target.record(options);
    assert_eq!(&recording.outcome, bare, "recorded with {options:?} (left) and bare (right)");
    recording
}

fn compare(blocks: &[Block], sampled: &Summary) {
    assert!(sampled.samples > 100, "too few samples to say anything: {sampled:?}");
    let bytes = |block: &Block| 8.0 * block.words as f64;
    let one = |block: &Block| f64::from(!block.is_growth);
    let alive = |block: &Block| if block.is_live { bytes(block) } else { 0.0 };
    let inside = |what: &str, estimate: Estimate, count: &dyn Fn(&Block) -> f64| {
        let expected = deviation::expect(blocks, sampled.sampling.rate(), count);
        let off = (estimate.value - expected.exact).abs();
        assert!(off <= SIGMAS * expected.deviation, "{what}: {estimate:?}, {expected:?}");
    };
    inside("allocated bytes", sampled.allocated.bytes, &bytes);
    inside("allocated objects", sampled.allocated.objects, &one);
    inside("live bytes", sampled.live.bytes, &alive);
}

fn programs(recording: &Recording) -> Vec<String> {
    let program = |path: &PathBuf| file_name(path).split('.').next().unwrap_or_default().to_owned();
    let mut programs: Vec<String> = recording.traces().iter().map(program).collect();
    programs.sort();
    programs
}

#[test]
fn sqlite3_does_what_it_always_does() {
    check(&sqlite(), "sqlite3");
}

#[test]
fn python3_does_what_it_always_does() {
    check(&python(), "python3");
}

#[test]
fn perl_does_what_it_always_does() {
    check(&perl(), "perl");
}

#[test]
fn a_compiler_does_what_it_always_does() {
    check(&compiler(), "cc1plus");
}

/// Many short processes; none allocates enough for an estimate.
#[test]
fn git_does_what_it_always_does() {
    let target = git();
    let bare = target.bare();
    assert_eq!(bare.code, 0, "{bare:?}");
    for options in [["--rate", "1"], ["--interval", "64KiB"]] {
        let recording = recorded(&target, &options, &bare);
        let traces = recording.traces();
        assert!(traces.len() > 16, "{traces:?}");
        traces.iter().for_each(|trace| assert_complete(trace));
    }
}

/// Another profiler that hears every call, reallocs that grow a block among them, counts the same,
/// within a part in a thousand: it starts at another moment of the process's start.
#[test]
fn heaptrack_counts_the_same() {
    if !available("heaptrack") {
        assert!(std::env::var_os("CI").is_none(), "CI must have heaptrack");
        eprintln!("skipped: no heaptrack");
        return;
    }
    let recording = sqlite().record(&["--rate", "1"]);
    let ours = read_through(&recording.trace_of("sqlite3")).samples as f64;
    let theirs = heaptrack_count(&sqlite());
    assert!((ours / theirs - 1.0).abs() < 0.001, "ours {ours}, heaptrack's {theirs}");
}

fn heaptrack_count(target: &Target) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("heaptrack");
    let outcome = target.under(&["heaptrack".as_ref(), "-o".as_ref(), file.as_os_str()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let files = files(folder.path());
    let told = Outcome::of(Command::new("heaptrack_print").args(&files)).stdout_text();
    let count = told.lines().find_map(|line| line.strip_prefix("calls to allocation functions: "));
    let count = count.unwrap_or_else(|| panic!("no count for {files:?} in {told}"));
    count.split(' ').next().unwrap().parse().unwrap()
}

fn available(program: &str) -> bool {
    let script = ["-c", "command -v \"$1\" >/dev/null", "sh", program];
    Command::new("sh").args(script).status().is_ok_and(|status| status.success())
}
