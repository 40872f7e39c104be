//! Any bytes, as a damaged segment may have them where patches are: what is read as a patch is read as the
//! same when it is written again, and is put anywhere or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_transport::patch::{JUMP, LEN, MOST_MOVED, MOST_ORIGINAL, Patch};

fuzz_target!(|input: ([u8; LEN], u64)| {
    let (bytes, place) = input;
    let Some(patch) = Patch::from_bytes(&bytes) else { return };
    assert_eq!(Patch::from_bytes(&patch.to_bytes()), Some(patch));
    assert!((JUMP..=MOST_ORIGINAL).contains(&patch.original().len()));
    if let Some((_, length)) = patch.code_at(place) {
        assert!(length <= MOST_MOVED);
    }
    if let Some(jump) = patch.jump_to(place) {
        let distance = i32::from_le_bytes([jump[1], jump[2], jump[3], jump[4]]);
        let end = patch.address + JUMP as u64;
        assert_eq!(end.wrapping_add_signed(distance.into()), place);
    }
});
