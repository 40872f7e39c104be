//! What is live by `tracing` span: `cargo run --release --features tracing --example request_spans`.
//!
//! With a `SpanLayer` each sampled block knows the span that it was allocated in, by id and by path. The
//! same paths are the outermost frames of a trace's backtraces: `lifetrace report --view tree spans.lt`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use lifetrace::Recording;
use lifetrace::spans::SpanLayer;
use lifetrace::tracker::{Allocation, Release, Tracker, untracked};
use tracing::{Instrument, info_span};
use tracing_subscriber::layer::SubscriberExt;

#[global_allocator]
static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();

type Bytes = BTreeMap<String, f64>;

/// Bytes that live, by the path of the span that they were allocated in.
#[derive(Default)]
struct BySpan(Mutex<Bytes>);

impl BySpan {
    fn add(&self, path: &str, bytes: f64) {
        let mut live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *live.entry(path.to_owned()).or_default() += bytes;
    }
}

impl Tracker for BySpan {
    type Meta = (String, f64);

    fn alloc(&self, allocation: &Allocation) -> Option<(String, f64)> {
        let span = allocation.span.as_ref()?;
        let (path, bytes) = (span.path().join(" > "), allocation.stands_for.bytes);
        self.add(&path, bytes);
        Some((path, bytes))
    }

    fn free(&self, (path, bytes): (String, f64), _: &Release) {
        self.add(&path, -bytes);
    }
}

/// A request that waits between the parts of its answer, as others are served.
async fn request(number: usize) -> Vec<u8> {
    let mut answer = load(number).instrument(info_span!("load")).await;
    tokio::task::yield_now().await;
    answer.extend_from_slice(&answer.clone());
    answer
}

async fn load(number: usize) -> Vec<u8> {
    tokio::task::yield_now().await;
    vec![number as u8; 300_000]
}

async fn serve_all() -> Result<Bytes, Box<dyn std::error::Error>> {
    let by_span = Arc::new(BySpan::default());
    let recording = Recording::only(Arc::clone(&by_span)).interval(1);
    let session = recording.start()?;
    let serve = |number| tokio::spawn(request(number).instrument(info_span!("request")));
    let tasks: Vec<_> = (0..10).map(serve).collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await?);
    }
    let live = untracked(|| by_span.0.lock().unwrap_or_else(PoisonError::into_inner).clone());
    session.stop()?;
    Ok(live)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(SpanLayer::new()))?;
    for (path, bytes) in serve_all().await? {
        println!("{:8.0} KB live of what was allocated in {path}", bytes / 1e3);
    }
    Ok(())
}

#[tokio::test]
async fn the_parts_of_a_request_are_told_apart() {
    let subscriber = tracing_subscriber::registry().with(SpanLayer::new());
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let live = serve_all().await.unwrap();
    // The second half is added where the request is, to a block from where it was loaded; and there are the
    // answers' tasks.
    for path in ["request > load", "request"] {
        assert!((3e6..3.1e6).contains(&live[path]), "{path}: {}", live[path]);
    }
}
