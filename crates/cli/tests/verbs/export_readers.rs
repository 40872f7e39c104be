//! Who can read what `export` writes: programs that are not ours. `cargo xtask readers` asks more of
//! them, which take longer to get.

use std::collections::BTreeMap;
use std::io::Write;

use crate::exports::{export, small, total, unversioned};
use crate::*;

fn readers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers")
}

/// The stdout of a program, which is given `input`.
fn fed(command: &mut Command, input: &[u8]) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let feeder = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(output.status.success(), "{command:?}");
    text(&output.stdout)
}

/// A profile as `gzip` and `protoc` read it.
fn decoded(profile: &[u8]) -> String {
    let plain = Scratch::new(&unpacked(profile));
    let mut protoc = Command::new("protoc");
    protoc.args(["--decode=Profile", "profile.proto"]).current_dir(readers());
    fed(&mut protoc, &fs::read(plain.path()).unwrap())
}

fn unpacked(profile: &[u8]) -> Vec<u8> {
    let packed = Scratch::new(profile);
    let input = fs::File::open(packed.path()).unwrap();
    let output = Command::new("gzip").arg("-dc").stdin(input).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    output.stdout
}

/// Of decoded messages called `name`, each one's fields in their order.
fn messages<'a>(decoded: &'a str, name: &str) -> Vec<Vec<(&'a str, &'a str)>> {
    let begin = format!("{name} {{");
    let mut lines = decoded.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line == begin {
            let fields = lines.by_ref().take_while(|line| *line != "}");
            found.push(fields.filter_map(|line| line.trim().split_once(": ")).collect());
        }
    }
    found
}

fn strings(decoded: &str) -> Vec<String> {
    let table = decoded.lines().filter_map(|line| line.strip_prefix("string_table: "));
    table.map(|text| text.trim_matches('"').to_owned()).collect()
}

/// The sum of each number of a profile, by its name.
fn sums(decoded: &str) -> BTreeMap<String, i64> {
    let strings = strings(decoded);
    let types = messages(decoded, "sample_type");
    let name = |fields: &Vec<(&str, &str)>| strings[fields[0].1.parse::<usize>().unwrap()].clone();
    let names: Vec<String> = types.iter().map(name).collect();
    let mut sums = BTreeMap::new();
    for sample in messages(decoded, "sample") {
        let values = sample.iter().filter(|(field, _)| *field == "value");
        for (name, (_, value)) in names.iter().zip(values) {
            *sums.entry(name.clone()).or_default() += value.parse::<i64>().unwrap();
        }
    }
    sums
}

#[test]
fn protoc_reads_pprof() {
    let trace = small();
    let profile = export("pprof", argument(&trace.path()), &[]);
    check_golden("pprof.txt", &unversioned(&decoded(&profile)));
}

#[test]
fn pprof_numbers_add_up() {
    for trace in [SMALL, SAMPLE, "server-1e-5.ctf"] {
        let decoded = decoded(&export("pprof", trace, &[]));
        let sums = sums(&decoded);
        for (name, field, part) in [
            ("alloc_objects", "allocated", "objects"),
            ("alloc_space", "allocated", "bytes"),
            ("inuse_objects", "live_at_end", "objects"),
            ("inuse_space", "live_at_end", "bytes"),
            ("peak_objects", "peak", "objects"),
            ("peak_space", "peak", "bytes"),
            ("samples", "allocated", "samples"),
        ] {
            let (found, expected) = (sums[name] as f64, total(trace, field, part));
            assert!((found - expected).abs() <= 0.5, "{trace}, {name}: {found} for {expected}");
        }
    }
}

#[test]
fn everything_that_a_pprof_sample_names_is_there() {
    let decoded = decoded(&export("pprof", SAMPLE, &[]));
    let ids =
        |name| -> Vec<&str> { messages(&decoded, name).iter().map(|fields| fields[0].1).collect() };
    let (locations, functions, mappings) = (ids("location"), ids("function"), ids("mapping"));
    let used = |message: &str, field: &str| -> Vec<String> {
        let fields = messages(&decoded, message).into_iter().flatten();
        fields.filter(|(name, _)| *name == field).map(|(_, id)| id.to_owned()).collect()
    };
    let check = |used: Vec<String>, known: &[&str]| {
        assert!(!used.is_empty() && used.iter().all(|id| known.contains(&id.as_str())));
    };
    check(used("sample", "location_id"), &locations);
    check(used("location", "function_id"), &functions);
    check(used("location", "mapping_id"), &mappings);
}

#[test]
fn pprof_has_what_was_chosen() {
    for options in [
        &["--focus", "Stdlib__set.Make.add"][..],
        &["--hide", "Stdlib__set.Make.bal"],
        &["--collapse-recursion", "--filter", "size > 100"],
    ] {
        let decoded = decoded(&export("pprof", SMALL, options));
        let lines = text(&export("collapsed", SMALL, options));
        let numbers = lines.lines().map(|line| line.rsplit_once(' ').unwrap().1);
        let expected: i64 = numbers.map(|number| number.parse::<i64>().unwrap()).sum();
        assert_eq!(sums(&decoded)["alloc_space"], expected, "{options:?}");
        let is_hidden = |text: &String| text == "Stdlib__set.Make.bal";
        assert_eq!(strings(&decoded).iter().any(is_hidden), options[0] == "--focus");
    }
}

