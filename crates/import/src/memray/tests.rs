//! Pages made up, and what becomes of them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::checking::{found, imported, labels, survives_damage, whole};
use super::super::points::Amount;
use super::times_of;

/// As memray writes it, without what is there for people.
fn page(title: &str, peak: &str, data: &Value, looks: &[(u64, u64, u64)]) -> Vec<u8> {
    let (data, looks) = (script(data), script(&json!(looks)));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n  <title>memray - {title}</title>\n</head>\n<body>\n  \
         Command line: <code>memray run a.py &amp;&lt;x&gt;</code><br>\n  \
         Peak memory usage: {peak}<br>\n<script type=\"text/javascript\">\n    \
         const packed_data = {data};\n    var data = null;\n    const merge_threads = true;\n    \
         const memory_records = {looks};\n</script>\n</body>\n\n</html>\n"
    )
    .into_bytes()
}

/// As jinja escapes JSON within a page.
fn script(json: &Value) -> String {
    let text = json.to_string().replace('<', "\\u003c").replace('>', "\\u003e");
    text.replace('&', "\\u0026").replace('\'', "\\u0027")
}

/// A backtrace, outermost function first, and what it has.
type Stack = (Vec<String>, Amount);

/// A tree of backtraces, as memray makes it.
#[derive(Default)]
struct Tree {
    names: Vec<String>,
    children: Vec<Vec<usize>>,
    amounts: Vec<Amount>,
    nodes: BTreeMap<(usize, String), usize>,
}

impl Tree {
    fn node(&mut self, name: &str) -> usize {
        self.names.push(name.to_owned());
        self.children.push(Vec::new());
        self.amounts.push(Amount::default());
        self.names.len() - 1
    }

    fn of(stacks: &[Stack], is_inverted: bool) -> Self {
        let mut tree = Self::default();
        tree.node("<root>");
        for (names, amount) in stacks {
            let mut names = names.clone();
            if is_inverted {
                names.reverse();
            }
            tree.add(&names, *amount);
        }
        tree
    }

    /// The node at the end of a backtrace.
    fn add(&mut self, names: &[String], amount: Amount) -> usize {
        let mut at = 0;
        let mut all = vec![0];
        for name in names {
            let known = self.nodes.get(&(at, name.clone())).copied();
            let next = known.unwrap_or_else(|| self.node(name));
            if known.is_none() {
                self.children[at].push(next);
                self.nodes.insert((at, name.clone()), next);
            }
            at = next;
            all.push(at);
        }
        for node in all {
            self.amounts[node].bytes += amount.bytes;
            self.amounts[node].blocks += amount.blocks;
        }
        at
    }

    /// The data of a page. Names are escaped as Python does.
    fn data(&self) -> Value {
        let escaped = |name: &String| {
            let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            name.replace('"', "&quot;").replace('\'', "&#x27;")
        };
        let mut strings: Vec<_> = self.names.iter().map(escaped).collect();
        strings.push("a.py".to_owned());
        let all = 0..self.names.len();
        json!({
            "inverted_no_imports_nodes": {},
            "nodes": {
                "children": self.children,
                "filename": all.clone().map(|_| self.names.len()).collect::<Vec<_>>(),
                "function": all.clone().collect::<Vec<_>>(),
                "lineno": all.collect::<Vec<_>>(),
                "n_allocations": self.amounts.iter().map(|it| it.blocks).collect::<Vec<_>>(),
                "name": [],
                "value": self.amounts.iter().map(|it| it.bytes).collect::<Vec<_>>(),
            },
            "strings": strings,
            "unique_threads": [0],
        })
    }
}

fn stack(names: &[&str], bytes: u64, blocks: u64) -> Stack {
    (names.iter().map(|name| (*name).to_owned()).collect(), Amount { bytes, blocks })
}

fn small() -> Vec<Stack> {
    vec![stack(&["main", "<lambda>"], 100, 3), stack(&["main"], 20, 1), stack(&["b"], 7, 7)]
}

const AT_PEAK: &str = "flamegraph report";
const AT_END: &str = "flamegraph report (memory leaks)";
const OVER_TIME: &str = "temporal flamegraph report (memory leaks)";

