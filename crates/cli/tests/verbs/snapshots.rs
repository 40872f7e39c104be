//! Heap snapshots where traces are read as well: `info`, `check`, `dump`.

use crate::*;

fn sample() -> PathBuf {
    traces().join("../heaps/sample-v1.0.lth")
}

#[test]
fn what_a_snapshot_says_about_itself() {
    let path = sample();
    check_golden("snapshot-info.txt", &stdout(&["info", argument(&path)]));
    let document: Value =
        serde_json::from_str(&stdout(&["info", "--json", argument(&path)])).unwrap();
    let snapshot = &document["snapshot"];
    assert_eq!((&snapshot["blocks"], &snapshot["bytes"]), (&306.into(), &2_152_128.into()));
    assert_eq!((&snapshot["cause"], &snapshot["number"]), (&"signal".into(), &2.into()));
    assert_eq!(
        (&snapshot["is_complete"], &snapshot["pause_ns"]),
        (&true.into(), &1_300_000.into())
    );
    assert_eq!(document["damages"], Value::Array(Vec::new()));
}

#[test]
fn records_are_lines() {
    let path = sample();
    let page = stdout(&["dump", argument(&path)]);
    check_golden("snapshot-dump.txt", &page);
    let count = |kind: &str| page.lines().filter(|line| line.starts_with(kind)).count();
    let counts = ["kind\t", "root\t", "block\t", "site\t", "sample\t"].map(count);
    assert_eq!(counts, [4, 4, 306, 30, 30]);
    let without = stdout(&["dump", "--no-backtraces", argument(&path)]);
    assert_eq!(without.lines().count() + 30, page.lines().count());
    let refused = run(&["dump", "--all-columns", argument(&path)]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("about traces"));
}

/// Every block is referred to as the next one by exactly one field or root.
#[test]
fn each_block_is_discovered_once() {
    let page = stdout(&["dump", argument(&sample())]);
    let mut discovered: Vec<u64> = page
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| line.split('\t').filter_map(|field| field.strip_prefix('#')?.parse().ok()))
        .collect();
    discovered.sort_unstable();
    let first: Vec<u64> = (0..discovered.len() as u64).collect();
    assert_eq!(discovered, first);
}

#[test]
fn packets_are_all_of_the_file() {
    let path = sample();
    let page = stdout(&["dump", "--packets", argument(&path)]);
    let bytes: u64 = page
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').nth(1).unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(bytes, fs::metadata(&path).unwrap().len());
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[1_000] ^= 1;
    let scratch = Scratch::new(&damaged);
    let output = run(&["dump", "--packets", argument(&scratch.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).matches("damaged\n").count(), 1, "{output:?}");
}

#[test]
fn a_snapshot_is_checked() {
    let path = sample();
    let expected = format!("{}: ok: 306 blocks, 4 roots, 30 samples\n", path.display());
    assert_eq!(stdout(&["check", argument(&path)]), expected);
    let document = stdout(&["check", "--json", SAMPLE, argument(&path)]);
    let document: Value = serde_json::from_str(&document).unwrap();
    let [trace, snapshot] = &document["traces"].as_array().unwrap()[..] else {
        panic!("{document}")
    };
    assert_eq!((&trace["ok"], &snapshot["ok"]), (&true.into(), &true.into()));
    assert_eq!((&snapshot["blocks"], &snapshot["complete"]), (&306.into(), &true.into()));
    let refused = run(&["check", "--repair", argument(&path), "-o", "/nowhere/x"]);
    assert!(text(&refused.stderr).contains("--repair is about traces"), "{refused:?}");
}

fn check_bad(bytes: &[u8], complaint: &str) {
    let scratch = Scratch::new(bytes);
    let path = scratch.path();
    for words in [["check", argument(&path)], ["info", argument(&path)], ["dump", argument(&path)]]
    {
        let output = run(&words);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output.stderr).contains(complaint), "no '{complaint}' in {output:?}");
    }
    assert_eq!(text(&run(&["check", argument(&path)]).stdout), "");
}

/// Each byte belongs to a packet with a checksum; what is not there is missed.
#[test]
fn damage_is_found() {
    let whole = fs::read(sample()).unwrap();
    let packets = stdout(&["dump", "--packets", argument(&sample())]);
    let place = |about: &str| {
        let line = packets.lines().find(|line| line.ends_with(about)).unwrap();
        let mut fields = line.split('\t').map(|field| field.parse::<usize>().unwrap_or(0));
        (fields.next().unwrap(), fields.next().unwrap())
    };
    for about in ["roots", "kinds", "blocks", "sites", "samples"] {
        let (offset, bytes) = place(about);
        let mut flipped = whole.clone();
        flipped[offset + bytes / 2] ^= 4;
        check_bad(&flipped, &format!("byte {offset}: {bytes} bytes lost"));
        let gone = [&whole[..offset], &whole[offset + bytes..]].concat();
        let output = run(&["check", argument(&Scratch::new(&gone).path())]);
        assert_eq!(output.status.code(), Some(1), "without its {about}: {output:?}");
    }
    let (end, _) = place("end");
    check_bad(&whole[..end], "has no end");
    check_bad(&whole[..end + 9], &format!("byte {end}: 9 bytes lost"));
}

#[test]
fn what_only_begins_as_a_snapshot_is_none() {
    let scratch = Scratch::new(&[0xf5, b'L', b'H', 0x1a, 1, 2, 3]);
    for verb in ["check", "info", "dump"] {
        let output = run(&[verb, argument(&scratch.path())]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output.stderr).contains("not a heap snapshot"), "{output:?}");
    }
}
