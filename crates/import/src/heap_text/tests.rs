//! Texts made up, and what becomes of them.

use proptest::prelude::*;

use super::super::checking::{found, imported, labels, survives_damage, whole};
use super::super::points::{Amount, Point};

const MAPS: &str = "\nMAPPED_LIBRARIES:\n\
    1000-2000 r--p 00000000 fe:00 7                          /bin/named\n\
    2000-3000 r-xp 00001000 fe:00 7                          /bin/named\n\
    8000-9000 r-xp 00000000 fe:00 8                          /lib/nameless.so\n";

const JEMALLOC: &str = "heap_v2/524288\n  t*: 5: 1700000 [9: 1700064]\n  t0: 5: 1700000 [9: 1700064]\n\
    @ 0x2101 0x8011\n  t*: 3: 1572864 [3: 1572864]\n  t0: 2: 1048576 [2: 1048576] main\n  t7: 1: 524288 [1: 524288]\n\
    @ 0x2201 0x8011\n  t*: 2: 128 [6: 384]\n  t0: 2: 128 [6: 384]\n";

const GPERFTOOLS: &str = "heap profile:  7: 1030 [ 9: 5030] @ heapprofile\n  \
    5: 1000 [   6: 4000] @ 0x2101 0x8011\n  2: 30 [ 3: 1030] @ 0x2201 0x8011\n";

const TCMALLOC: &str = "heap profile:  2: 1048576 [  2: 1048576] @ heap_v2/524288\n  \
    2: 1048576 [   2: 1048576] @ 0x2101 0x8011\n";

const GO: &str = "heap profile: 1: 4194304 [3: 4194400] @ heap/1048576\n\
    1: 4194304 [1: 4194304] @ 0x4a01 0x4b02 0x4c03\n\
    #\t0x4a00\tmain.inner+0x1f\t/src/main.go:7\n\
    #\t0x4a00\tmain.(*T).grow+0x1f\t/src/main.go:12\n\
    #\t0x4b01\tmain.main+0x22\t/src/main.go:30\n\n\
    0: 0 [2: 96] @ 0x4b02 0x4c03\n\
    #\t0x4b01\tmain.main+0x22\t/src/main.go:30\n\n\
    # runtime.MemStats\n# Alloc = 1234\n# HeapAlloc = 99\n";

fn with_maps(text: &str) -> Vec<u8> {
    format!("{text}{MAPS}").into_bytes()
}

fn near(found: u64, expected: f64) -> bool {
    (found as f64 - expected).abs() <= expected * 1e-3 + 1.0
}

/// As `jeprof` and `pprof` scale.
fn scale(bytes: f64, objects: f64, period: f64) -> f64 {
    1.0 / (1.0 - (-bytes / objects / period).exp())
}

#[test]
fn samples_of_jemalloc_stand_for_what_jeprof_says() {
    let (trace, imported) = whole(&with_maps(JEMALLOC));
    assert_eq!(imported.profiler, "jemalloc");
    // Each call lies a byte before the address that it returns to.
    let found = found(&trace);
    let large = found["nameless.so+0x10;at_1100"];
    let factor = scale(1_572_864.0, 3.0, 524_288.0);
    assert!(near(large.end.bytes, 1_572_864.0 * factor), "{large:?}");
    assert!(near(large.end.blocks, 3.0 * factor), "{large:?}");
    let small = found["nameless.so+0x10;at_1200"];
    let factor = scale(64.0, 1.0, 524_288.0);
    assert!(near(small.end.bytes, 128.0 * factor), "{small:?}");
    assert!(near(small.total.bytes, 384.0 * factor), "{small:?}");
    assert!(!labels(&trace).contains_key("import.lacks.allocated"));
    let said = imported.remarks.join("\n");
    assert!(said.contains("2 places are named by files that lie where"), "{said}");
    assert!(said.contains("1 of 3 places in the code have no names"), "{said}");
    assert!(said.contains("1 in /lib/nameless.so, which was not found"), "{said}");
    assert!(said.contains("--symbols FOLDER"), "{said}");
}

#[test]
fn without_accumulated_counts_what_was_allocated_is_not_told() {
    let text = JEMALLOC.replace("[3: 1572864]", "[0: 0]").replace("[6: 384]", "[0: 0]");
    let (trace, _) = whole(&with_maps(&text));
    assert!(labels(&trace).contains_key("import.lacks.allocated"));
    assert!(labels(&whole(&with_maps(TCMALLOC)).0).contains_key("import.lacks.allocated"));
}

#[test]
fn the_heap_profiler_of_gperftools_counts_all() {
    let (trace, imported) = whole(&with_maps(GPERFTOOLS));
    assert_eq!(imported.profiler, "gperftools");
    let amount = |bytes, blocks| Amount { bytes, blocks };
    let found = found(&trace);
    let point = found["nameless.so+0x10;at_1100"];
    assert_eq!((point.end, point.total), (amount(1000, 5), amount(4000, 6)));
    let point = found["nameless.so+0x10;at_1200"];
    assert_eq!((point.end, point.total), (amount(30, 2), amount(1030, 3)));
}

