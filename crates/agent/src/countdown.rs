//! A thread's countdown to its next hit, and the rate at which it was drawn.
//!
//! A session's rate may change while threads have countdowns of the rate before. Nobody writes to another thread's words,
//! so each thread goes on with what it has: its next sample is one more of the earlier rate, and the gap behind that is of
//! the rate of then. So at which rate a word is hit is settled before the word is drawn, and estimates stay without
//! bias, whatever the rate does, as long as each sample counts by its own: that is kept beside the countdown.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::random::Random;
use crate::sampler::{Rate, WORD};
use crate::session::Session;
use crate::thread::{self, COUNTING};
use crate::tls;

/// Nobody allocates so many words.
const FAR_WORDS: u64 = 1 << 59;

/// Bytes that nobody allocates.
const FAR: i64 = i64::MAX / 2;

/// Streams of random numbers for gaps while paused, beyond those that threads are numbered from.
const FIRST_PAUSED_STREAM: u64 = 1 << 32;

static PASSED_OVER: AtomicU64 = AtomicU64::new(0);

/// What was drawn for a block with hits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// How many of its words are hit, at least 1.
    pub hits: u64,
    /// At which rate: the probability of a word.
    pub rate: f64,
}

/// Draws the hits of the block that took the countdown below zero, and restarts it.
pub(crate) fn draw(session: &Session, random: &mut Random) -> Draw {
    let after = tls::countdown().wrapping_neg().max(WORD as i64) as u64 / WORD - 1;
    let now = session.rate();
    let then = drawn_at(session, now);
    let hits = then.hits(random, after);
    let has_changed = then.probability() != now.probability();
    restart(if has_changed { now.gap(random) } else { hits.gap }, &now);
    Draw { hits: hits.count, rate: then.probability() }
}

/// At which rate the countdown was drawn.
fn drawn_at(session: &Session, now: Rate) -> Rate {
    match tls::rate() {
        0 => session.first_rate(),
        bits if bits == now.probability().to_bits() => now,
        bits => Rate::per_word(f64::from_bits(bits)),
    }
}

/// The first countdown of a fresh thread; whether the block of `words` at hand is hit.
pub(crate) fn first(session: &Session, words: u64) -> bool {
    tls::set_state(COUNTING);
    restart_fresh(session);
    tls::take((words * WORD) as usize)
}

/// Restarts it with a stream of random numbers of its own.
pub(crate) fn restart_fresh(session: &Session) {
    let rate = session.rate();
    restart(rate.gap(&mut stream(session)), &rate);
}

/// Restarts it so that it does not end.
pub(crate) fn never() {
    tls::set_countdown(FAR);
}

/// Restarts it while recording is paused, or for ever if malloc is not to be sampled. The
/// gaps have no memory: whenever it goes on, what is left of the last one is as good as a fresh one. So
/// a thread that was fresh is fresh no more; it would else draw a first gap in place of the hit that this one leads to.
pub(crate) fn pass_over(session: &Session) {
    if tls::state() == 0 {
        tls::set_state(COUNTING);
    }
    let (settings, rate) = (session.header.settings(), session.rate());
    let gap = if !settings.sources.has_malloc() {
        FAR_WORDS
    } else if rate.probability() >= 1.0 {
        0
    } else {
        let stream = FIRST_PAUSED_STREAM + PASSED_OVER.fetch_add(1, Ordering::Relaxed);
        rate.gap(&mut Random::new(settings.seed, stream))
    };
    restart(gap, &rate);
}

fn restart(gap_words: u64, rate: &Rate) {
    tls::set_countdown((gap_words * WORD) as i64);
    tls::set_rate(rate.probability().to_bits());
}

fn stream(session: &Session) -> Random {
    Random::new(session.header.settings().seed, u64::from(thread::next_number()))
}
