//! The OCaml library: programs that trace themselves, read by our readers.
//!
//! The program is `ocaml/test/traced.ml`; what it does at a word is said there.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use lifetrace_trace::event::{Event, Location, Source};
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::AllocationId;
use tempfile::TempDir;

use crate::support::ocaml_library::{BOTH, Linked, traced};
use crate::support::reader::Reader;
use crate::support::run::{Outcome, Target, file_name, files, lifetrace_verb};
use crate::support::snapshot::Snapshot;

/// A sampled block.
#[derive(Clone, Debug)]
struct Block {
    words: u64,
    source: Source,
    is_promoted: bool,
    is_live: bool,
    /// Outermost first.
    functions: Vec<String>,
}

struct Trace {
    blocks: Vec<Block>,
    context: Option<String>,
    is_complete: bool,
    facts: Vec<Fact>,
}

impl Trace {
    fn read(path: &Path) -> Trace {
        let mut reader = Reader::open(path);
        let (mut blocks, mut births) = (Vec::<Block>::new(), HashMap::<AllocationId, usize>::new());
        let mut backtrace = Vec::new();
        while let Some(step) = reader.next() {
            match step {
                None => continue,
                Some((_, Event::Promotion(id))) => blocks[births[&id]].is_promoted = true,
                Some((_, Event::Collection(id))) => blocks[births[&id]].is_live = false,
                Some((_, Event::Allocation(birth))) => {
                    births.insert(birth.id, blocks.len());
                    backtrace.clear();
                    backtrace.extend_from_slice(birth.backtrace);
                    let (words, source) = (birth.length.0, birth.source);
                    let frames = backtrace.iter().flat_map(|&code| reader.locations(code));
                    let functions = frames.map(|Location { defname, .. }| defname.to_string());
                    let functions = functions.collect();
                    let (is_promoted, is_live) = (false, true);
                    blocks.push(Block { words, source, is_promoted, is_live, functions });
                }
            }
        }
        let context = reader.info().context.clone();
        Trace { blocks, context, is_complete: reader.is_complete(), facts: reader.facts }
    }

    /// Checks what is true of each trace of the library, and returns it.
    fn whole(path: &Path) -> Trace {
        let trace = Trace::read(path);
        assert!(trace.is_complete, "{}", path.display());
        assert_eq!(trace.context.as_deref(), Some("in a test"));
        // But for the `Some` that External.alloc returns, which is a block of one word.
        let own = trace.blocks.iter().filter(|block| block.words > 1);
        let own = own.flat_map(|block| &block.functions).find(|name| name.contains("Lifetrace"));
        assert_eq!(own, None, "the tracer's own allocations and frames are not in a trace");
        trace
    }

    fn functions(&self) -> BTreeSet<&str> {
        self.blocks.iter().flat_map(|block| &block.functions).map(|name| &**name).collect()
    }

    fn has(&self, function: &str) -> bool {
        self.functions().iter().any(|name| name.ends_with(&format!("{}.{function}", "Traced")))
    }

    /// What all blocks that are `wanted` add up to, with their headers, and its deviation.
    fn estimate(&self, rate: f64, wanted: impl Fn(&Block) -> bool) -> (f64, f64) {
        let wanted = self.blocks.iter().filter(|block| wanted(block));
        let (sum, variance) = wanted.fold((0.0, 0.0), |(sum, variance), block| {
            let units = (block.words + 1) as f64;
            let p = 1.0 - (1.0 - rate).powf(units);
            (sum + units / p, variance + (1.0 - p) / (p * p) * units * units)
        });
        (sum, variance.sqrt())
    }
}

fn folder() -> (TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, move |name| path.join(name))
}

fn quiet(outcome: &Outcome) -> &Outcome {
    assert_eq!((outcome.code, outcome.stderr_text().as_str()), (0, ""), "{outcome:?}");
    outcome
}

fn requested(target: &Target, trace: &Path, rate: &str) -> Outcome {
    target
        .clone()
        .environment(&[("LIFETRACE_RATE", rate)])
        .environment(&[("LIFETRACE", trace)])
        .bare()
}

#[test]
fn totals_are_the_runtimes_own() {
    const RATE: f64 = 2e-4;
    for linked in BOTH {
        let target = traced(linked, &["totals"]);
        let bare = target.bare();
        let said = quiet(&bare).stdout_text();
        let exact: Vec<f64> =
            said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let (_folder, path) = folder();
        for name in ["t.lt", "t.ctf"] {
            quiet(&requested(&target, &path(name), "2e-4"));
            let trace = Trace::whole(&path(name));
            let estimates = [
                trace.estimate(RATE, |block| block.source == Source::Minor),
                trace.estimate(RATE, |block| block.is_promoted),
                trace.estimate(RATE, |block| block.source == Source::Major),
            ];
            for (exact, (estimate, deviation)) in exact.iter().zip(estimates) {
                let off = (estimate - exact).abs();
                assert!(off < 4.0 * deviation, "{estimate} ± {deviation}, in truth {exact}");
                assert!(deviation < 0.1 * exact);
            }
        }
    }
}