#[test]
fn go_names_its_frames_itself() {
    let (trace, imported) = whole(GO.as_bytes());
    assert_eq!(imported.profiler, "Go (text)");
    let found = found(&trace);
    // A sample of 4 MiB at half of the told period is surely one block.
    let large = found["0x4c02;main.main;main.(*T).grow;main.inner"];
    assert!(near(large.end.bytes, 4_194_304.0 * 1.000_335), "{large:?}");
    let small = found["0x4c02;main.main"];
    assert!(near(small.total.bytes, 96.0 * scale(48.0, 1.0, 524_288.0)), "{small:?}");
    let said = imported.remarks.join("\n");
    assert!(said.contains("1 of 3 places in the code have no names"), "{said}");
}

#[test]
fn what_makes_no_sense_is_told_with_its_place() {
    let problem = |text: &str| match imported(text.as_bytes()).1 {
        Ok(imported) => imported.fault.map_or_else(String::new, |fault| fault.to_string()),
        Err(problem) => problem,
    };
    assert!(problem("heap_v2/\n").contains("line 1 (byte 0): expected bytes between samples"));
    let growth = problem("heap profile: 1: 2 [1: 2] @ growthz/1\n");
    assert!(growth.contains("not of \"growthz\""), "{growth}");
    assert!(problem("heap_v2/9\n  t*: 0: 0 [0: 0]\n").contains("no backtrace in it"));
    assert!(problem("heap_v2/9\n@ 0x1\n@ 0x2\n").contains("the sums of a backtrace"));
    assert!(problem("heap_v2/9\n@ 0x1\n").contains("cut behind a backtrace"));
    assert!(problem("heap_v2/9\n@ 0x1 hello\n").contains("expected addresses"));
    let damaged = problem(&GPERFTOOLS.replace("2: 30 [", "x: 30 ["));
    assert!(damaged.starts_with("line 3 (byte 87): expected 'N: N [N: N] @'"), "{damaged}");
    let short = problem(&GPERFTOOLS[..GPERFTOOLS.rfind("  2").unwrap()]);
    assert!(short.contains("1,030 bytes live, its backtraces have 1,000"), "{short}");
    let maps = problem(&format!("{JEMALLOC}\nMAPPED_LIBRARIES:\nhello\n"));
    assert!(maps.contains("expected a mapping"), "{maps}");
}

#[test]
fn damage_is_survived() {
    // A text that ends with a line may be whole, unless its sums say otherwise.
    survives_damage(&with_maps(JEMALLOC), |cut| cut.ends_with(b"\n"));
    for text in [with_maps(TCMALLOC), with_maps(GPERFTOOLS), GO.into()] {
        survives_damage(&text, |cut| {
            cut.ends_with(b"\n") && cut.iter().filter(|byte| **byte == b'@').count() > 1
        });
    }
}

/// A text with these backtraces, each of one address of its own.
fn text(period: u64, points: &[Point]) -> String {
    let mut text = format!("heap_v2/{period}\n");
    for (number, Point { total, end, .. }) in (1_u64..).zip(points) {
        text += &format!(
            "@ {:#x}\n  t*: {}: {} [{}: {}]\n",
            0x2000 + number,
            end.blocks,
            end.bytes,
            total.blocks,
            total.bytes
        );
    }
    text
}

fn point() -> impl Strategy<Value = Point> {
    let amount = |most: u64| {
        (1..most, 1..100_000_u64).prop_map(|(blocks, size)| Amount { bytes: blocks * size, blocks })
    };
    (amount(50), amount(50)).prop_map(|(end, freed)| {
        let total = Amount { bytes: end.bytes + freed.bytes, blocks: end.blocks + freed.blocks };
        Point { total, end, ..Point::default() }
    })
}

proptest! {
    #[test]
    fn sums_are_those_of_the_samples_scaled(
        points in proptest::collection::vec(point(), 1..20),
        period in prop_oneof![Just(1_u64), 64..1_u64 << 21],
    ) {
        let (trace, _) = whole(&with_maps(&text(period, &points)));
        let found = found(&trace);
        for (number, point) in points.iter().enumerate() {
            let made = found[&format!("at_{:x}", 0x1000 + number)];
            let scaled = |amount: Amount| {
                let [bytes, blocks] = [amount.bytes, amount.blocks].map(|count| count as f64);
                let factor = if period == 1 { 1.0 } else { scale(bytes, blocks, period as f64) };
                (bytes * factor, blocks * factor)
            };
            let (bytes, blocks) = scaled(point.end);
            prop_assert!(near(made.end.bytes, bytes), "{} of {}", made.end.bytes, bytes);
            prop_assert!(near(made.end.blocks, blocks), "{} of {}", made.end.blocks, blocks);
            let freed = scaled(Amount {
                bytes: point.total.bytes - point.end.bytes,
                blocks: point.total.blocks - point.end.blocks,
            });
            prop_assert!(near(made.total.bytes, bytes + freed.0));
        }
    }

    #[test]
    fn any_text_is_survived(lines in proptest::collection::vec("[0-9a-fx@t*:\\[\\] ]{0,30}", 0..12)) {
        for first in ["heap_v2/524288", "heap profile: 1: 2 [3: 4] @ heap/2"] {
            let _ = imported(format!("{first}\n{}\n", lines.join("\n")).as_bytes());
        }
    }
}
