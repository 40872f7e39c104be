//! `slice`.

use std::fs;

use crate::conversion::{Place, check_refused};
use crate::*;

fn total(trace: &str, what: &str) -> u64 {
    json(&["info", trace, "--json"])["trace"][what].as_u64().unwrap()
}

/// The trace lasts 852 ms.
#[test]
fn neighbouring_slices_are_the_whole() {
    let place = Place::new();
    let (first, second) = (place.path("first.ctf"), place.path("second.ctf"));
    stdout(&["slice", SMALL, "--time", "-400ms", "-o", &first]);
    stdout(&["slice", SMALL, "--time", "400ms-", "-o", &second]);
    let both = |what| total(&first, what) + total(&second, what);
    assert_eq!(both("collections"), total(SMALL, "collections"));
    let living = total(&first, "samples") - total(&first, "collections");
    assert!(living > 10);
    assert_eq!(both("samples"), total(SMALL, "samples") + living);
    assert_eq!(total(&first, "duration_us"), 400_000);
    assert_eq!(both("duration_us"), total(SMALL, "duration_us"));
    let live = |trace: &str| json(&["report", trace, "--json"])["totals"]["live_at_end"].clone();
    assert_eq!(live(&second), live(SMALL));
}

#[test]
fn all_formats_and_pipes() {
    let place = Place::new();
    let (lt, a, b) = (place.path("t.lt"), place.path("a.ctf"), place.path("b.ctf"));
    stdout(&["convert", SMALL, &lt]);
    stdout(&["slice", SMALL, "--time", "100ms-300ms", "-o", &a]);
    stdout(&["slice", &lt, "--time", "100ms-300ms", "-o", &b]);
    assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap());
    let mut command = lifetrace(&["slice", "-", "--time", "100ms-300ms", "-o", "-"]);
    let input = fs::File::open(traces().join(SMALL)).unwrap();
    let output = command.stdin(input).output().unwrap();
    assert_eq!(text(&output.stderr), "");
    assert!(output.stdout == fs::read(&a).unwrap());
}

#[test]
fn times_that_make_no_sense() {
    let place = Place::new();
    let output = place.path("t.ctf");
    for time in ["10s", "-", "20s-10s", "1-2"] {
        let refused = run(&["slice", SMALL, "--time", time, "-o", &output]);
        assert_eq!(refused.status.code(), Some(2), "{time}");
    }
    let arguments = ["slice", SMALL, "--time", "2s-", "-o", &output];
    check_refused(&arguments, "ends before that\n  the trace lasts 852 ms");
    assert_eq!(place.len(), 0);
}

#[test]
fn a_damaged_trace_is_sliced_as_far_as_it_can_be_read() {
    let place = Place::new();
    let whole = fs::read(traces().join(SMALL)).unwrap();
    let cut = place.file("cut.ctf", &whole[..100_000]);
    let output = place.path("t.ctf");
    let arguments = ["slice", &cut, "--time", "100ms-", "-o", &output];
    check_refused(&arguments, "cut.ctf: byte 100000: the file ends");
    assert!(total(&output, "samples") > 100);
}
