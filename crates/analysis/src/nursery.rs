//! The young heap of a generational runtime, and the clock that ticks with it.
//!
//! A minor collection comes when the young heap is full; so what decides over a block's promotion is
//! not its age in seconds, but how much was allocated in the young heap since. That is estimated from
//! the samples: each birth moves the clock on by the bytes that it stands for.
//!
//! A block of the old heap is found dead by a major collection only, long after it died: it was alive
//! when the collection before the one that found it began to mark, so after the end of the one before
//! that. A trace need not tell of collections: those that found samples dead are seen by that.
//!
//! ```text
//!   collections        ┆ end of j-2      ┆ begin of j-1  ┆ end of j-1         ┆ end of j
//!   block   promoted ──┆─────────────────┆── alive ───────── ... dies ... ────┆ found dead
//!                      └ surely alive here                                    └ surely dead here
//! ```

/// Deaths that are told within this part of a young heap are of one collection.
const SAME_COLLECTION: f64 = 0.25;

/// How much was allocated in the young heap, and when major collections ended, on that clock.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Bytes of the young heap; not a number if unknown.
    nursery: f64,
    /// In bytes.
    now: f64,
    /// The last ends of major collections, the latest last; the first two are before the trace.
    ends: [f64; 3],
}

impl Clock {
    /// At the start, with a young heap of so many bytes.
    pub fn new(nursery: f64) -> Self {
        Self { nursery, now: 0.0, ends: [f64::NEG_INFINITY; 3] }
    }

    /// In bytes.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Young blocks were born.
    pub fn tick(&mut self, bytes: f64) {
        self.now += bytes;
    }

    /// A major collection found blocks dead. Gives the latest moment at which they surely lived, if
    /// they were in the old heap by then.
    pub fn find_dead(&mut self) -> f64 {
        let [_, before, last] = self.ends;
        let is_another = last + SAME_COLLECTION * self.nursery < self.now || last.is_infinite();
        if is_another {
            self.ends = [before, last, self.now];
        }
        self.ends[0]
    }

    /// The latest moment at which blocks surely lived that no collection found dead so far, if they were in the old
    /// heap by then.
    pub fn find_alive(&self) -> f64 {
        self.ends[1]
    }
}

/// The words of a young heap, as the parameters of OCaml's runtime have them: `s=262144`, in a list
/// with commas between.
pub fn minor_heap_words(parameters: &str) -> Option<u64> {
    let value = parameters.split(',').find_map(|parameter| parameter.trim().strip_prefix("s="))?;
    let (digits, shift) = match value.as_bytes().last()? {
        b'k' => (&value[..value.len() - 1], 10),
        b'M' => (&value[..value.len() - 1], 20),
        b'G' => (&value[..value.len() - 1], 30),
        _ => (value, 0),
    };
    let words = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (words > 0).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_name_the_young_heap() {
        let check = |parameters, expected| assert_eq!(minor_heap_words(parameters), expected);
        check("a=2,b=0,i=15,o=120,s=262144,v=0", Some(262_144));
        check("v=0x400, s=32k", Some(32_768));
        check("s=1M", Some(1 << 20));
        check("", None);
        check("os=1,s=0", None);
        check("s=", None);
        check("s=k", None);
        check("s=é", None);
        check("s=99999999999G", None);
    }

    #[test]
    fn a_block_lived_two_collections_before_it_was_found_dead() {
        let mut clock = Clock::new(100.0);
        let mut found_at = |ticks| {
            clock.tick(ticks);
            clock.find_dead()
        };
        assert_eq!(
            [500.0, 1.0, 900.0, 800.0].map(&mut found_at),
            [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, 500.0]
        );
        assert_eq!([0.0, 20.0, 100.0].map(&mut found_at), [500.0, 500.0, 1401.0]);
        assert_eq!((clock.find_alive(), clock.now()), (2201.0, 2321.0));
    }
}