#[test]
fn the_names_of_traces_and_their_formats() {
    let target = traced(Linked::Statically, &["exit", "0"]);
    let (folder, path) = folder();
    let is_ours = |path: &Path| std::fs::read(path).unwrap()[1..3] == *b"LT";
    quiet(&requested(&target, &path("%e.%%.lt"), "1e-2"));
    quiet(&requested(&target, &path("a.ctf"), "1e-2"));
    quiet(&requested(&target, &path("b"), "1e-2"));
    for name in ["%p", "c.lt"] {
        // Overwritten, as Memtrace does it.
        std::fs::write(path(name), "x".repeat(1 << 20)).unwrap();
        let target = target.clone().environment(&[("MEMTRACE", path(name))]);
        quiet(&target.environment(&[("MEMTRACE_RATE", "1e-2")]).bare());
    }
    let found: Vec<(String, bool)> =
        files(folder.path()).iter().map(|path| (file_name(path), is_ours(path))).collect();
    let expected = [
        ("%p", false),
        ("a.ctf", false),
        ("b", true),
        ("c.lt", true),
        ("traced-static.%.lt", true),
    ];
    assert_eq!(found, expected.map(|(name, is_ours)| (name.to_owned(), is_ours)));
    for path in files(folder.path()) {
        assert!(Trace::whole(&path).has("first_work"));
    }
}

#[test]
fn nobody_asks_and_nothing_happens() {
    let target = traced(Linked::Dynamically, &["environment"]);
    let bare = target.bare();
    let (folder, path) = folder();
    let none = target.clone().environment(&[("LIFETRACE", ""), ("MEMTRACE", "")]).bare();
    assert_eq!((none.code, files(folder.path()).len()), (0, 0));
    // Programs that it starts are not traced, and have the same limits.
    let traced = requested(&target, &path("t.lt"), "1e-3");
    assert_eq!(traced, bare);
}

#[test]
fn a_program_starts_and_stops_as_often_as_it_likes() {
    for linked in BOTH {
        let (_folder, path) = folder();
        let [first, second] = [path("1.lt"), path("2.ctf")];
        let names = [&first, &second].map(|it| it.to_str().unwrap());
        quiet(&traced(linked, &["restart", "1", names[0], names[1]]).bare());
        let traces = [&first, &second].map(|path| Trace::whole(path));
        for (trace, works) in traces.iter().zip([[true, false], [false, true]]) {
            assert_eq!([trace.has("first_work"), trace.has("second_work")], works);
            assert!(!trace.has("untraced_work"));
        }
        // At rate 1 each of them has all its pairs, of a block of the list and one of two numbers.
        let pairs = |trace: &Trace| trace.blocks.iter().filter(|it| it.words == 2).count();
        assert!(pairs(&traces[0]) >= 200_000 && pairs(&traces[1]) >= 280_000);
    }
}

#[test]
fn nothing_is_left_of_a_trace_that_was_stopped() {
    let (_folder, path) = folder();
    let outcome = traced(Linked::Dynamically, &["again", path("t.lt").to_str().unwrap()]).bare();
    let said = quiet(&outcome).stdout_text();
    let kilobytes: u64 = said.trim().strip_prefix("shared ").unwrap().parse().unwrap();
    assert!(kilobytes < 1024, "{kilobytes} KiB of rings stay");
    assert!(Trace::whole(&path("t.lt")).blocks.len() > 2_000);
}

#[test]
fn memory_outside_the_heap() {
    for linked in BOTH {
        let (_folder, path) = folder();
        let outcome = requested(&traced(linked, &["external"]), &path("t.lt"), "0.1");
        let said = quiet(&outcome).stdout_text();
        let tokens: usize = said.trim().strip_prefix("tokens ").unwrap().parse().unwrap();
        // Of 2,000 blocks of 7 words each is hit with probability 0.522; deviation 22. There is room for
        // as many in the rings, however slow the recorder is.
        assert!((954..1133).contains(&tokens), "{tokens}");
        let trace = Trace::whole(&path("t.lt"));
        let external = |block: &&Block| block.source == Source::External && block.words == 7;
        let blocks: Vec<&Block> = trace.blocks.iter().filter(external).collect();
        let live = blocks.iter().filter(|block| block.is_live).count();
        assert_eq!((blocks.len(), live), (tokens, tokens / 2));
        for block in blocks {
            let innermost = block.functions.last().unwrap();
            assert!(innermost.contains("Traced.buffers"), "{:?}", block.functions);
        }
    }
}

