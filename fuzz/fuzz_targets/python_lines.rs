//! Any bytes, as a damaged code object may have them for its table of lines: an instruction is in the line that a reader says
//! who writes down all of the table first.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_python::lines::{Lines, line};

/// Ends of ranges in bytes, and their lines; and of which line is what comes behind them all.
struct Table {
    ranges: Vec<(i64, Option<i64>)>,
    behind: Option<i64>,
}

fn increments(table: &[u8], first: i64) -> Table {
    let (mut ranges, mut end, mut line) = (Vec::new(), 0, first);
    for pair in table.chunks_exact(2) {
        end += i64::from(pair[0]);
        ranges.push((end, Some(line)));
        line += i64::from(pair[1] as i8);
    }
    Table { ranges, behind: Some(line) }
}

fn ranges(table: &[u8], first: i64) -> Table {
    let (mut ranges, mut end, mut line) = (Vec::new(), 0, first);
    for pair in table.chunks_exact(2) {
        end += i64::from(pair[0]);
        let has_line = pair[1] != 0x80;
        line += if has_line { i64::from(pair[1] as i8) } else { 0 };
        ranges.push((end, has_line.then_some(line)));
    }
    Table { ranges, behind: None }
}

fn locations(table: &[u8], first: i64) -> Table {
    let (mut ranges, mut end, mut line) = (Vec::new(), 0, first);
    let mut at = 0;
    while at < table.len() {
        let head = table[at];
        let next = (at + 1..table.len()).find(|&place| table[place] >= 128).unwrap_or(table.len());
        let kind = (head >> 3) & 15;
        line += match kind {
            11 => 1,
            12 => 2,
            13 | 14 => signed(&table[at + 1..next]),
            _ => 0,
        };
        end += 2 * (i64::from(head & 7) + 1);
        ranges.push((end, (kind != 15).then_some(line)));
        at = next;
    }
    Table { ranges, behind: None }
}

/// At most six groups of six bits.
fn signed(bytes: &[u8]) -> i64 {
    let (mut value, mut shift) = (0_i64, 0);
    for byte in bytes.iter().take(6) {
        value |= i64::from(byte & 63) << shift;
        shift += 6;
        if byte & 64 == 0 {
            break;
        }
    }
    if value & 1 == 1 { -(value >> 1) } else { value >> 1 }
}

fuzz_target!(|input: (u8, u32, u16, &[u8])| {
    let (kind, first, at, bytes) = input;
    let (how, table) = match kind % 3 {
        0 => (Lines::Increments, increments(bytes, first.into())),
        1 => (Lines::Ranges, ranges(bytes, first.into())),
        _ => (Lines::Locations, locations(bytes, first.into())),
    };
    let range = table.ranges.iter().find(|(end, _)| i64::from(at) < *end);
    let expected = range.map_or(table.behind, |(_, line)| *line);
    let expected = expected.and_then(|line| u32::try_from(line).ok());
    assert_eq!(line(how, bytes, first, at.into()), expected);
});
