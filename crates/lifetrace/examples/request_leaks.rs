//! Which requests leave memory behind: `cargo run --release --example request_leaks`.
//!
//! A tracker notes with each sampled block which request it was allocated for. When a request is over, what
//! is left of it is either a cache's or a leak.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lifetrace::tracker::{Allocation, Release, Tracker, untracked};
use lifetrace::{Backtrace, Recording};

#[global_allocator]
static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();

thread_local! {
    /// The request that this thread serves; 0 is none.
    static REQUEST: Cell<u64> = const { Cell::new(0) };
}

/// Blocks that live, by request and by a number.
#[derive(Default)]
struct ByRequest(Mutex<HashMap<u64, HashMap<u64, Live>>>);

struct Live {
    /// What the block stands for.
    bytes: f64,
    backtrace: Backtrace,
}

struct Meta {
    request: u64,
    block: u64,
}

impl Tracker for ByRequest {
    type Meta = Meta;

    fn alloc(&self, allocation: &Allocation) -> Option<Meta> {
        // In a thread that is about to end there may be none.
        let request = REQUEST.try_with(Cell::get).ok().filter(|request| *request != 0)?;
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let live = requests.entry(request).or_default();
        let block = live.keys().max().map_or(0, |last| last + 1);
        let bytes = allocation.stands_for.bytes;
        live.insert(block, Live { bytes, backtrace: allocation.backtrace.clone() });
        Some(Meta { request, block })
    }

    fn free(&self, Meta { request, block }: Meta, _: &Release) {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = requests.get_mut(&request) {
            live.remove(&block);
        }
    }
}

impl ByRequest {
    /// Serves a request, and takes what is left of it from the tracker.
    fn serve(&self, request: u64, work: impl FnOnce()) -> Vec<Live> {
        REQUEST.set(request);
        work();
        REQUEST.set(0);
        untracked(|| {
            let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            requests.remove(&request).unwrap_or_default().into_values().collect()
        })
    }
}

/// Every third request forgets what it has made.
fn answer(request: u64) {
    let page = std::hint::black_box(vec![b'x'; 200_000]);
    if request.is_multiple_of(3) {
        std::mem::forget(page);
    }
}

fn serve_all(requests: u64) -> Result<Vec<(u64, Vec<Live>)>, lifetrace::Error> {
    let by_request = Arc::new(ByRequest::default());
    let session = Recording::only(Arc::clone(&by_request)).interval(64 << 10).seed(1).start()?;
    let serve = |request| (request, by_request.serve(request, || answer(request)));
    let left: Vec<_> = (1..=requests).map(serve).filter(|(_, left)| !left.is_empty()).collect();
    session.stop()?;
    Ok(left)
}

fn main() -> Result<(), lifetrace::Error> {
    for (request, left) in serve_all(20)? {
        let bytes: f64 = left.iter().map(|live| live.bytes).sum();
        println!("request {request} has left about {:.0} KB", bytes / 1e3);
        print!("{}", left[0].backtrace);
    }
    Ok(())
}

#[test]
fn only_those_that_leak_are_found() {
    let left = serve_all(30).unwrap();
    assert!(left.len() >= 8, "{} of 10", left.len());
    for (request, left) in &left {
        assert!(request.is_multiple_of(3));
        assert!(left[0].backtrace.to_string().contains("answer"), "{}", left[0].backtrace);
    }
}
