//! Texts made up, and what becomes of them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::checking::{found, imported, labels, survives_damage, whole};

const HEAD: &str = "desc: --depth=3\ncmd: ./a.out 'x\ny: z'\ntime_unit: i\n";

const PEAK: &str = "n3: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n \
     n2: 700 0x109163: grow (a.c:2)\n  n0: 500 0x109172: main (a.c:9)\n  \
     n1: 200 0x109172: main (a.c:7)\n   n0: 200 0x4BC: ??? (in /lib/libc.so)\n \
     n0: 210 0x109172: main (a.c:9)\n \
     n0: 90 in 7 places, all below massif's threshold (1.00%)\n";

fn snapshot(number: u64, time: u64, heap: u64, tree: &str) -> String {
    format!(
        "#-----------\nsnapshot={number}\n#-----------\ntime={time}\nmem_heap_B={heap}\n\
         mem_heap_extra_B=24\nmem_stacks_B=0\nheap_tree={tree}\n"
    )
}

fn detailed(heap: u64) -> String {
    format!(
        "detailed\nn1: {heap} (heap allocation functions) malloc\n n0: {heap} 0x1: early (a.c:1)"
    )
}

fn small() -> String {
    let snapshots = [
        snapshot(0, 0, 0, "empty"),
        snapshot(1, 1000, 300, &detailed(300)),
        snapshot(2, 2000, 1000, &format!("peak\n{}", PEAK.trim_end())),
        snapshot(3, 5000, 400, &detailed(400)),
        snapshot(4, 6000, 20, "empty"),
    ];
    format!("{HEAD}{}", snapshots.concat())
}

fn peaks(file: &str) -> BTreeMap<String, u64> {
    found(&whole(file.as_bytes()).0)
        .into_iter()
        .map(|(path, point)| (path, point.peak.bytes))
        .collect()
}

fn paths<const N: usize>(expected: [(&str, u64); N]) -> BTreeMap<String, u64> {
    expected.map(|(path, bytes)| (path.to_owned(), bytes)).into()
}

#[test]
fn what_lived_at_the_peak_is_told_by_backtrace() {
    let file = small();
    let expected = paths([
        ("main;grow", 500),
        ("[truncated backtrace];libc.so+0x4bc;main;grow", 200),
        ("main", 210),
        ("[below massif's threshold]", 90),
    ]);
    assert_eq!(peaks(&file), expected);
    let (trace, imported) = whole(file.as_bytes());
    let said = imported.remarks.join("\n");
    assert!(said.contains("may be 1 % higher"), "{said}");
    assert!(said.contains("24 bytes that massif guesses the allocator needs"), "{said}");
    let labels = labels(&trace);
    assert_eq!(labels[super::super::CLOCK], "a microsecond stands for an instruction");
    for lack in ["live", "allocated", "objects", "times", "sizes", "lifetimes", "threads"] {
        assert!(labels.contains_key(&format!("import.lacks.{lack}")), "{lack}");
    }
    assert!(!labels.contains_key("import.lacks.peak"));
}

#[test]
fn the_highest_snapshot_with_a_tree_is_the_peak() {
    let file = |last: &str| {
        let two = [snapshot(0, 0, 300, &detailed(300)), snapshot(1, 9, 500, &detailed(500))];
        format!("{HEAD}{}{last}", two.concat())
    };
    assert_eq!(peaks(&file("")), paths([("early", 500)]));
    let (_, imported) = whole(file(&snapshot(2, 12, 700, "empty")).as_bytes());
    let said = imported.remarks.join("\n");
    assert!(said.contains("with backtraces; one without is 38.2 % higher"), "{said}");
}

#[test]
fn one_snapshot_is_what_lives() {
    let file = format!("{HEAD}{}", snapshot(0, 77, 300, &detailed(300)));
    let (trace, imported) = whole(file.as_bytes());
    assert_eq!(found(&trace)["early"].end.bytes, 300);
    assert!(imported.remarks.join("\n").contains("when the snapshot was asked for"));
    let labels = labels(&trace);
    assert!(labels.contains_key("import.lacks.peak") && !labels.contains_key("import.lacks.live"));
}

#[test]
fn options_and_units_count() {
    let options =
        "desc: --peak-inaccuracy=0.0 --pages-as-heap=yes --depth=9\ncmd: x\ntime_unit: ms\n";
    let pages =
        PEAK.replace("(heap allocation functions) malloc", "(page allocation syscalls) mmap");
    let file = small().replace(HEAD, options).replace(PEAK, &pages);
    let (trace, _) = whole(file.as_bytes());
    let labels = labels(&trace);
    let meaning = &labels[super::super::lacks::PEAK];
    assert!(
        meaning.contains("pages that were mapped") && meaning.contains("0 % higher"),
        "{meaning}"
    );
    assert!(!labels.contains_key(super::super::CLOCK));
    assert_eq!(found(&trace)["libc.so+0x4bc;main;grow"].peak.bytes, 200);
}

