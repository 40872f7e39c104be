//! What CPython's test runner writes with `--junit-xml`: one element for each case, in one line.
//!
//! No general reader of XML: it knows the three shapes that the runner writes, and takes the first
//! name in a case that tells of anything but success.

use super::compare::{Outcomes, add};

const CASE: &str = "<testcase ";

/// The outcomes in `xml`: `ok`, `skipped`, `failure` or `error`.
pub fn outcomes(xml: &str) -> Outcomes {
    let mut all = Outcomes::new();
    for case in xml.split(CASE).skip(1) {
        add(&mut all, &attribute(case, "name"), outcome(case));
    }
    all
}

fn outcome(case: &str) -> &'static str {
    let own = case.split("</testcase>").next().unwrap_or(case);
    let is = |element: &str| own.contains(&format!("<{element}"));
    ["error", "failure", "skipped"].into_iter().find(|element| is(element)).unwrap_or("ok")
}

fn attribute(case: &str, name: &str) -> String {
    let rest = case.split_once(&format!("{name}=\"")).map_or("", |(_, rest)| rest);
    rest.split('"').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_outcome() {
        let xml = r#"<testsuites tests="4"><testsuite tests="4">
            <testcase name="a" status="run" result="completed" time="1" /><testcase name="b"
            status="run" result="completed"><skipped>no network</skipped></testcase><testcase
            name="c"><failure type="E" message="&lt;error">x</failure></testcase>
            <testcase name="a" result="completed"><error/></testcase>"#;
        let xml = xml.replace("<testcase\n", CASE);
        let found: Vec<(String, String)> = outcomes(&xml).into_iter().collect();
        let expected = [("a", "ok"), ("a (2)", "error"), ("b", "skipped"), ("c", "failure")];
        assert_eq!(found, expected.map(|(case, what)| (case.to_owned(), what.to_owned())));
    }
}