#[test]
fn what_each_backtrace_had_at_the_peak_or_at_the_end() {
    for (title, is_inverted, lacks) in [
        (AT_PEAK, false, "live"),
        (AT_END, false, "peak"),
        ("inverted flamegraph report", true, "live"),
    ] {
        let data = Tree::of(&small(), is_inverted).data();
        let page = page(title, "127 Bytes", &data, &[(1_700_000_000_123, 5, 6)]);
        let (trace, imported) = whole(&page);
        assert_eq!((imported.births, imported.deaths), (11, 0));
        let found = found(&trace);
        let told = |name: &str| found[name].end;
        assert_eq!(told("main;<lambda>"), Amount { bytes: 100, blocks: 3 }, "{title}");
        assert_eq!(told("main"), Amount { bytes: 20, blocks: 1 });
        assert_eq!(told("b"), Amount { bytes: 7, blocks: 7 });
        let labels = labels(&trace);
        assert!(labels.contains_key(&format!("import.lacks.{lacks}")), "{labels:?}");
        assert!(labels.contains_key("import.lacks.allocated"));
        assert_eq!(labels["imported-from"], "memray");
    }
}

#[test]
fn other_blocks_than_those_of_the_peak_are_refused() {
    let data = Tree::of(&small(), false).data();
    for peak in ["126 Bytes", "46.0 MB", "", "x"] {
        let said = imported(&page(AT_PEAK, peak, &data, &[])).1.unwrap_err();
        assert!(said.contains("--temporary-allocations"), "{peak}: {said}");
    }
    whole(&page(AT_PEAK, "0.1 KiB", &data, &[]));
    whole(&page(AT_PEAK, "0.1 kB", &data, &[]));
}

/// Blocks of `main;f`, `main` and `b` from one look to another.
fn over_time(intervals: &Value, peaks: &Value) -> Value {
    let mut data = Tree::of(&small(), false).data();
    let nodes = data["nodes"].as_object_mut().unwrap();
    nodes.remove("value");
    nodes.remove("n_allocations");
    data["intervals"] = intervals.clone();
    data["high_water_mark_by_snapshot"] = peaks.clone();
    data
}

const LOOKS: [(u64, u64, u64); 3] =
    [(1_700_000_000_000, 9, 0), (1_700_000_000_010, 9, 60), (1_700_000_000_020, 9, 40)];

#[test]
fn blocks_over_time() {
    // 1: main;<lambda>, 2 of 50 bytes from the second look to the third. 2: main's. 3: b's, after the last.
    let intervals =
        json!([[1, 2, 2, 2, 50], [1, null, 1, 1, 10], [2, null, 1, 1, 30], [3, null, 3, 1, 5]]);
    let (trace, imported) =
        whole(&page(OVER_TIME, "1 kB", &over_time(&intervals, &json!(null)), &LOOKS));
    assert_eq!((imported.births, imported.deaths), (5, 2));
    let found = found(&trace);
    assert_eq!(found["main"].end, Amount { bytes: 40, blocks: 2 });
    assert_eq!(found["b"].end, Amount { bytes: 5, blocks: 1 });
    // As memray had it, what died before a look is not counted with what came since the one before.
    let peak: u64 = found.values().map(|point| point.peak.bytes).sum();
    assert_eq!(peak, 60);
    let labels = labels(&trace);
    assert!(!labels.contains_key("import.lacks.times"), "{labels:?}");
    assert_eq!(labels["import.times"], "to the next of memray's 3 looks, one every 10 ms or so");
}

#[test]
fn the_highest_of_all_peaks_is_taken() {
    let intervals =
        json!([[0, 1, 2, 2, 50], [1, 2, 1, 3, 90], [1, null, 3, 1, 10], [2, null, 1, 1, 5]]);
    let data = over_time(&intervals, &json!([50, 100, 15]));
    let (trace, _) = whole(&page("temporal flamegraph report", "100 Bytes", &data, &LOOKS));
    let found = found(&trace);
    assert_eq!(found["main"].peak, Amount { bytes: 90, blocks: 3 });
    assert_eq!(found["b"].peak, Amount { bytes: 10, blocks: 1 });
    assert_eq!(found.len(), 2);
}

#[test]
fn looks_that_come_at_once_are_told_apart() {
    assert_eq!(times_of(&[5, 5, 4, 6]), [0, 2, 4, 1000, 2000]);
    assert_eq!(times_of(&[7]), [0, 1000]);
    assert_eq!(times_of(&[0, u64::MAX]).len(), 3);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut data = Tree::of(&small(), false).data();
    data["nodes"]["children"] = json!([[1, 3], [2], [1], []]);
    let said = |data: &Value| imported(&page(AT_END, "", data, &[])).1.unwrap_err();
    assert!(said(&data).contains("makes no tree"));
    data["nodes"]["children"] = json!([[9]]);
    assert!(said(&data).contains("makes no tree"));
    data["nodes"]["lineno"] = json!([]);
    assert!(said(&data).contains("not equally long"));
    data["nodes"] = json!({});
    assert!(said(&data).contains("1.6"), "{}", said(&data));
    assert!(said(&json!([])).contains("byte "), "{}", said(&json!([])));
    assert!(said(&over_time(&json!([[0, null, 77, 1, 1]]), &json!(null))).contains("not there"));
    let old = b"<!DOCTYPE html>\n<title>memray - flamegraph report</title>\n    const data = {};\n</html>";
    assert!(imported(old).1.unwrap_err().contains("1.6"));
    let table = b"<!DOCTYPE html>\n<title>memray - table report</title>\n</html>";
    assert!(imported(table).1.unwrap_err().contains("no backtraces"));
}

