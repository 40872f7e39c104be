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
    check(&["--view", "holding"], "--at ADDRESS, or --class NAME");
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
