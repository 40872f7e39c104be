//! `--sources mmap`: what programs map themselves, exactly; arenas of allocators and runtimes told apart.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::support::fixture;
use crate::support::ledger::recorded;
use crate::support::run::{Recording, Target, lifetrace_verb};

const WORDS_OF_A_PAGE: i64 = 512;

/// Of each function of the fixture: births, pages of these, and pages that are left.
const EXPECTED: [(&str, [i64; 3]); 20] = [
    ("hazard_kept", [3, 192, 192]),
    ("hazard_dropped", [100, 400, 0]),
    ("hazard_trimmed", [3, 72, 16]),
    ("hazard_holed", [3, 28, 12]),
    ("hazard_covered", [3, 28, 12]),
    ("hazard_covering", [1, 4, 4]),
    ("hazard_under_file", [2, 14, 6]),
    ("hazard_shared", [1, 3, 3]),
    ("hazard_grown", [1, 24, 24]),
    ("hazard_shrunk", [2, 34, 10]),
    ("hazard_moved", [1, 8, 8]),
    ("hazard_not_moved", [1, 2, 2]),
    ("hazard_opened", [1, 5, 5]),
    ("hazard_opened_by_key", [1, 3, 3]),
    ("hazard_refused", [1, 2, 2]),
    ("hazard_break", [2, 8, 3]),
    ("hazard_thread", [4, 40, 40]),
    ("hazard_parent", [1, 9, 9]),
    ("hazard_child", [1, 7, 7]),
    // Of all others nothing is told.
    ("hazard_file", [0, 0, 0]),
];

fn report(recording: &Recording, trace: &Path, options: &[&str]) -> Value {
    let page = lifetrace_verb(&[&["report", "--json", trace.to_str().unwrap()], options].concat());
    assert_eq!(page.code, 0, "{page:?} of {:?}", recording.outcome);
    serde_json::from_slice(&page.stdout).unwrap()
}

fn text(trace: &Path, options: &[&str]) -> String {
    let page = lifetrace_verb(&[&["report", trace.to_str().unwrap()], options].concat());
    page.stdout_text().replace('\n', " ")
}

#[test]
fn each_way_to_have_memory_from_the_kernel() {
    let target = Target::new(&[&fixture::c("mappings")]);
    let (bare, recording) = (target.bare(), target.record(&["--sources", "mmap"]));
    assert_eq!((recording.outcome.code, &recording.outcome.stdout), (bare.code, &bare.stdout));
    assert_eq!(recording.outcome.stderr_text(), "");
    assert_eq!(recording.traces().len(), 2);
    let found: BTreeMap<String, [i64; 3]> = recorded(&recording.traces())
        .into_iter()
        .map(|(name, of)| (name, [of.blocks, of.words, of.live]))
        .collect();
    let expected: BTreeMap<String, [i64; 3]> = EXPECTED
        .iter()
        .filter(|(_, [births, ..])| *births > 0)
        .map(|(name, [births, pages, live])| {
            ((*name).to_owned(), [*births, pages * WORDS_OF_A_PAGE, live * WORDS_OF_A_PAGE])
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_mapped_is_told_on_the_page() {
    let recording = Target::new(&[&fixture::c("mapped")]).record(&["--sources", "native,mmap"]);
    assert_eq!(recording.outcome.stderr_text(), "");
    let trace = recording.traces().remove(0);
    let page = report(&recording, &trace, &[]);
    let program = &page["mapped"]["program"];
    assert_eq!((&program["bytes"], &program["pieces"]), (&(100 << 20).into(), &1.into()), "{page}");
    assert_eq!(program["resident_bytes"], 100 << 20, "{page}");
    let page = text(&trace, &[]);
    assert!(
        page.contains(
            "Mapped at the end, exactly: 100 MiB in 1 mapping by the program (100 MiB resident)."
        ),
        "{page}"
    );
    assert!(page.contains(", and all mappings"), "{page}");
    // There was much more memory than was heard of, but for this.
    assert!(!page.contains("had much more memory"), "{page}");
    let of_mappings = text(&trace, &["--filter", "source=mmap", "--metric", "live"]);
    assert!(of_mappings.contains("100 MiB"), "{of_mappings}");
    let of_arenas = report(&recording, &trace, &["--filter", "source=arena"]);
    assert_eq!(of_arenas["totals"]["allocated"]["samples"], 0, "{of_arenas}");
    assert!(of_arenas.get("mapped").is_none());
}

/// What lives in arenas is counted by itself, or it is not.
#[test]
fn arenas_of_an_allocator() {
    let jemalloc = Path::new("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2");
    if !jemalloc.exists() {
        assert!(std::env::var_os("CI").is_none(), "CI must have libjemalloc.so.2");
        return;
    }
    let brought = [("LD_PRELOAD", jemalloc.as_os_str())];
    let target = Target::new(&[&fixture::c("realloc")]).environment(&brought);
    let amounts = |sources: &str| {
        let recording = target.record(&["--sources", sources]);
        assert_eq!(recording.outcome.stderr_text(), "", "{sources}");
        let trace = recording.trace_of("realloc");
        let mapped = report(&recording, &trace, &[])["mapped"].clone();
        ["program", "arenas", "backing"].map(|of| mapped[of]["bytes"].as_u64().unwrap())
    };
    let [program, arenas, backing] = amounts("mmap");
    assert!(program == 0 && arenas > 0 && backing == 0, "{program} {arenas} {backing}");
    let [program, arenas, backing] = amounts("native,mmap");
    assert!(program == 0 && arenas == 0 && backing > 0, "{program} {arenas} {backing}");
}

/// Python's small objects are heard where malloc is, so that its arenas are no blocks of their own; else they are. What its
/// module `mmap` maps is the program's.
#[test]
fn arenas_of_python() {
    const PROGRAM: &str = "import mmap, os; kept = mmap.mmap(-1, 50 << 20); \
                           lists = [[] for _ in range(200_000)]; os._exit(0)";
    let target = Target::new(&["/usr/bin/python3", "-c", PROGRAM]);
    let recorded = |sources: &str| {
        let recording = target.record(&["--sources", sources, "--no-children"]);
        assert_eq!(recording.outcome.stderr_text(), "");
        let trace = recording.trace_of("python3");
        let mapped = report(&recording, &trace, &[])["mapped"].clone();
        assert!(mapped["program"]["bytes"].as_u64().unwrap() >= 50 << 20, "{mapped}");
        let arenas = text(&trace, &["--filter", "source=arena"]);
        let mappings = text(&trace, &["--filter", "source=mmap not source=arena"]);
        assert!(mappings.contains("50.0 MiB") && !mappings.contains("[arena"), "{mappings}");
        (arenas, ["arenas", "backing"].map(|of| mapped[of]["bytes"].as_u64().unwrap()))
    };
    let (told, [arenas, backing]) = recorded("mmap");
    assert!(told.contains("[arena of Python]") && arenas >= 10 << 20 && backing == 0, "{told}");
    let (told, [arenas, backing]) = recorded("native,mmap");
    assert!(!told.contains("[arena of Python]") && arenas == 0 && backing >= 10 << 20, "{told}");
}

/// Nothing is told, and nothing is different.
#[test]
fn who_does_not_ask_is_told_nothing() {
    let target = Target::new(&[&fixture::c("mappings")]);
    let recording = target.record(&["--sources", "native", "--rate", "1"]);
    assert_eq!(recording.outcome.stdout, target.bare().stdout);
    let trace = recording.traces().remove(0);
    assert!(report(&recording, &trace, &[]).get("mapped").is_none());
    assert!(recorded(&[trace]).is_empty());
}