#[test]
fn whatever_ends_the_program() {
    for linked in BOTH {
        let (_folder, path) = folder();
        for (words, code) in [(&["raise"][..], 2), (&["exit", "7"], 7)] {
            let target = traced(linked, words);
            let name = path(&format!("{code}.lt"));
            let outcome = requested(&target, &name, "1e-2");
            assert_eq!((&outcome, outcome.code), (&target.bare(), code));
            assert!(Trace::whole(&name).has("first_work"));
        }
        let killed = path("9.lt");
        let target = traced(linked, &["kill", killed.to_str().unwrap()]);
        assert_eq!(requested(&target, &killed, "1e-2").code, 128 + 9);
        let trace = Trace::read(&killed);
        assert!(!trace.is_complete && trace.has("first_work"));
    }
}

#[test]
fn forked_children_are_not_their_parents() {
    for linked in BOTH {
        let (_folder, path) = folder();
        let outcome = requested(&traced(linked, &["fork"]), &path("t.lt"), "1e-2");
        assert_eq!(quiet(&outcome).stdout_text(), "child 3\n");
        let child = path("child.lt");
        let words = ["fork", child.to_str().unwrap()];
        let outcome = requested(&traced(linked, &words), &path("u.lt"), "1e-2");
        assert_eq!(quiet(&outcome).stdout_text(), "child 4\n");
        for name in ["t.lt", "u.lt"] {
            let parents = Trace::whole(&path(name));
            assert!(parents.has("first_work") && parents.has("second_work"));
            assert!(!parents.has("child_work"));
        }
        let childs = Trace::whole(&child);
        assert!(childs.has("trace_of_child") && !childs.has("child_work"));
    }
}

#[test]
fn signals_are_the_programs() {
    for linked in BOTH {
        let (_folder, path) = folder();
        let outcome = requested(&traced(linked, &["signals"]), &path("t.lt"), "1e-3");
        assert_eq!(quiet(&outcome).stdout_text(), "signals true\n");
        let trace = Trace::whole(&path("t.lt"));
        assert!(trace.has("first_work") && trace.has("second_work"));
    }
}

#[test]
fn a_program_with_a_memprof_of_its_own() {
    let (_folder, path) = folder();
    let outcome = traced(Linked::Statically, &["memprof", path("t.lt").to_str().unwrap()]).bare();
    let said = quiet(&outcome).stdout_text();
    assert!(said.starts_with("Lifetrace: Gc.Memprof is in use by the program"), "{said}");
    assert!(said.ends_with("\nfile false\n"), "{said}");
    assert!(!Trace::whole(&path("t.lt")).has("first_work"), "the program has stopped it");
}

