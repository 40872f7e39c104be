//! Any bytes: the reader must not panic, and must keep its promises to those who trust it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_fuzz::lt::read;

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes, true);
    let quick = read(bytes, false);
    assert!(whole <= quick, "backtraces are all that skipping them leaves out");
});
