//! Memory that no allocator sees.

pub(crate) mod kinds;

use std::hint::black_box;

use lifetrace_agent::sampler::{WORD, words};
use lifetrace_agent::tls;
use lifetrace_native::sample;
use lifetrace_transport::message::SampleId;

use crate::hooks;
use crate::listening::CallListener;
use crate::sampled::is_hit;

/// Stands for memory that no allocator sees, as long as it is there: see [`external`](fn@external).
#[derive(Debug)]
#[must_use = "the memory is taken to be free again when this is dropped"]
pub struct Token(u64);

/// What the token of memory that is no sample has in the place of a sample's number.
const NO_SAMPLE: u64 = u64::MAX;

/// Says that there are `bytes` more of a `kind` of memory that the global allocator does not see (a GPU's, a
/// pool's, mapped files), until the token is dropped: by any thread, and at any time.
///
/// They are sampled like allocations, at the same rate: a backtrace here, and a block of the trace whose
/// innermost frame is the kind, in brackets: `[gpu]`. Not sampled, a token costs a countdown, and its drop a
/// comparison; without a session it costs less. Of more than 4,095 kinds, the rest is `[other]`.
///
/// ```
/// struct Texture {
///     // ...
///     _memory: lifetrace::Token,
/// }
///
/// let texture = Texture { _memory: lifetrace::external("gpu", 4 << 20) };
/// ```
#[inline(always)]
pub fn external(kind: &'static str, bytes: usize) -> Token {
    let footprint = (words(bytes) * WORD) as usize;
    let may_be_hit = bytes > 0 && hooks::epoch() != 0 && tls::take_of(hooks::epoch(), footprint);
    // Were it the caller's last call, the caller would not be in the backtrace.
    Token(if may_be_hit { black_box(sampled(kind, bytes)) } else { NO_SAMPLE })
}

impl Token {
    /// Says that the memory has moved to where it is likely to stay longer, as blocks do that survive a
    /// generational collector's young heap: the trace has a promotion of it.
    pub fn promote(&self) {
        if self.0 != NO_SAMPLE {
            sample::external_promoted(&CallListener::new(), SampleId(self.0));
        }
    }
}

impl Drop for Token {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0 != NO_SAMPLE {
            given_back(SampleId(self.0));
        }
    }
}

#[cold]
#[inline(never)]
fn given_back(sample: SampleId) {
    sample::external_freed(&CallListener::new(), sample);
}

#[cold]
#[inline(never)]
fn sampled(kind: &'static str, bytes: usize) -> u64 {
    let listener = CallListener::new();
    if !is_hit(words(bytes)) {
        return NO_SAMPLE;
    }
    let sample =
        sample::external_allocated(&listener, bytes, |entered| kinds::send_name(entered, kind));
    sample.map_or(NO_SAMPLE, |sample| sample.0)
}
