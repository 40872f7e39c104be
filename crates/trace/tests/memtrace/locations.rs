//! Locations: limits, names, frames that are located again.

use lifetrace_trace::event::Location;
use lifetrace_trace::ids::LocationCode;
use lifetrace_trace::memtrace::Reader;

use crate::support::{START, allocation, codes, location, read_rest, read_whole, writer};

#[test]
fn locations_up_to_their_limits() {
    let wide = Location { start_char: 97, end_char: 1023, ..location("a.ml", 0xf_ffff, "f") };
    let inlined = Location { start_char: 97, end_char: 100, ..location("a.ml", 7, "g") };
    check_locations(&[wide.clone(), inlined.clone()], &[wide, inlined]);
}

#[test]
fn locations_beyond_their_limits_are_clamped() {
    let beyond = Location { start_char: 256, end_char: 1024, ..location("a.ml", u32::MAX, "f") };
    let clamped = Location { start_char: 255, end_char: 1023, ..location("a.ml", 0xf_ffff, "f") };
    check_locations(&[beyond], &[clamped]);
}

#[test]
fn locations_that_are_too_long_are_unknown() {
    let long = "x".repeat(60_000);
    let unknown = Location { start_char: 1, end_char: 1, ..location("<unknown>", 1, "??") };
    let unknown = std::slice::from_ref(&unknown);
    check_locations(&[location(&long, 1, "f")], unknown);
    check_locations(&[location("a.ml", 1, &long)], unknown);
    check_locations(&vec![location("a.ml", 1, "f"); 10_000], unknown);
    check_locations(&vec![location("", 1, ""); 256], unknown);
}

#[test]
fn many_short_locations_are_kept() {
    let many = vec![location("", 1, ""); 255];
    check_locations(&many, &many);
    let long = [location(&"x".repeat(4000), 1, "f")];
    check_locations(&long, &long);
}

#[test]
fn a_frame_may_have_no_location() {
    check_locations(&[], &[]);
}

#[test]
fn names_end_at_their_first_nul() {
    check_locations(&[location("a\0b", 1, "\0")], &[location("a", 1, "")]);
}

/// More names than the tables of recent ones have room for, in an order that uses all places.
#[test]
fn names_are_moved_to_the_front() {
    let place = |code: u64| {
        let (file, function) = (code % 37, code / 37 % 41);
        vec![location(&format!("file{file}"), code as u32, &format!("function{function}"))]
    };
    let frames: Vec<_> = (0..3000).map(|step: u64| step * step % 4099).collect();
    let mut writer = writer();
    for frame in &frames {
        let backtrace = codes(&[*frame]);
        writer.allocation(START, &allocation(&backtrace), &mut |code| place(code.0)).unwrap();
    }
    let trace = writer.finish().unwrap();
    let mut reader = Reader::open(&trace[..]).unwrap();
    read_rest(&mut reader).1.unwrap();
    for frame in frames {
        assert_eq!(reader.locations(LocationCode(frame)), place(frame), "{frame}");
    }
}

#[test]
fn frame_0_has_locations_too() {
    let mut writer = writer();
    let backtrace = codes(&[0, 0]);
    let place = location("a.c", 1, "main");
    let mut asked = 0;
    writer
        .allocation(START, &allocation(&backtrace), &mut |_| {
            asked += 1;
            vec![place.clone()]
        })
        .unwrap();
    let trace = writer.finish().unwrap();
    let mut reader = Reader::open(&trace[..]).unwrap();
    reader.next().unwrap();
    assert_eq!(reader.locations(LocationCode(0)), [place]);
    assert_eq!(asked, 1);
}

#[test]
fn locations_are_found_whatever_the_highest_bit() {
    let mut writer = writer();
    let backtrace = codes(&[1 << 63 | 5]);
    let place = location("a.c", 1, "main");
    writer.allocation(START, &allocation(&backtrace), &mut |_| vec![place.clone()]).unwrap();
    let trace = writer.finish().unwrap();
    let mut reader = Reader::open(&trace[..]).unwrap();
    reader.next().unwrap();
    assert_eq!(reader.locations(LocationCode(5)), [place]);
}

#[test]
fn a_frame_that_was_pushed_out_is_located_again() {
    let mut writer = writer();
    let mut asked = Vec::new();
    for code in [1 << 35, 2 << 35, 1 << 35] {
        let backtrace = codes(&[code]);
        let mut locate = |code: LocationCode| {
            asked.push(code.0 >> 35);
            vec![location("a.c", 1, "f")]
        };
        writer.allocation(START, &allocation(&backtrace), &mut locate).unwrap();
    }
    assert_eq!(asked, [1, 2, 1]);
    assert_eq!(read_whole(&writer.finish().unwrap()).len(), 3);
}

/// Writes one frame that stands for `written` and checks what it stands for when read.
#[track_caller]
fn check_locations(written: &[Location], expected: &[Location]) {
    let mut writer = writer();
    let backtrace = codes(&[77]);
    writer.allocation(START, &allocation(&backtrace), &mut |_| written.to_vec()).unwrap();
    let trace = writer.finish().unwrap();
    let mut reader = Reader::open(&trace[..]).unwrap();
    reader.next().unwrap();
    assert_eq!(reader.locations(LocationCode(77)), expected);
}
