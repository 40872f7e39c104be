//! Dumps that Ruby makes of its heap, whose program knows what is in them.

use crate::support::fixture;
use crate::support::ruby::ruby;
use crate::support::run::lifetrace_verb;

#[test]
fn what_an_object_holds_is_known_to_the_byte_in_a_dump_of_ruby() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("heap.json");
    let dump = dump.to_str().unwrap();
    let program = fixture::source("ruby/heap.rb");
    let told = ruby().arguments(&[program.to_str().unwrap(), dump]).bare();
    assert_eq!((told.code, told.stderr_text().as_str()), (0, ""));
    let view = |options: &[&str]| -> serde_json::Value {
        let page =
            lifetrace_verb(&[&["heap", dump, "--json", "--top", "100000"], options].concat());
        assert_eq!(page.code, 0, "{page:?}");
        serde_json::from_str(&page.stdout_text()).unwrap()
    };
    let summary = view(&[]);
    for line in told.stdout_text().lines() {
        let [class, objects, bytes] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let classes = summary["classes"].as_array().unwrap();
        let found = classes.iter().find(|it| it["class"] == class).unwrap();
        let numbers = ["objects", "retained_bytes"].map(|name| found[name].to_string());
        assert_eq!(numbers, [objects, bytes], "{class}");
    }
    let holding = view(&["--view", "holding", "--class", "Session"]);
    let path = holding["shortest_path"].as_array().unwrap();
    let classes: Vec<_> = path.iter().map(|step| step["class"].as_str().unwrap()).collect();
    assert_eq!(classes[classes.len() - 3..], ["Cache", "Array", "Session"]);
    let above = &holding["dominators"].as_array().unwrap();
    assert_eq!(above[above.len() - 3]["class"], "Cache");
}
