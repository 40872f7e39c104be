//! Recordings made up, and what becomes of them.

use lifetrace_trace::AnyReader;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::lt::Reader;
use lifetrace_trace::record::RecordKind;
use proptest::prelude::*;

use super::super::checking::Namer;
use super::super::{Failure, Imported, import};

const HEAD: &str = "v 10400 3\nX a.out -x\nI 1000 4000\n";
const TABLES: &str = "s 4 main\ns 3 a.c\ns 8 /bin/out\ni 10 3 1 2 7\nt 1 0\na 10 1\na 20 1\n";

fn imported(text: &str) -> (Vec<u8>, Result<Imported, String>) {
    let mut trace = Vec::new();
    let outcome =
        import(text.as_bytes(), &mut trace, &mut Namer).map_err(|failure| match failure {
            Failure::Input(fault) => fault.to_string(),
            Failure::Output(error) => error.to_string(),
        });
    (trace, outcome)
}

/// Births (`+`), deaths (`-`) and their blocks' numbers; times in ms.
fn events(trace: &[u8]) -> Vec<(u64, char, u64)> {
    let mut reader = AnyReader::lt(Reader::open(trace).unwrap());
    let mut events = Vec::new();
    while let Some(told) = reader.next().unwrap() {
        let time = told.time.0 / 1000;
        match told.kind {
            RecordKind::Birth(birth) => events.push((time, '+', birth.id.0)),
            RecordKind::Collection(id) => events.push((time, '-', id.0)),
            RecordKind::Promotion(_) | RecordKind::Fact(_) => {}
        }
    }
    events
}

fn labels(trace: &[u8]) -> Vec<String> {
    let mut reader = AnyReader::lt(Reader::open(trace).unwrap());
    let mut labels = Vec::new();
    while let Some(told) = reader.next().unwrap() {
        if let RecordKind::Fact(fact) = told.kind
            && let Fact::Label(label) = *fact
        {
            labels.push(label.key.to_string());
        }
    }
    labels
}

fn problem(more: &str) -> String {
    let (_, outcome) = imported(&format!("{HEAD}{TABLES}{more}"));
    outcome.unwrap().fault.map_or_else(String::new, |fault| fault.to_string())
}

#[test]
fn the_oldest_of_a_class_dies() {
    let (trace, outcome) =
        imported(&format!("{HEAD}{TABLES}+ 0\nc a\n+ 0\n+ 1\n- 0\nc 14\n- 0\n- 1\n- 1\n"));
    let outcome = outcome.unwrap();
    let expected =
        [(0, '+', 0), (10, '+', 1), (10, '+', 2), (10, '-', 0), (20, '-', 1), (20, '-', 2)];
    assert_eq!(events(&trace), expected);
    assert_eq!((outcome.births, outcome.deaths), (3, 3));
    assert!(outcome.remarks[0].starts_with("1 of 3 frees may have been of another block"));
    assert!(outcome.remarks[1].starts_with("1 frees of blocks that never lived"));
    assert!(outcome.fault.is_none());
    assert_eq!(
        labels(&trace),
        ["imported-from", "import.lacks.threads", "import.times", "import.lifetimes"]
    );
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    assert_eq!(
        problem("+ 2\n"),
        "line 11 (byte 96): expected the number of a class of blocks that was told before, found 2 (hexadecimal) of 2"
    );
    assert!(problem("+ zz\n").ends_with("expected a hexadecimal number, found \"zz\""));
    assert!(problem("+\n").contains("expected a line of heaptrack's"));
    assert!(problem("a 10\n").ends_with("expected a backtrace, found the end of the line"));
    assert!(problem("t 2 0\n").contains("an instruction"));
    assert!(problem("i 10 9\n").contains("a string"));
    assert!(problem("s ff abc\n").ends_with("the file is cut within this string"));
    assert!(problem("+ 1").ends_with("the file is cut within this line"));
    assert!(problem("m x 0\n").contains("heaptrack --interpret"));
    assert_eq!(problem("# comment\n\nS leak:x\nA\n"), "");
}

#[test]
fn what_cannot_be_read_at_all_is_refused() {
    let refused = |text: &str| imported(text).1.unwrap_err();
    assert!(refused("v 10400 4\n").contains("version 4 of heaptrack's format"));
    assert!(refused("v 10000 0\n").contains("versions 1 to 3"));
    assert!(refused("v 10400 3\nx /bin/ls\nX ls\nI 1000 1\n").contains("heaptrack --interpret"));
    assert!(refused("v 1zz 3\n").contains("line 1"));
}

#[test]
fn a_command_of_several_lines_is_no_record() {
    let text = HEAD.replace("-x", "-e s foo\n+ 1\na b\ns 3 x y\n\"c").to_owned();
    let (trace, outcome) = imported(&format!("{text}{TABLES}+ 0\n"));
    assert_eq!((outcome.unwrap().births, events(&trace).len()), (1, 1));
}

#[test]
fn strings_of_older_versions_have_no_length() {
    let text = HEAD.replace(" 3\n", " 2\n")
        + &TABLES.replace("s 4 ", "s ").replace("s 3 ", "s ").replace("s 8 ", "s ");
    let (trace, outcome) = imported(&format!("{text}+ 0\n"));
    assert!(outcome.unwrap().fault.is_none());
    let mut reader = AnyReader::lt(Reader::open(&trace[..]).unwrap());
    while reader.next().unwrap().is_some() {}
    let frame = reader.frame(lifetrace_trace::ids::LocationCode(1));
    assert_eq!((&*frame.locations[0].defname, &*frame.locations[0].filename), ("main", "a.c"));
}

proptest! {
    // Each case writes some traces, and a writer's tables are large.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_text_is_read_without_harm(lines in prop::collection::vec("[stia+cR#-] [0-9a-f ]{0,9}", 0..60)) {
        let (trace, outcome) = imported(&format!("{HEAD}{}\n", lines.join("\n")));
        let births = outcome.unwrap().births as usize;
        prop_assert_eq!(events(&trace).iter().filter(|(_, kind, _)| *kind == '+').count(), births);
    }

    #[test]
    fn each_cut_gives_what_is_before(steps in prop::collection::vec((any::<bool>(), 0..2_u8), 1..60)) {
        let steps = steps.iter().map(|(born, class)| format!("{} {class}\n", if *born { '+' } else { '-' }));
        let text = format!("{HEAD}{TABLES}{}", steps.collect::<String>());
        let (whole, _) = imported(&text);
        let whole = events(&whole);
        for cut in HEAD.len() + TABLES.len()..text.len() {
            let (trace, outcome) = imported(&text[..cut]);
            let found = events(&trace);
            prop_assert!(whole.starts_with(&found));
            prop_assert_eq!(outcome.unwrap().fault.is_some(), !text[..cut].ends_with('\n'));
        }
    }
}
