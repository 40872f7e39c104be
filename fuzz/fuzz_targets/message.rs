//! Any bytes, as a broken agent or a damaged segment may have them: what is read as a message is read as the
//! same when it is written again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_transport::codec::{MAX_HEAD, MAX_LEN, decode, encode};
use lifetrace_transport::message::{BacktraceDelta, Body, Frames, Message, Run};

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = decode(bytes) else { return };
    let frames = match message.body {
        Body::Allocation { backtrace, .. } => backtrace.fresh,
        Body::Context { frames } => frames,
        _ => Frames::Words(&[]),
    };
    let words: Vec<u64> = frames.iter().collect();
    let runs = frames.runs().map(|(word, frames)| Run::new(word as u32, frames).0);
    let runs: Vec<u32> = runs.collect();
    let frames = match frames {
        Frames::RunBytes(_) => Frames::Runs(&runs),
        _ => Frames::Words(&words),
    };
    let message = in_memory(message, frames);
    let mut buffer = [0; MAX_HEAD];
    let written = encode(&message, &mut buffer);
    let again: Vec<u8> = written.head.iter().copied().chain(written.tail.bytes()).collect();
    // What is too long is cut.
    if bytes.len() <= MAX_LEN && again.len() == bytes.len() {
        assert_eq!(decode(&again), Ok(message));
    } else {
        assert!(decode(&again).is_ok() && again.len() <= MAX_LEN);
    }
});

/// Frames as an agent holds them.
fn in_memory<'a>(message: Message<'a>, frames: Frames<'a>) -> Message<'a> {
    let body = match message.body {
        Body::Allocation { id, size, samples, source, kind, backtrace } => {
            let backtrace = BacktraceDelta { fresh: frames, ..backtrace };
            Body::Allocation { id, size, samples, source, kind, backtrace }
        }
        Body::Context { .. } => Body::Context { frames },
        body => body,
    };
    Message { body, ..message }
}