#[test]
fn what_cannot_be_done_is_said() {
    let (folder, path) = folder();
    let precious = path("precious.lt");
    std::fs::write(&precious, "precious").unwrap();
    let words = ["refusals", precious.to_str().unwrap()];
    let outcome = traced(Linked::Dynamically, &words).folder(folder.path()).bare();
    let said = quiet(&outcome).stdout_text();
    let expected = [
        "invalid: Lifetrace: the sampling rate 0 is not between 0 and 1",
        "invalid: Lifetrace: the sampling rate -3 is not between 0 and 1",
        "invalid: Lifetrace: the sampling rate 42 is not between 0 and 1",
        "invalid: Lifetrace: the sampling rate nan is not between 0 and 1",
        "invalid: Lifetrace: /nowhere: No such file or directory (os error 2)",
        "invalid: Lifetrace: /: is a directory",
        &format!(
            "invalid: Lifetrace: {} exists, and is not overwritten; %p in a name is the process id",
            precious.display()
        ),
        "invalid: Lifetrace: x.%q.lt: '%q' means nothing; there are %p (process id), %e (program) and %%",
        "invalid: Lifetrace: LIFETRACE_RATE=potato is no number",
        "no failure",
        "no failure",
        "failure: Lifetrace: there is a trace already",
        "no failure",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    // The last request but one, in Memtrace's way.
    let names: Vec<String> = files(folder.path()).iter().map(|path| file_name(path)).collect();
    assert_eq!(names, ["precious.lt"]);
    assert!(Trace::read(&precious).is_complete);
}

#[test]
fn under_record_there_is_one_trace() {
    let (folder, path) = folder();
    let target = traced(Linked::Dynamically, &["external"])
        .environment(&[("LIFETRACE", path("own.lt"))])
        .environment(&[("LIFETRACE_RATE", "0.1")]);
    let recording = target.record(&["--rate", "1e-2"]);
    assert_eq!(quiet(&recording.outcome).stdout_text(), "tokens 0\n");
    assert_eq!(files(folder.path()), [] as [PathBuf; 0]);
    let trace = Trace::read(&recording.trace_of("traced.exe"));
    assert!(trace.is_complete && trace.has("buffers"));
}

#[test]
fn the_trace_tells_of_the_runtime_and_its_counters() {
    let (_folder, path) = folder();
    quiet(&requested(&traced(Linked::Statically, &["totals"]), &path("t.lt"), "1e-4"));
    let facts = Trace::whole(&path("t.lt")).facts;
    let mut runtimes = facts.iter().filter_map(|fact| match fact {
        Fact::Process(process) => Some(&*process.runtime),
        _ => None,
    });
    assert_eq!(runtimes.next_back(), Some("ocaml"));
    let is_exact =
        |fact: &&Fact| matches!(fact, Fact::Collector(it) if it.minor_words > Some(12_000_000));
    assert!(facts.iter().any(|fact| is_exact(&fact)), "the collector's counters");
    assert!(!facts.iter().any(|fact| matches!(fact, Fact::Notice(_))), "{facts:?}");
}

/// The arrays that `hold` makes: in the snapshot, held, and by what their samples stand for.
fn held_arrays(snapshot: &Snapshot) -> (usize, usize, f64, f64) {
    const BYTES: u64 = 38 * 8;
    let is_held = snapshot.held_by(|_| true);
    let arrays = snapshot.blocks.iter().zip(is_held).filter(|(block, _)| block.bytes == BYTES);
    let arrays: HashMap<u64, bool> = arrays.map(|(block, held)| (block.address, held)).collect();
    let held = arrays.values().filter(|&&is_held| is_held).count();
    let samples = snapshot.samples.iter().filter(|it| arrays.contains_key(&it.address.0));
    let (mut sum, mut squares) = (0.0, 0.0);
    for sample in samples {
        let frames = &snapshot.sites[sample.site.0 as usize].frames;
        let is_in = |name: &str| frames.iter().any(|frame| frame.function.contains(name));
        assert!(is_in("Traced.hold") && is_in("Traced.snapshots"), "{frames:?}");
        sum += sample.weight;
        squares += sample.weight * (sample.weight - 1.0);
    }
    (arrays.len(), held, sum, squares.sqrt())
}

#[test]
fn a_program_takes_snapshots_of_itself() {
    for linked in BOTH {
        let (folder, path) = folder();
        let outcome = traced(linked, &["snapshots", folder.path().to_str().unwrap()]).bare();
        let said = quiet(&outcome).stdout_text();
        let why_not = "there is no trace of this process: one is started first";
        let exists = format!("{}: File exists", path("old.lth").display());
        let nowhere = format!("{}: No such file", path("nowhere/old.lth").display());
        let expected = [
            why_not,
            "saved young.lth",
            "saved old.lth",
            &exists,
            "saved old.lth",
            &nowhere,
            "a zero byte in a file name",
            "saved after.lth",
            "saved threads.0",
            "saved threads.1",
            "saved threads.2",
            "saved released.lth",
            why_not,
        ];
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), expected.len(), "{said}");
        assert!(lines.iter().zip(expected).all(|(line, it)| line.starts_with(it)), "{said}");
        let held = ["young.lth", "old.lth", "after.lth", "threads.0", "threads.1", "threads.2"];
        for name in held {
            let snapshot = Snapshot::read(&path(name));
            assert_eq!(&*snapshot.header.cause, "by the program");
            let (arrays, held, estimate, deviation) = held_arrays(&snapshot);
            assert_eq!((arrays, held), (2_000, 2_000), "{name}");
            assert!(deviation > 0.0 && deviation < 40.0, "{name}: {deviation}");
            assert!((estimate - 2_000.0).abs() < 5.0 * deviation, "{name}: {estimate}");
        }
        assert_eq!(held_arrays(&Snapshot::read(&path("released.lth"))).0, 0);
        let words =
            ["heap", path("old.lth").to_str().unwrap(), "--view", "sites"].map(String::from);
        let view = lifetrace_verb(&words.each_ref().map(String::as_str));
        assert!(view.code == 0 && view.stdout_text().contains("Traced.hold"), "{view:?}");
        // What the calls have answered is of the program's heap, and may be in its trace.
        assert!(Trace::read(&path("t.lt")).is_complete);
    }
}

#[test]
fn under_record_somebody_else_takes_snapshots() {
    let (_folder, path) = folder();
    let words = ["snapshot", path("own.lth").to_str().unwrap()].map(String::from);
    let target = traced(Linked::Dynamically, &words.each_ref().map(String::as_str));
    let said = quiet(&target.record(&[]).outcome).stdout_text();
    assert!(said.contains("`lifetrace snapshot "), "{said}");
    assert!(!path("own.lth").exists());
}