#[test]
fn contradictions_are_told() {
    let mut data = Tree::of(&small(), false).data();
    data["nodes"]["value"] = json!([127, 20, 100, 7]);
    let (_, imported) = whole(&page(AT_END, "", &data, &[]));
    assert!(imported.remarks.join("\n").contains("contradict"), "{:?}", imported.remarks);
}

#[test]
fn damage_does_no_harm() {
    let data = Tree::of(&small(), false).data();
    let is_whole = |cut: &[u8]| cut.trim_ascii_end().ends_with(b"</html>");
    survives_damage(&page(AT_PEAK, "127 Bytes", &data, &LOOKS), is_whole);
    let intervals = json!([[1, 2, 2, 2, 50], [1, null, 1, 1, 10]]);
    survives_damage(
        &page(OVER_TIME, "1 kB", &over_time(&intervals, &json!(null)), &LOOKS),
        is_whole,
    );
}

fn stacks() -> impl Strategy<Value = Vec<Stack>> {
    let name = prop_oneof!["[a-c]", "[<>&'\";|, \n\u{e4}]{1,4}"];
    let stack = (proptest::collection::vec(name, 1..6), 1..1000_u64, 1..20_u64)
        .prop_map(|(names, bytes, blocks)| (names, Amount { bytes, blocks }));
    proptest::collection::vec(stack, 1..12)
}

proptest! {
    // Each case writes a trace, and a writer's tables are large.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sums_are_those_of_the_tree(stacks in stacks(), is_inverted: bool) {
        let mut sums: BTreeMap<String, Amount> = BTreeMap::new();
        for (names, amount) in &stacks {
            let sum = sums.entry(names.join(";")).or_default();
            sum.bytes += amount.bytes;
            sum.blocks += amount.blocks;
        }
        let title = if is_inverted { "inverted flamegraph report (memory leaks)" } else { AT_END };
        let data = Tree::of(&stacks, is_inverted).data();
        let (trace, _) = whole(&page(title, "", &data, &[]));
        let mut told: BTreeMap<String, Amount> = BTreeMap::new();
        for (path, point) in found(&trace) {
            let sum = told.entry(path).or_default();
            sum.bytes += point.end.bytes;
            sum.blocks += point.end.blocks;
        }
        prop_assert_eq!(told, sums);
    }

    #[test]
    fn at_each_look_there_is_what_memray_saw(
        lives in proptest::collection::vec((0..6_u64, 1..6_u64, 1..4_u32, 1..5_u64, 1..500_u64), 1..20),
    ) {
        let look = |number: u64| (1_700_000_000_000 + 10 * number, 1, 1);
        let looks: Vec<_> = (0..6).map(look).collect();
        let intervals: Vec<_> = lives.iter().map(|&(birth, long, node, blocks, bytes)| {
            let death = Some(birth + long).filter(|death| *death <= 6);
            (birth, death, node, blocks, bytes)
        }).collect();
        let page = page(OVER_TIME, "", &over_time(&json!(intervals), &json!(null)), &looks);
        let (trace, _) = whole(&page);
        let lives_at = |look: u64| intervals.iter().filter(move |(birth, death, ..)| {
            *birth <= look && death.is_none_or(|death| death > look)
        });
        let most = (0..=6).map(|look| lives_at(look).map(|it| it.4).sum::<u64>()).max();
        let found = found(&trace);
        prop_assert_eq!(Some(found.values().map(|point| point.peak.bytes).sum::<u64>()), most);
        let end: u64 = found.values().map(|point| point.end.bytes).sum();
        prop_assert_eq!(end, lives_at(6).map(|it| it.4).sum::<u64>());
    }

    #[test]
    fn any_data_are_survived(json in "[\\[\\]{}:,\"0-9a-z]{0,80}") {
        let page = page(AT_END, "", &Value::Null, &[]);
        let page = String::from_utf8(page).unwrap().replace("null", &json);
        let _ = imported(page.as_bytes());
    }
}
