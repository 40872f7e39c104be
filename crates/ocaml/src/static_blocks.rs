//! What `Gc.Memprof` is started with, in memory of our own. \[UNSAFE\]

use core::ptr::NonNull;

use lifetrace_agent::sys;

use crate::blocks::{Value, static_header};
use crate::thunks;

/// The tracker, its closures and the boxed rate, each with its header before it.
#[repr(C)]
pub(crate) struct StaticBlocks {
    rate_header: usize,
    rate: f64,
    tracker_header: usize,
    tracker: [usize; 5],
    closures: [[usize; 3]; 5],
}

impl StaticBlocks {
    /// In memory that stays; `None` when there is none.
    pub(crate) fn make(codes: [thunks::Code; 5], rate: f64) -> Option<&'static StaticBlocks> {
        const RECORD: usize = 0;
        const CLOSURE: usize = 247;
        const DOUBLE: usize = 253;
        /// Arity 1, and the environment begins after the two fields.
        const CLOSURE_INFO: usize = 1 << 56 | 2 << 1 | 1;
        let place = sys::map(size_of::<StaticBlocks>())?.cast::<StaticBlocks>();
        let closures = codes.map(|code| [static_header(2, CLOSURE), code as usize, CLOSURE_INFO]);
        let blocks = StaticBlocks {
            rate_header: static_header(1, DOUBLE),
            rate,
            tracker_header: static_header(5, RECORD),
            tracker: [0; 5],
            closures,
        };
        // SAFETY: fresh memory, large and aligned enough, which stays.
        unsafe {
            place.write(blocks);
            let blocks = &mut *place.as_ptr();
            for (field, closure) in blocks.tracker.iter_mut().zip(&blocks.closures) {
                *field = (&raw const closure[1]) as usize;
            }
            Some(blocks)
        }
    }

    pub(crate) fn rate(&self) -> Value {
        Value::block((&raw const self.rate).cast())
    }

    /// As [`make`](Self::make), in memory that was made before, and is in nobody's use.
    ///
    /// # Safety
    /// The runtime has none of these blocks now, and nobody else refers to them.
    pub(crate) unsafe fn with_rate(blocks: NonNull<Self>, rate: f64) -> &'static StaticBlocks {
        // SAFETY: by contract; memory of `make`'s, which stays.
        unsafe {
            (*blocks.as_ptr()).rate = rate;
            blocks.as_ref()
        }
    }

    pub(crate) fn tracker(&self) -> Value {
        Value::block(self.tracker.as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_the_runtime_expects_them() {
        unsafe extern "C" fn code() {}
        let blocks = StaticBlocks::make([code; 5], 0.25).unwrap();
        // SAFETY: blocks with headers.
        let (rate, closures) = unsafe { (blocks.rate().fields(), blocks.tracker().fields()) };
        assert_eq!((rate, closures.len()), (&[0.25f64.to_bits()][..], 5));
        for &closure in closures {
            // SAFETY: as above.
            let fields = unsafe { Value::of(closure as usize).fields() };
            assert_eq!((fields[0], fields.len()), (code as *const () as u64, 2));
        }
    }
}
