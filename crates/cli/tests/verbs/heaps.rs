//! Dumps of heaps. `fixtures/heaps/small.json` was written by hand, in the form of Ruby 3.1.

use crate::*;

fn dump() -> PathBuf {
    traces().join("../heaps/small.json")
}

const VIEWS: [(&str, &[&str]); 4] = [
    ("summary", &[]),
    ("retainers", &["--view", "retainers"]),
    ("holding", &["--view", "holding", "--class", "Session"]),
    ("garbage", &["--view", "holding", "--at", "0x7f0078"]),
];

fn heap(dump: &Path, options: &[&str]) -> Vec<String> {
    let words = [&["heap", argument(dump)], options].concat();
    words.iter().map(|&word| word.to_owned()).collect()
}

fn answer(dump: &Path, options: &[&str]) -> String {
    let words = heap(dump, options);
    stdout(&words.iter().map(|word| &**word).collect::<Vec<_>>())
}

#[test]
fn each_question_has_a_page_and_a_document() {
    for (name, options) in VIEWS {
        check_golden(&format!("heap-{name}.txt"), &answer(&dump(), options));
        let document = answer(&dump(), &[options, &["--json"]].concat());
        check_golden(&format!("heap-{name}.json"), &document);
    }
}

/// One of the golden files.
fn snapshot() -> PathBuf {
    traces().join("../heaps/sample-v1.0.lth")
}

const SNAPSHOT_VIEWS: [(&str, &[&str]); 7] = [
    ("summary", &[]),
    ("retainers", &["--view", "retainers"]),
    ("holding", &["--view", "holding", "--class", "string"]),
    ("block", &["--view", "block", "--at", "0x7f0000001000"]),
    ("site", &["--view", "holding", "--site", "3"]),
    ("sites", &["--view", "sites", "--top", "3"]),
    ("types", &["--view", "types"]),
];

#[test]
fn a_snapshot_answers_each_question() {
    for (name, options) in SNAPSHOT_VIEWS {
        check_golden(&format!("snapshot-{name}.txt"), &answer(&snapshot(), options));
        let document = answer(&snapshot(), &[options, &["--json"]].concat());
        check_golden(&format!("snapshot-{name}.json"), &document);
    }
}

#[test]
fn an_imported_dump_answers_as_the_dump_itself() {
    let folder = tempfile::tempdir().unwrap();
    let imported = folder.path().join("small.lth");
    let path = dump();
    run(&["import", argument(&path), "-o", argument(&imported), "--quiet"]);
    for (name, options) in VIEWS {
        let options = [options, &["--json"]].concat();
        assert_eq!(answer(&imported, &options), answer(&path, &options), "{name}");
    }
}

#[test]
fn what_is_not_shown_by_itself_is_summed_up() {
    let page = answer(&dump(), &["--view", "retainers", "--top", "2"]);
    assert!(page.contains("  3 × Class\n"), "{page}");
}

#[test]
fn two_dumps_are_compared() {
    let whole = fs::read_to_string(dump()).unwrap();
    let later = Scratch::new(later(&whole).as_bytes());
    let words = ["heap", "diff", argument(&dump()), argument(&later.path())].map(str::to_owned);
    let compared = |more: &[&str]| {
        let words: Vec<&str> =
            words.iter().map(|word| &**word).chain(more.iter().copied()).collect();
        stdout(&words)
    };
    check_golden("heap-diff.txt", &compared(&[]));
    check_golden("heap-diff.json", &compared(&["--json"]));
    check_golden("heap-three.txt", &compared(&[argument(&later.path())]));
    check_golden("heap-three.json", &compared(&[argument(&later.path()), "--json"]));
    let path = dump();
    let page = stdout(&["heap", "diff", argument(&path), argument(&path)]);
    assert!(page.contains("No class has changed."), "{page}");
}

