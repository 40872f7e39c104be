//! `dump --packets`.

use crate::*;

#[test]
fn the_layout_is_shown() {
    check_golden("packets-sample.txt", &stdout(&["dump", "--packets", SAMPLE]));
    check_golden("packets-memtrace.txt", &stdout(&["dump", "--packets", SMALL]));
}

/// Offset and bytes of each line.
fn packets(page: &str) -> Vec<[u64; 2]> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let field = |line: &str, at| line.split('\t').nth(at).unwrap().parse().unwrap();
    lines.map(|line| [field(line, 0), field(line, 1)]).collect()
}

#[test]
fn packets_and_damage_are_all_of_the_file() {
    let trace = fs::read(traces().join(SAMPLE)).unwrap();
    let mut damaged = trace.clone();
    let (data, end) = (packets_of(&trace)[3], packets_of(&trace)[15]);
    for packet in [data, end] {
        damaged[packet.offset as usize + 13] ^= 1;
    }
    let scratch = Scratch::new(&damaged);
    let output = run(&["dump", "--packets", argument(&scratch.path())]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = format!("{} bytes belong to no packet", data.len + end.len);
    assert!(text(&output.stderr).contains(&complaint), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert_eq!(page.matches("damaged\n").count(), 2, "{page}");
    for (path, bytes) in [(scratch.path(), trace.len() as u64), (SMALL.into(), 137_067)] {
        let page = text(&run(&["dump", "--packets", argument(&path)]).stdout);
        let end = packets(&page).into_iter().fold(0, |end, [offset, bytes]| {
            assert_eq!(offset, end, "{page}");
            end + bytes
        });
        assert_eq!(end, bytes);
    }
}

#[test]
fn a_cut_packet_of_memtrace_is_told() {
    let trace = fs::read(traces().join(SMALL)).unwrap();
    let scratch = Scratch::new(&trace[..100_000]);
    let output = run(&["dump", "--packets", argument(&scratch.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("byte 100000: the file ends in the middle of a packet"));
    assert!(packets(&text(&output.stdout)).len() > 2);
}
