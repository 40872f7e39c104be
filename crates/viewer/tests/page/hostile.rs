//! Names that would like to be markup: nothing but texts in a page changes with them.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use lifetrace_viewer::{Page, Question, Template};

use crate::decoded::Line;
use crate::made::{usual, written};
use crate::*;

const TEMPLATE: &str = "<!doctype html><head><!--lifetrace:policy--><style>p{}</style></head>\
    <body><!--lifetrace:page--><script>run()</script></body>";

const BEFORE_DATA: &str = "<script type=\"text/plain\" class=\"lifetrace-trace\">";
const BEFORE_HEAD: &str = "<script type=\"application/json\" id=\"lifetrace-page\">";
const END: &str = "</script>";

fn hostile() -> Vec<String> {
    let long = format!("std::{}::end", "very<long, name>".repeat(4000));
    [
        "<script>alert(1)</script>",
        "</script><!--",
        "\"'`onload=x' --> ]]>",
        "\u{202e}abc\u{2066}\u{200f}",
        "a\nb\r\n\u{1b}[31m\u{0}",
        "<!--lifetrace:page--><!--lifetrace:policy-->",
        &long,
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The page of a trace with these names.
fn page(names: &[String]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.lt");
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    std::fs::write(&path, written(&usual(), &names)).unwrap();
    let bundle = Bundle::of(&study(&path), ALL).unwrap();
    let question = Question {
        filter: Some(format!("fn={}", names[0])),
        hide: vec![names[1].to_owned()],
        ..Question::default()
    };
    let page = Page {
        title: names[0].to_owned(),
        bundles: vec![bundle],
        question,
        template: Template::of(TEMPLATE).unwrap(),
    };
    let mut bytes = Vec::new();
    page.write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// What stands between, and the page without it.
fn cut(page: &str, begin: &str) -> (String, String) {
    let (before, rest) = page.split_once(begin).unwrap();
    let (within, after) = rest.split_once(END).unwrap();
    (within.to_owned(), [before, begin, END, after].concat())
}

fn split(page: &str) -> [String; 3] {
    let (head, rest) = cut(page, BEFORE_HEAD);
    let (data, markup) = cut(&rest, BEFORE_DATA);
    [head, data, markup]
}

#[test]
fn names_are_never_markup() {
    let names = hostile();
    let [head, data, markup] = split(&page(&names));
    let [.., harmless] = split(&page(&["f".to_owned(), "g".to_owned()]));
    assert_eq!(markup, harmless);
    assert!(!head.contains('<') && !data.contains('<'));
    assert!(data.bytes().all(|it| it.is_ascii_alphanumeric() || b"+/=".contains(&it)));
    let head: serde_json::Value = serde_json::from_str(&head).unwrap();
    assert_eq!(head["title"], names[0]);
    assert_eq!(head["options"]["hide"][0], names[1]);
    assert_eq!(head["traces"], 1);
}

#[test]
fn names_arrive_as_they_are() {
    let names = hostile();
    let [_, data, _] = split(&page(&names));
    let packed = STANDARD.decode(data).unwrap();
    let mut bytes = Vec::new();
    ZlibDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
    let decoded = Decoded::new(bytes);
    assert_eq!(decoded.facts()["program"], names[3]);
    let lines = decoded.frames().into_iter().flatten();
    let functions: std::collections::BTreeSet<_> = lines
        .filter_map(|line| match line {
            Line::Known { function, .. } => Some(function),
            Line::Unknown(_) => None,
        })
        .collect();
    // Longer names are cut by the format of traces.
    let is_there = |name: &String| {
        functions.iter().any(|it| it.len() > 3000 && name.starts_with(&**it) || it == name)
    };
    assert!(names.iter().all(is_there), "{functions:?}");
}

#[test]
fn the_policy_is_of_the_application_that_is_there() {
    let page = page(&hostile());
    let policies: Vec<_> = page.match_indices("http-equiv=\"Content-Security-Policy\"").collect();
    assert_eq!(policies.len(), 1);
    assert!(policies[0].0 < page.find("<style>").unwrap());
    let built = Template::of(TEMPLATE).unwrap();
    let policy = built.policy().as_str();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"));
    assert!(!policy.contains("unsafe") && !policy.contains("http"));
    assert!(page.contains(policy));
}
