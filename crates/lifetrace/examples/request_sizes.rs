//! How large the blocks are that each kind of request allocates: `cargo run --release --example request_sizes`.
//!
//! A tracker counts what sampled blocks stand for by powers of two. What kind of request is served is known on
//! the thread that serves it, so the tracker is an inline one, and the count a cheap one.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use lifetrace::Recording;
use lifetrace::tracker::{Allocation, Release, Tracker, untracked};

#[global_allocator]
static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();

thread_local! {
    static KIND: Cell<&'static str> = const { Cell::new("no request") };
}

/// Objects by kind of request and by the power of two that their size is below.
type Histogram = BTreeMap<(&'static str, u32), f64>;

#[derive(Default)]
struct Sizes(Mutex<Histogram>);

impl Tracker for Sizes {
    type Meta = ();

    fn alloc(&self, allocation: &Allocation) -> Option<()> {
        let kind = KIND.try_with(Cell::get).ok()?;
        let power = usize::BITS - allocation.size.leading_zeros();
        let mut sizes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *sizes.entry((kind, power)).or_default() += allocation.stands_for.objects;
        // When they die is of no interest.
        None
    }

    fn free(&self, (): (), _: &Release) {}
}

fn serve(kind: &'static str, size: usize, count: usize) {
    KIND.set(kind);
    (0..count).for_each(|_| drop(std::hint::black_box(vec![0u8; size])));
    KIND.set("no request");
}

fn histogram() -> Result<Histogram, lifetrace::Error> {
    let sizes = Arc::new(Sizes::default());
    let session = Recording::only(Arc::clone(&sizes)).interval(16 << 10).seed(2).start()?;
    std::thread::scope(|scope| {
        scope.spawn(|| serve("GET /list", 3_000, 20_000));
        scope.spawn(|| serve("PUT /picture", 100_000, 2_000));
    });
    session.stop()?;
    Ok(untracked(|| std::mem::take(&mut *sizes.0.lock().unwrap_or_else(PoisonError::into_inner))))
}

fn main() -> Result<(), lifetrace::Error> {
    for ((kind, power), objects) in histogram()? {
        println!("{kind:14} below {:>10} bytes: about {objects:.0} objects", 1u64 << power);
    }
    Ok(())
}

#[test]
fn the_histogram_is_true() {
    let histogram = histogram().unwrap();
    for (kind, size, count) in
        [("GET /list", 3_000u32, 20_000.0), ("PUT /picture", 100_000, 2_000.0)]
    {
        let found = histogram[&(kind, 32 - size.leading_zeros())];
        assert!((found - count).abs() < 0.1 * count, "{kind}: {found} of {count}");
    }
}
