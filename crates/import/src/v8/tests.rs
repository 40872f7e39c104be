//! Trees made up, and what becomes of them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::checking::{found, imported, labels, survives_damage, whole};

const SMALL: &str = r#"{"head":{"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,
"columnNumber":-1},"selfSize":0,"id":1,"children":[{"callFrame":{"functionName":"","scriptId":"81",
"url":"file:///src/a.js","lineNumber":0,"columnNumber":0},"selfSize":1048608,"id":3,"children":[{"callFrame":
{"functionName":"f","scriptId":"81","url":"file:///src/a.js","lineNumber":6,"columnNumber":4},"selfSize":700,
"id":4,"children":[]}]},{"callFrame":{"functionName":"(V8 API)","scriptId":"0","url":"","lineNumber":-1,
"columnNumber":-1},"selfSize":524304,"id":2,"children":[]}]},"samples":[{"size":524304,"nodeId":3,"ordinal":9},
{"size":524304,"nodeId":3,"ordinal":7},{"size":700,"nodeId":4,"ordinal":3},{"size":9,"nodeId":77,"ordinal":4}]}"#;

fn node(name: &str, bytes: u64, children: &[Value]) -> Value {
    json!({
        "callFrame": {"functionName": name, "scriptId": "1", "url": "a.js", "lineNumber": 0, "columnNumber": 2},
        "selfSize": bytes, "id": 1, "children": children,
    })
}

fn file(head: &Value) -> Vec<u8> {
    // In this order, as V8 writes it.
    format!("{{\"head\":{head},\"samples\":[]}}").into_bytes()
}

fn live(file: &[u8]) -> BTreeMap<String, u64> {
    found(&whole(file).0).into_iter().map(|(path, point)| (path, point.end.bytes)).collect()
}

#[test]
fn what_lives_is_told_by_backtrace() {
    let (trace, imported) = whole(SMALL.as_bytes());
    assert_eq!(imported.births, 4, "two samples, one, and what has none");
    let expected = [("(V8 API)", 524_304), ("(anonymous)", 1_048_608), ("(anonymous);f", 700)];
    let expected = expected.map(|(path, bytes)| (path.to_owned(), bytes));
    assert_eq!(live(SMALL.as_bytes()), expected.into());
    let said = imported.remarks.join("\n");
    assert!(said.contains("3 samples were taken\n1 samples more are of no function"), "{said}");
    let labels = labels(&trace);
    for lack in ["sampling", "objects", "allocated", "peak", "times"] {
        assert!(labels.contains_key(&format!("import.lacks.{lack}")), "{lack}");
    }
    assert!(!labels.contains_key("import.lacks.live"));
}

#[test]
fn a_file_without_samples_or_in_another_order_is_read_too() {
    let bytes = br#" { "head" : { "callFrame" : {"functionName" : "(root)"}, "new" : [[{}], null],
        "children" : [{"children" : [], "selfSize" : 7, "callFrame" : {"functionName" : "g"}}]}}"#;
    assert_eq!(live(bytes), [("g".to_owned(), 7)].into());
    let of_the_root = file(&node("(root)", 5, &[]));
    assert_eq!(live(&of_the_root), [("(root)".to_owned(), 5)].into());
}

#[test]
fn outer_frames_may_be_missing_where_v8_stops() {
    let nested = |depth: usize| {
        let innermost = node("f", 9, &[]);
        let head = (0..depth).fold(innermost, |inner, _| node("f", 0, &[inner]));
        live(&file(&head)).into_keys().next().unwrap()
    };
    assert_eq!(nested(127), ["f"; 127].join(";"));
    assert_eq!(nested(128), format!("[truncated backtrace];{}", ["f"; 128].join(";")));
}

#[test]
fn no_depth_is_too_deep() {
    let level = r#"{"callFrame":{"functionName":"f"},"selfSize":0,"children":["#;
    let deep = format!("{{\"head\":{}{}", level.repeat(100_000), "]}".repeat(100_000));
    let (_, outcome) = imported(format!("{deep},\"x\":{}", "[".repeat(100_000)).as_bytes());
    assert!(outcome.unwrap_err().contains("the file is cut here"));
    let whole = deep.replacen("0,\"children\":[]", "3,\"children\":[]", 1) + "}";
    assert_eq!(live(whole.as_bytes()).into_values().collect::<Vec<_>>(), [3]);
}

#[test]
fn what_makes_no_sense_is_told_with_its_place() {
    let problem = |text: &str| match imported(text.as_bytes()).1 {
        Ok(imported) => imported.fault.map_or_else(String::new, |fault| fault.to_string()),
        Err(problem) => problem,
    };
    let negative = problem(&SMALL.replace("\"selfSize\":700", "\"selfSize\":-700"));
    assert!(negative.starts_with("line 4 (byte "), "{negative}");
    assert!(negative.contains("expected a number of bytes or an id, found -700"), "{negative}");
    let array = problem(&SMALL.replace("\"children\":[]", "\"children\":{}"));
    assert!(array.contains("expected array, found object"), "{array}");
    let none = problem(&SMALL.replace("\"selfSize\":", "\"other\":"));
    assert!(none.contains("nothing lives in it"), "{none}");
    let more = problem(&format!("{SMALL}x"));
    assert!(more.contains("expected JSON"), "{more}");
}

#[test]
fn damage_is_survived() {
    survives_damage(SMALL.as_bytes(), |_| false);
}

/// A tree of a few names, and what each path in it has.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = ("[a-c]", 0..9_u64).prop_map(|(name, bytes)| node(&name, bytes, &[]));
    leaf.prop_recursive(8, 60, 4, |inner| {
        let children = proptest::collection::vec(inner, 0..4);
        ("[a-c]", 0..1_u64 << 40, children)
            .prop_map(|(name, bytes, inner)| node(&name, bytes, &inner))
    })
}

fn sums(node: &Value, path: &str, sums: &mut BTreeMap<String, u64>) {
    for child in node["children"].as_array().unwrap() {
        let name = child["callFrame"]["functionName"].as_str().unwrap();
        let path = format!("{path}{}{name}", if path.is_empty() { "" } else { ";" });
        *sums.entry(path.clone()).or_default() += child["selfSize"].as_u64().unwrap();
        self::sums(child, &path, sums);
    }
}

proptest! {
    #[test]
    fn sums_are_those_of_the_tree(children in proptest::collection::vec(tree(), 1..4)) {
        let head = node("(root)", 0, &children);
        let mut expected = BTreeMap::new();
        sums(&head, "", &mut expected);
        expected.retain(|_, bytes| *bytes > 0);
        prop_assume!(!expected.is_empty());
        prop_assert_eq!(live(&file(&head)), expected);
    }
}