#[test]
fn rubys_names_give_rubys_numbers() {
    let decoded = decoded(&export("pprof", SMALL, &["--pprof-types", "rmp"]));
    let sums = sums(&decoded);
    assert_eq!(sums.keys().collect::<Vec<_>>(), ["retained_objects", "retained_size"]);
    let expected = total(SMALL, "live_at_end", "bytes");
    assert!((sums["retained_size"] as f64 - expected).abs() <= 0.5, "{sums:?} for {expected}");
    assert!(!decoded.contains("label {"));
}

#[test]
fn the_metric_is_the_one_that_pprof_shows_first() {
    for (metric, name) in
        [("allocated", "alloc_space"), ("live", "inuse_space"), ("object-seconds", "lifetime")]
    {
        let decoded = decoded(&export("pprof", SMALL, &["--metric", metric]));
        let line = decoded.lines().find_map(|line| line.strip_prefix("default_sample_type: "));
        assert_eq!(strings(&decoded)[line.unwrap().parse::<usize>().unwrap()], name);
    }
}

#[test]
fn speedscopes_schema_accepts_speedscope_files() {
    let small = small();
    for trace in [argument(&small.path()), "server-1e-5.ctf"] {
        let file = Scratch::new(&export("speedscope", trace, &[]));
        let validator = "import json, jsonschema, sys; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))";
        let mut python = Command::new("/usr/bin/python3");
        python
            .args(["-c", validator])
            .arg(file.path())
            .arg(readers().join("speedscope-schema.json"));
        let output = python.output().unwrap();
        assert!(output.status.success(), "{trace}: {}", text(&output.stderr));
    }
}

#[test]
fn inferno_reads_collapsed_stacks() {
    for (trace, metric) in [(SMALL, "allocated"), (SAMPLE, "allocated-objects")] {
        let lines = text(&export("collapsed", trace, &["--metric", metric]));
        let sum: u64 = lines
            .lines()
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
            .sum();
        let mut options = inferno::flamegraph::Options::default();
        options.count_name = "things".to_owned();
        let mut svg = Vec::new();
        inferno::flamegraph::from_lines(&mut options, lines.lines(), &mut svg).unwrap();
        let all = format!("<title>all ({} things, 100%)</title>", human(sum));
        assert!(text(&svg).contains(&all), "{all}");
    }
}

#[test]
fn a_flame_graph_says_what_it_is_of() {
    let svg = text(&export("svg", SMALL, &["--metric", "peak"]));
    let peak = total(SMALL, "peak", "bytes").round() as u64;
    assert!(svg.contains(&format!("<title>all ({} bytes, 100%)</title>", human(peak))));
    assert!(svg.contains("bytes live at the peak"));
    assert!(svg.contains("estimated from 1676 sampled allocations"));
}

/// In the drawing, and in its script when it draws for another size.
#[test]
fn names_in_flame_graphs_lose_their_middle() {
    let svg = text(&export("svg", "server-1e-5.ctf", &[]));
    assert!(!svg.contains("..</text>"), "{svg}");
    let shown = svg.split("</text>").filter_map(|it| it.rsplit('>').next());
    let shown: Vec<_> = shown.filter(|it| it.contains('…')).collect();
    assert!(shown.iter().any(|it| it.ends_with("….f_elt")), "{shown:?}");
    let script = include_str!("../../../export/src/svg/names.js");
    assert!(svg.contains(script));
    let browser = "var cut = {textContent: 'alloc::collections..'},
    title = {textContent: 'alloc::collections::btree::map::insert (7 bytes, 1%)'};
function find_child(e, name) { return e[name]; }
function update_text_for_elements(elements) {}
";
    let call = "update_text_for_elements([{text: cut, title: title}]);
console.log(cut.textContent, without_middle('a_function_of_c_with_a_long_name', 15));
console.log(without_middle('core::iter::Map::next::{{closure}}', 24), without_middle('f()', 2));";
    let mut node = Command::new("node");
    let output = node.args(["-e", &format!("{browser}{script}{call}")]).output().unwrap();
    let expected = "alloc::coll…::insert a_funct…ng_name\ncore…::next::{{closure}} f…\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
}

#[test]
fn flame_graphs_are_xml() {
    // The sample's command line has two hyphens, which a comment must not have.
    for trace in [SMALL, SAMPLE] {
        let mut python = Command::new("/usr/bin/python3");
        python.args(["-c", "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.stdin)"]);
        fed(&mut python, &export("svg", trace, &[]));
    }
}

/// 1,234,567
fn human(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
