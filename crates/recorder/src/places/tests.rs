//! Places get codes, and codes are found again.

use proptest::prelude::*;

use super::*;

fn places() -> Places {
    let symbolizer = Arc::new(Symbolizer::start().unwrap());
    Places::new(symbolizer, ProcessImage::read(rustix::process::getpid()))
}

fn name(places: &Places, code: LocationCode) -> String {
    places.locate(code).locations[0].defname.to_string()
}

fn module(number: u64) -> Module<'static> {
    let start = 0x1000 * number;
    Module { bias: start, start, end: start + 0x800, build_id: b"", path: b"/no/lib.so" }
}

#[test]
fn renewal_keeps_what_is_used_under_new_codes() {
    let mut places = places();
    places.load(&module(1));
    let mut used = [places.code(0x1011), TRUNCATED, GROWTH, places.code(0x9000_0001)];
    let before = used;
    for address in 0..MOST_PLACES as u64 {
        places.code(0xa000_0000 + address);
    }
    assert!(places.are_many());
    places.renew(used.iter_mut());
    assert!(!places.are_many() && places.places.len() == 2);
    assert_eq!(used[1..3], before[1..3]);
    assert!(used[0] != before[0] && used[3] != before[3]);
    assert_eq!(name(&places, used[0]), "lib.so+0x10");
    assert_eq!(name(&places, used[3]), "0x90000000");
    // What is met again goes by its new code; what is new gets one that nobody has had.
    assert_eq!(places.code(0x1011), used[0]);
    let highest = before[3].0 + MOST_PLACES as u64;
    assert!(places.code(0xb000_0000).0 > highest);
}

#[test]
fn managed_frames_go_by_what_their_agent_has_told_and_keep_it() {
    let mut places = places();
    places.are_of(&crate::runtimes::ocaml::OCaml);
    let told = FrameName {
        frame: 5,
        kind: lifetrace_transport::message::FrameKind::default(),
        is_first: true,
        is_last: true,
        line: 7,
        start_char: 1,
        end_char: 2,
        function: b"Stdlib.List.map",
        file: b"list.ml",
    };
    places.name(&told);
    let frame = |number| MANAGED_FRAME | number;
    let mut used = [places.code(frame(5)), places.code(FRAMES_LEFT_OUT)];
    let unnamed = places.code(frame(6));
    assert_eq!(name(&places, used[0]), "Stdlib.List.map");
    assert_eq!(places.locate(used[0]).kind, FrameKind::OCaml);
    assert_eq!(name(&places, used[1]), LEFT_OUT_NAME);
    assert_eq!(name(&places, unnamed), "[unnamed frame 6]");
    places.renew(used.iter_mut());
    assert_eq!(name(&places, used[0]), "Stdlib.List.map");
    assert_eq!(name(&places, used[1]), LEFT_OUT_NAME);
    // A number may stand for an address.
    places.name_address(8, 0x1011);
    assert_eq!(places.code(frame(8)), places.code(0x1011));
    // One that was forgotten is met again.
    places.renew(std::iter::empty());
    let again = places.code(frame(5));
    assert_eq!(name(&places, again), "Stdlib.List.map");
    // Its own number and an address are different things.
    let address = places.code(5);
    assert_eq!(name(&places, address), "0x4");
}

proptest! {
    /// Known and new ones, alone and in a row.
    #[test]
    fn codes_are_put_as_one_by_one(
        backtraces in prop::collection::vec(
            prop::collection::vec((0..30u32, prop_oneof![9 => Just(1), 1 => 2..40usize]), 0..200),
            1..8,
        ),
    ) {
        let mut places = places();
        for runs in backtraces {
            let runs: Vec<u32> =
                runs.into_iter().map(|(number, frames)| Run::new(number, frames).0).collect();
            let bytes: Vec<u8> = runs.iter().flat_map(|run| run.to_le_bytes()).collect();
            let mut codes = vec![TRUNCATED];
            places.put_codes(&Frames::RunBytes(&bytes), &mut codes);
            let outward = Frames::Runs(&runs).iter().rev();
            let expected: Vec<LocationCode> = iter::once(TRUNCATED)
                .chain(outward.map(|frame| places.code(frame)))
                .collect();
            prop_assert_eq!(codes, expected);
        }
    }
}

#[test]
fn libraries_that_come_and_go_are_forgotten() {
    let mut places = places();
    for number in 1..=MOST_OBJECTS as u64 + 1 {
        places.load(&module(number));
        if number > 2 {
            places.unload(0x1000 * number);
        }
    }
    let mut used = [places.code(0x1011)];
    assert!(places.are_many());
    places.renew(used.iter_mut());
    assert_eq!(places.objects.len(), 2);
    let code = places.code(0x2021);
    assert_eq!(name(&places, code), "lib.so+0x20");
}
