//! A small dump, whole and damaged.

use proptest::prelude::*;

use super::*;
use crate::dominators::Dominators;
use crate::retained::Retained;

const DUMP: &str = r#"{"type":"ROOT", "root":"vm", "references":["0x10", "0x18"]}
{"type":"ROOT", "root":"global_tbl", "references":["0x30", "0x99"]}
{"type":"ROOT", "root":"vm", "references":["0x20"]}
{"address":"0x10", "type":"CLASS", "class":"0x18", "superclass":"0x18", "name":"Thing", "memsize":500}
{"address":"0x18", "type":"CLASS", "class":"0x18", "name":"Object", "memsize":600}
{"address":"0x20", "type":"CLASS", "class":"0x18", "superclass":"0x10", "singleton":true, "memsize":300}
{"address":"0x28", "type":"CLASS", "class":"0x18", "superclass":"0x10", "memsize":300}
{"address":"0x1", "id":3, "type":"SHAPE", "memsize":32}
{"address":"0x30", "type":"OBJECT", "class":"0x10", "ivars":2, "references":["0x38", "0x40"], "memsize":40}
{"address":"0x38", "type":"OBJECT", "class":"0x20", "memsize":40}
{"address":"0x40", "type":"OBJECT", "class":"0x28", "references":["0x48"], "memsize":48}
{"address":"0x48", "type":"IMEMO", "class":"0x10", "imemo_type":"iseq", "memsize":56}
{"address":"0x50", "type":"DATA", "struct":"VM/thing", "memsize":64}
"#;

fn dump(text: &[u8]) -> Dump {
    read(text).unwrap()
}

#[test]
fn a_dump_is_read() {
    let Dump { heap, missing, damage } = dump(DUMP.as_bytes());
    assert_eq!((missing, damage), (1, None));
    assert_eq!(heap.roots.iter().map(|it| &**it).collect::<Vec<_>>(), ["vm", "global_tbl"]);
    let names: Vec<_> = heap.graph.blocks().map(|id| heap.name(id)).collect();
    let anonymous = "anonymous, of Thing";
    let expected = ["Class", "Class", "Class", "Class", "Thing", "Thing", anonymous];
    assert_eq!(names[..7], expected);
    assert_eq!(names[7..], ["internal T_IMEMO iseq", "internal T_DATA VM/thing"]);
    let thing = heap.at(0x30).unwrap();
    assert_eq!((heap.address(thing), heap.graph.bytes(thing)), (Some(0x30), 40));
    let to: Vec<_> = heap.graph.references(thing).filter_map(|id| heap.address(id)).collect();
    assert_eq!(to, [0x38, 0x40, 0x10]);
    let place = heap.place_in_file(thing).unwrap().offset as usize;
    assert!(DUMP[place..].starts_with("{\"address\":\"0x30\""));
    assert!(heap.at(0x1).is_none() && heap.at(0x99).is_none());
    assert_eq!((heap.name(BlockId(0)), heap.name(BlockId(2))), ("all roots", "global_tbl"));
}

#[test]
fn a_class_that_the_machine_does_not_hold_is_no_reference() {
    let lines = r#"{"address":"0x58", "type":"IMEMO", "class":"0x28", "imemo_type":"callcache", "memsize":40}
{"address":"0x60", "type":"FLOAT", "class":"0x18", "memsize":40}
"#;
    let Dump { heap, .. } = dump(format!("{DUMP}{lines}").as_bytes());
    for address in [0x58, 0x60] {
        assert_eq!(heap.graph.references(heap.at(address).unwrap()).count(), 0, "{address:#x}");
    }
    assert_eq!(heap.name(heap.at(0x60).unwrap()), "Object");
}

#[test]
fn what_it_holds_is_known() {
    let Dump { heap, .. } = dump(DUMP.as_bytes());
    let dominators = Dominators::of(&heap.graph);
    let retained = Retained::of(&heap.graph, &dominators);
    let [thing, garbage] = [0x30, 0x50].map(|address| heap.at(address).unwrap());
    // With its class's anonymous one, which nothing else holds.
    assert_eq!((retained.bytes(thing), retained.blocks(thing)), (40 + 40 + 48 + 56 + 300, 5));
    assert!(!dominators.is_reachable(garbage));
    assert_eq!(heap.name(dominators.dominator(thing).unwrap()), "global_tbl");
}

#[test]
fn what_is_no_dump_is_said_to_be_none() {
    for text in ["", "\n\n", "{}\n", "nonsense", "{\"type\":\"ROOT\",\"root\":\"vm\"}"] {
        let error = read(text.as_bytes()).unwrap_err();
        assert!(matches!(error, DumpError::NoDump(_)), "{text:?}: {error}");
    }
    assert!(is_dump(DUMP.as_bytes()) && !is_dump(b"{\"a\":1}"));
}

#[test]
fn a_damaged_line_is_told_and_the_others_are_used() {
    let text = DUMP.replace("\"ivars\":2", "\"ivars\":2,,");
    let Dump { heap, damage, .. } = dump(text.as_bytes());
    let damage = damage.unwrap();
    assert_eq!((damage.lines, damage.line), (1, 9));
    assert!(heap.at(0x30).is_none() && heap.at(0x38).is_some());
    let place = damage.place as usize;
    assert!(text[place..].starts_with("{\"address\":\"0x30\""));
    let cut = dump(&DUMP.as_bytes()[..DUMP.len() - 20]);
    assert!(cut.damage.unwrap().to_string().starts_with("line 13, at byte "));
}

proptest! {
    #[test]
    fn nothing_panics(at in 0..DUMP.len(), byte: u8, cut in 0..DUMP.len()) {
        let mut bytes = DUMP.as_bytes().to_vec();
        bytes[at] = byte;
        bytes.truncate(bytes.len() - cut / 2);
        if let Ok(Dump { heap, .. }) = read(&bytes[..]) {
            let dominators = Dominators::of(&heap.graph);
            let retained = Retained::of(&heap.graph, &dominators);
            let all: u64 = heap.graph.blocks().map(|id| heap.graph.bytes(id)).fold(0, u64::saturating_add);
            prop_assert!(retained.bytes(BlockId::ALL_ROOTS) <= all);
        }
    }
}