/// With one page less, and two visitors more.
fn later(whole: &str) -> String {
    let fewer = whole.replace(r#""references":["0x7f0068"]"#, r#""references":[]"#);
    let more = fewer.replace(
        r#""0x7f0058", "0x7f0060"]"#,
        r#""0x7f0058", "0x7f0060", "0x7f0090", "0x7f0098"]"#,
    );
    let visitor = |address: &str| {
        format!(
            r#"{{"address":"{address}", "type":"OBJECT", "class":"0x7f0010", "ivars":3, "memsize":40}}"#
        )
    };
    format!("{more}{}\n{}\n", visitor("0x7f0090"), visitor("0x7f0098"))
}

#[test]
fn pages_keep_within_their_columns() {
    for (_, options) in VIEWS {
        let words = heap(&dump(), options);
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        let output = lifetrace(&words).env("COLUMNS", "60").output().unwrap();
        let page = text(&output.stdout);
        assert!(page.lines().all(|line| line.chars().count() <= 60), "{page}");
        assert!(!page.contains('\u{1b}'), "{page}");
    }
}

#[test]
fn what_cannot_be_answered_is_said() {
    let check = |options: &[&str], expected: &str| {
        let words = heap(&dump(), options);
        let output = run(&words.iter().map(|word| &**word).collect::<Vec<_>>());
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    };
    check(&["--view", "holding"], "--at ADDRESS, --class NAME, or --site NUMBER");
    check(&["--class", "Session"], "are about --view holding");
    check(&["--view", "holding", "--class", "session"], "there are Session");
    check(&["--view", "holding", "--class", "Nobody"], "no object of class Nobody");
    check(&["--view", "holding", "--at", "0x1"], "no object at 0x1");
    let other = Scratch::new(b"{\"a\": 1}");
    let output = run(&["heap", argument(&other.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("ObjectSpace.dump_all"), "{}", text(&output.stderr));
}

#[test]
fn of_a_damaged_dump_what_can_be_read_is_used() {
    let whole = fs::read_to_string(dump()).unwrap();
    let damaged = Scratch::new(whole.replace("\"size\":2,", "\"size\":2,,").as_bytes());
    let output = run(&["heap", argument(&damaged.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("String"));
    let told = text(&output.stderr);
    assert!(told.contains("line 8, at byte "), "{told}");
}

/// Nodes and edges of a snapshot of V8's, read as its `meta` says.
struct Heapsnapshot {
    /// Type, name and size of each node.
    nodes: Vec<(String, String, u64)>,
    /// From which node to which, and by which name or number.
    edges: Vec<(usize, usize, String)>,
}

fn read_heapsnapshot(text: &str) -> Heapsnapshot {
    let document: Value = serde_json::from_str(text).unwrap();
    let (head, meta) = (&document["snapshot"], &document["snapshot"]["meta"]);
    let place = |fields: &str, name: &str| {
        let fields = meta[fields].as_array().unwrap();
        (fields.len(), fields.iter().position(|it| it == name).unwrap())
    };
    let numbers = |name: &str| -> Vec<usize> {
        let numbers = document[name].as_array().unwrap().iter();
        numbers.map(|it| it.as_u64().unwrap() as usize).collect()
    };
    let (nodes, edges) = (numbers("nodes"), numbers("edges"));
    let string = |at: usize| document["strings"][at].as_str().unwrap().to_owned();
    let width = place("node_fields", "type").0;
    let of_node = |node: &[usize], name| node[place("node_fields", name).1];
    let typed = |types: &str, number: usize| meta[types][0][number].as_str().unwrap().to_owned();
    let (mut read, mut rest) = (Heapsnapshot { nodes: vec![], edges: vec![] }, &edges[..]);
    for (from, node) in nodes.chunks(width).enumerate() {
        let sort = typed("node_types", of_node(node, "type"));
        let (name, bytes) = (string(of_node(node, "name")), of_node(node, "self_size") as u64);
        read.nodes.push((sort, name, bytes));
        for _ in 0..of_node(node, "edge_count") {
            let (edge, others) = rest.split_at(place("edge_fields", "type").0);
            let of_edge = |name| edge[place("edge_fields", name).1];
            let (name, to) = (of_edge("name_or_index"), of_edge("to_node"));
            assert_eq!(to % width, 0);
            let name = match &*typed("edge_types", of_edge("type")) {
                "element" | "hidden" => name.to_string(),
                _ => string(name),
            };
            read.edges.push((from, to / width, name));
            rest = others;
        }
    }
    assert!(rest.is_empty() && read.edges.iter().all(|&(_, to, _)| to < read.nodes.len()));
    assert_eq!(head["node_count"], read.nodes.len());
    assert_eq!(head["edge_count"], read.edges.len());
    read
}

#[test]
fn heaps_are_exported_for_devtools() {
    for path in [snapshot(), dump()] {
        let text = stdout(&["export", "-F", "heapsnapshot", argument(&path)]);
        let Heapsnapshot { nodes, edges } = read_heapsnapshot(&text);
        let summary: Value = serde_json::from_str(&answer(&path, &["--json"])).unwrap();
        let blocks = nodes.iter().filter(|(sort, ..)| sort != "synthetic");
        assert_eq!(summary["objects"], blocks.clone().count());
        assert_eq!(summary["bytes"], blocks.map(|(.., bytes)| bytes).sum::<u64>());
        let mut reached = vec![false; nodes.len()];
        reached[0] = true;
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            for &(_, to, _) in edges.iter().filter(|&&(from, ..)| from == node) {
                if !std::mem::replace(&mut reached[to], true) {
                    open.push(to);
                }
            }
        }
        assert!(reached.iter().all(|&it| it), "{}", path.display());
        let has_slot = edges.iter().any(|(.., name)| name == "camlCache slot 4");
        assert_eq!(has_slot, path == snapshot());
    }
}
