//! Damaged traces of our own format: what is lost is told, with an exit code, and all the rest is used.

use serde_json::Value;

use crate::*;

fn sample() -> Vec<u8> {
    fs::read(traces().join(SAMPLE)).unwrap()
}

/// All but one stretch of `lines`, or nothing is missing.
fn is_all_but_a_stretch(found: &[&str], lines: &[&str]) -> bool {
    let same = found.iter().zip(lines).take_while(|(one, other)| one == other).count();
    lines.ends_with(&found[same..])
}

#[test]
fn events_outside_of_a_stretch_are_used() {
    let (trace, whole) = (sample(), stdout(&["dump", SAMPLE]));
    let whole: Vec<_> = whole.lines().collect();
    let scratch = Scratch::new(b"");
    for packet in packets_of(&trace) {
        let mut damaged = trace.clone();
        damaged[packet.offset as usize + 14] ^= 4;
        scratch.write(&damaged);
        let output = run(&["dump", argument(&scratch.path())]);
        let (message, dump) = (text(&output.stderr), text(&output.stdout));
        assert_eq!(output.status.code(), Some(1), "{message}");
        let place = format!("scratch.lt: byte {}: ", packet.offset);
        assert!(message.contains(&place) && message.contains("bytes lost"), "{message}");
        assert!(message.contains("all events outside of that are used"), "{message}");
        assert!(message.contains("lifetrace check --repair -o OUT"), "{message}");
        let found: Vec<_> = dump.lines().collect();
        assert!(is_all_but_a_stretch(&found, &whole), "{packet:?}");
        assert!(found.len() * 2 > whole.len(), "{packet:?}");
    }
}

#[test]
fn births_that_are_missing_are_told() {
    let mut trace = sample();
    let packet = packets_of(&trace)[3];
    trace[packet.offset as usize + 20] ^= 1;
    let scratch = Scratch::new(&trace);
    let output = run(&["report", "--json", argument(&scratch.path())]);
    assert!(text(&output.stderr).contains("allocations missing"), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let damage = &report["damages"][0];
    assert_eq!(&report["damage"], damage);
    assert_eq!(damage["offset"], packet.offset);
    assert!(damage["bytes"].as_u64().unwrap() >= packet.len);
    assert!(damage["allocations_missing"].as_u64().unwrap() > 50);
    let page = text(&run(&["report", argument(&scratch.path())]).stdout);
    assert!(page.contains("Note: the trace is damaged, this is what is left"), "{page}");
}

#[test]
fn all_before_a_cut_is_used() {
    let (trace, whole) = (sample(), stdout(&["dump", SAMPLE]));
    let packets = packets_of(&trace);
    let scratch = Scratch::new(b"");
    for len in (packets[1].offset as usize..trace.len()).step_by(97) {
        scratch.write(&trace[..len]);
        let output = run(&["dump", argument(&scratch.path())]);
        let message = text(&output.stderr);
        assert!(whole.starts_with(&text(&output.stdout)));
        let start = packets.iter().rev().find(|it| it.offset <= len as u64).unwrap().offset;
        if start == len as u64 {
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{len}: {message}");
        let expected = format!("byte {start}: {} bytes lost, the file ends", len as u64 - start);
        assert!(message.contains(&expected), "{len}: {message}");
    }
}

#[test]
fn a_trace_that_was_not_finished_is_no_failure() {
    let trace = sample();
    let scratch = Scratch::new(b"");
    for packet in packets_of(&trace).into_iter().skip(2) {
        scratch.write(&trace[..packet.offset as usize]);
        for verb in ["dump", "report", "info"] {
            let output = run(&[verb, argument(&scratch.path())]);
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{verb}: {message}");
            assert!(message.contains("scratch.lt: was not finished"), "{verb}: {message}");
        }
    }
    let page = text(&run(&["report", argument(&scratch.path())]).stdout);
    assert!(page.contains("Note: the trace was not finished"), "{page}");
}

#[test]
fn a_trace_without_its_beginning_is_known_by_its_second_header() {
    let trace = sample();
    let scratch = Scratch::new(b"");
    let path = scratch.0.path().join("anything.ctf");
    let lost = format!("byte 0: {} bytes lost", packets_of(&trace)[0].len);
    for damage in [&b"\x1f\x8b\x08\0"[..], b"\x7fELF", b"junk"] {
        let damaged = [damage, &trace[damage.len()..]].concat();
        fs::write(&path, damaged).unwrap();
        let output = run(&["dump", argument(&path)]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(&lost), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), stdout(&["dump", SAMPLE]));
    }
}

#[test]
fn many_stretches_are_not_all_told() {
    let trace = sample();
    let (start, end) = (packets_of(&trace)[2].offset, packets_of(&trace)[14].offset);
    let mut many = trace.clone();
    for _ in 0..30 {
        many.extend_from_slice(b"junk");
        many.extend_from_slice(&trace[start as usize..end as usize]);
    }
    let scratch = Scratch::new(&many);
    let output = run(&["check", argument(&scratch.path())]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(message.lines().count() < 15, "{message}");
    assert!(message.contains("more such stretches"), "{message}");
}

/// No change of a trace makes a verb crash.
#[test]
fn any_damage_is_survived() {
    let scratch = Scratch::new(b"");
    let whole = sample();
    for seed in 0..40u64 {
        let place = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize % whole.len();
        let mut trace = whole.clone();
        match seed % 3 {
            0 => trace.truncate(place),
            1 => trace[place] ^= 1 << (seed / 3 % 8),
            _ => trace[place % 400] = seed as u8,
        }
        scratch.write(&trace);
        for verb in [&["report"][..], &["dump"], &["dump", "--packets"], &["info"], &["check"]] {
            let output = run(&[verb, &[argument(&scratch.path())]].concat());
            let is_ours = matches!(output.status.code(), Some(0 | 1));
            assert!(is_ours, "{verb:?}, seed {seed}: {:?}", output.status);
            assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
        }
    }
}