#[test]
fn what_makes_no_sense_is_told_with_its_place() {
    let problem = |text: &str| match imported(text.as_bytes()).1 {
        Ok(imported) => imported.fault.map_or_else(String::new, |fault| fault.to_string()),
        Err(problem) => problem,
    };
    let file = small();
    assert!(problem(HEAD).contains("no snapshot in it has a tree"));
    let nothing = snapshot(0, 0, 0, "detailed\nn0: 0 (heap allocation functions) malloc");
    assert!(problem(&format!("{HEAD}{nothing}")).contains("nothing lives in any snapshot"));
    let other = problem(&file.replace("(heap allocation functions)", "totB : total"));
    assert!(other.contains("is a tree of \"totB : total malloc"), "{other}");
    let number = problem(&file.replace("mem_heap_B=400", "mem_heap_B=x"));
    assert!(number.contains("expected a number, found \"mem_heap_B=x\""), "{number}");
    assert!(number.starts_with("line "), "{number}");
    let indented = problem(&file.replace("  n0: 500", "   n0: 500"));
    assert!(indented.contains("expected a frame behind 2 spaces"), "{indented}");
    let cut = &file[..file.find("   n0: 200").unwrap()];
    let (trace, outcome) = imported(cut.as_bytes());
    assert!(outcome.unwrap().fault.unwrap().to_string().contains("cut in a tree"));
    let expected = paths([
        ("[truncated backtrace]", 300),
        ("main;grow", 500),
        ("[truncated backtrace];main;grow", 200),
    ]);
    let found: BTreeMap<_, _> =
        found(&trace).into_iter().map(|(path, point)| (path, point.peak.bytes)).collect();
    assert_eq!(found, expected, "what is missing is kept");
}

#[test]
fn damage_is_survived() {
    // A text that ends with a line may be whole, unless it ends in the tree that is taken.
    survives_damage(small().as_bytes(), |cut| cut.ends_with(b"\n"));
}

/// A frame with its callers.
#[derive(Clone, Debug)]
struct Node {
    name: String,
    bytes: u64,
    callers: Vec<Node>,
}

fn node() -> impl Strategy<Value = Node> {
    let leaf =
        ("[a-c]", 1..1_u64 << 40).prop_map(|(name, bytes)| Node { name, bytes, callers: vec![] });
    leaf.prop_recursive(8, 60, 4, |inner| {
        let callers = proptest::collection::vec(inner, 1..4);
        ("[a-c]", callers).prop_map(|(name, callers)| {
            let bytes = callers.iter().map(|it| it.bytes).sum();
            Node { name, bytes, callers }
        })
    })
}

fn lines(node: &Node, depth: usize, text: &mut String) {
    let Node { name, bytes, callers } = node;
    let place = if depth == 0 { "(heap allocation functions) malloc" } else { "0x1: " };
    let name = if depth == 0 { "" } else { name };
    *text += &format!("{}n{}: {bytes} {place}{name}\n", " ".repeat(depth), callers.len());
    callers.iter().for_each(|it| lines(it, depth + 1, text));
}

fn sums(node: &Node, inner: &str, sums: &mut BTreeMap<String, u64>) {
    for Node { name, bytes, callers } in &node.callers {
        let path = format!("{name}{}{inner}", if inner.is_empty() { "" } else { ";" });
        match &callers[..] {
            [] => *sums.entry(path).or_default() += bytes,
            _ => self::sums(
                &Node { name: String::new(), bytes: 0, callers: callers.clone() },
                &path,
                sums,
            ),
        }
    }
}

proptest! {
    #[test]
    fn sums_are_those_of_the_tree(callers in proptest::collection::vec(node(), 1..4)) {
        let bytes = callers.iter().map(|it| it.bytes).sum();
        let root = Node { name: String::new(), bytes, callers };
        let (mut text, mut expected) = (String::new(), BTreeMap::new());
        lines(&root, 0, &mut text);
        sums(&root, "", &mut expected);
        let tree = format!("peak\n{}", text.trim_end());
        let file = [snapshot(0, 0, 0, "empty"), snapshot(1, 5, bytes, &tree)].concat();
        prop_assert_eq!(peaks(&format!("desc: (none)\ncmd: x\ntime_unit: B\n{file}")), expected);
    }
}
