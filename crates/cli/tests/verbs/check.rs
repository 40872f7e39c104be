//! `check`.

use lifetrace_trace::lt::{PacketFacts, PacketKind};
use serde_json::json;

use crate::*;

#[test]
fn sound_traces_are_said_to_be() {
    let page = stdout(&["check", SAMPLE, "server-1e-5-v1.0.lt", SMALL]);
    let expected = "sample-v1.0.lt: ok: 408 events, 61 facts, 12 packets\n\
         server-1e-5-v1.0.lt: ok: 24,979 events, 6 packets\n\
         reference-ocamlopt.ctf: ok: 3,499 events\n";
    assert_eq!(page, expected);
}

#[test]
fn all_traces_are_looked_at_whatever_the_others_are() {
    let output = run(&["check", "no-such-file", SAMPLE, "README.md", SMALL]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).matches(": ok: ").count(), 2);
    let message = text(&output.stderr);
    assert!(message.contains("No such file") && message.contains("README.md: not a trace"));
}

fn check_bad(trace: &[u8], complaint: &str) {
    let scratch = Scratch::new(trace);
    let output = run(&["check", argument(&scratch.path())]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(text(&output.stdout), "");
    assert!(message.contains(complaint), "no '{complaint}' in: {message}");
}

#[test]
fn damage_is_found() {
    let trace = fs::read(traces().join(SAMPLE)).unwrap();
    let packets = packets_of(&trace);
    let (place, end) = (packets[4].offset as usize, packets[5].offset as usize);
    let mut flipped = trace.clone();
    flipped[place + 50] ^= 1;
    check_bad(&flipped, &format!("byte {place}: "));
    check_bad(
        &trace[..end - 9],
        &format!("byte {place}: {} bytes lost, the file", end - 9 - place),
    );
    check_bad(&[&trace[..place], &trace[end..]].concat(), "a packet is missing");
    let theirs = fs::read(traces().join(SMALL)).unwrap();
    check_bad(&theirs[..100_000], "byte 100000: the file ends");
}

#[test]
fn a_trace_that_was_not_finished_is_not_sound() {
    let trace = fs::read(traces().join(SAMPLE)).unwrap();
    let index = index_of(&trace);
    check_bad(&trace[..index.offset as usize], "was not finished");
}

fn index_of(trace: &[u8]) -> PacketFacts {
    let is_index = |packet: &&PacketFacts| packet.kind == PacketKind::Index;
    *packets_of(trace).iter().find(is_index).unwrap()
}

#[test]
fn programs_are_told_the_same() {
    let trace = fs::read(traces().join(SAMPLE)).unwrap();
    let last = packets_of(&trace)[8];
    let scratch = Scratch::new(&trace[..last.offset as usize + 30]);
    let cut = argument(&scratch.path()).to_owned();
    let output = run(&["check", "--json", SAMPLE, &cut, SMALL, "no-such-file"]);
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [whole, cut, theirs, none] = &document["traces"].as_array().unwrap()[..] else {
        panic!("{document}")
    };
    let oks = [whole, cut, theirs, none].map(|verdict| &verdict["ok"]);
    assert_eq!(oks, [true, false, true, false]);
    assert_eq!((&whole["allocations"], &whole["packets"]), (&json!(209), &json!(12)));
    assert_eq!((&cut["complete"], &cut["damages_total"]), (&json!(false), &json!(1)));
    let damage = &cut["damages"][0];
    assert_eq!((&damage["offset"], &damage["bytes"]), (&json!(last.offset), &json!(30)));
    assert_eq!((&theirs["complete"], &theirs["packets"]), (&Value::Null, &Value::Null));
    assert!(none["error"].as_str().unwrap().contains("No such file"));
}

/// What the index says can be wrong though its checksum is right.
#[test]
fn the_index_is_compared_with_what_is_there() {
    let trace = fs::read(traces().join(SAMPLE)).unwrap();
    let index = index_of(&trace);
    let (start, end) = (index.offset as usize, (index.offset + index.len) as usize);
    // The first field is the number of allocations, 209; the last are the last checkpoint's place.
    for (at, complaint) in [
        (start + 12, "the index is wrong: it says 208 allocations, there are 209"),
        (end - 1, "the index is wrong: it says that a checkpoint of time"),
    ] {
        let mut wrong = trace.clone();
        wrong[at] ^= 1;
        let checksum = crc32([&wrong[start + 4..start + 8], &wrong[start + 12..end]]);
        wrong[start + 8..start + 12].copy_from_slice(&checksum.to_le_bytes());
        check_bad(&wrong, complaint);
    }
}

/// As `docs/format.md` asks for.
fn crc32(parts: [&[u8]; 2]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    !parts.into_iter().flatten().fold(!0, byte)
}

#[test]
fn repair_takes_one_trace_and_an_output() {
    for arguments in [&["check", SAMPLE, "--repair"][..], &["check", SAMPLE, "-o", "x"], &["check"]]
    {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let output = run(&["check", SAMPLE, SMALL, "--repair", "-o", "x"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--repair takes one trace"));
}
