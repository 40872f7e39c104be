//! Any bytes: they are a request, or are not yet, or never will be; and who has not the token may not ask.
//!
//! What comes in pieces is the same as what comes at once, and what is asked for is within its bounds.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use lifetrace_serve::guard::{Stranger, admit};
use lifetrace_serve::http::request::{Head, LONGEST, read};
use lifetrace_serve::http::{Address, Request};
use lifetrace_serve::route::{self, MOST_SECONDS, Route};
use lifetrace_serve::token::Token;

/// Nobody guesses it.
static TOKEN: LazyLock<Token> = LazyLock::new(|| Token::random().expect("random numbers"));

fuzz_target!(|bytes: &[u8]| {
    match read(bytes) {
        Head::Whole(request) => judge(bytes, &request),
        Head::Partial => assert!(bytes.len() < LONGEST),
        Head::Malformed => {}
    }
    if let Ok(Address::Loopback(address)) = String::from_utf8_lossy(bytes).parse() {
        assert!(address.ip().is_loopback());
    }
});

fn judge(bytes: &[u8], request: &Request) {
    for length in 0..bytes.len() {
        match read(&bytes[..length]) {
            Head::Whole(earlier) => return assert_eq!(*earlier, *request),
            Head::Partial => {}
            Head::Malformed => panic!("{length} bytes of a request are none"),
        }
    }
    assert!(admit(request, &TOKEN).is_err());
    let authorization = Some(format!("Bearer {}", TOKEN.reveal()));
    let known = Request { authorization, ..request.clone() };
    assert_ne!(admit(&known, &TOKEN), Err(Stranger::Token));
    match route::of(request) {
        Ok(Route::Profile { pid, seconds, .. }) => {
            assert!(pid > 0 && seconds.is_none_or(|it| (1..=MOST_SECONDS).contains(&it)));
        }
        Ok(Route::Trace { pid, minutes } | Route::Report { pid, minutes, .. }) => {
            assert!(pid > 0 && minutes != Some(0));
        }
        _ => {}
    }
}
