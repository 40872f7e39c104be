//! Spans around what is allocated in them.

mod support;

use std::hint::black_box;
use std::sync::{Arc, Mutex};

use lifetrace::spans::SpanLayer;
use lifetrace::tracker::{Allocation, Release, Tracker, untracked};
use lifetrace::{Alloc, Recording};
use support::{Trace, turn};
use tracing::{Instrument, info_span};
use tracing_subscriber::layer::SubscriberExt;

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

/// Marks a block: nobody else allocates so much.
fn mark(number: usize) {
    black_box(Vec::<u8>::with_capacity(700_000 + number));
}

/// The spans around marked blocks, by their marks.
fn paths(trace: &Trace) -> Vec<(usize, String)> {
    let marked = trace.blocks.iter().filter(|block| (700_000..700_100).contains(&block.bytes));
    let mut paths: Vec<(usize, String)> = marked
        .map(|block| {
            let spans = block.functions.iter().take_while(|name| name.starts_with("span_"));
            let spans: Vec<_> = spans.map(String::as_str).collect();
            assert!(block.functions.iter().any(|name| name.contains("mark")), "{block:?}");
            ((block.bytes - 700_000) as usize, spans.join("/"))
        })
        .collect();
    paths.sort();
    paths
}

fn work() {
    mark(1);
    let outer = info_span!("span_outer");
    outer.in_scope(|| {
        mark(2);
        info_span!("span_inner").in_scope(|| mark(3));
        mark(4);
        // Another thread is in no span, unless it is told.
        let here = tracing::dispatcher::get_default(Clone::clone);
        let explicit = info_span!(parent: &outer, "span_task");
        std::thread::spawn(move || {
            tracing::dispatcher::with_default(&here, || {
                mark(5);
                explicit.in_scope(|| mark(6));
            });
        })
        .join()
        .unwrap();
    });
    mark(7);
    // Left in another order than entered.
    let (first, second) = (info_span!("span_first").entered(), info_span!("span_second").entered());
    drop(first);
    mark(8);
    drop(second);
    mark(9);
    // A task that is polled by turns.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let one = async {
            tokio::task::yield_now().await;
            mark(10);
        };
        let other = async {
            mark(11);
            tokio::task::yield_now().await;
            mark(12);
        };
        tokio::join!(
            one.instrument(info_span!("span_one")),
            other.instrument(info_span!("span_other"))
        );
    });
}

const EXPECTED: [&str; 12] = [
    "",
    "span_outer",
    "span_outer/span_inner",
    "span_outer",
    "",
    "span_outer/span_task",
    "",
    "span_first/span_second",
    "",
    "span_one",
    "span_other",
    "span_other",
];

fn expected() -> Vec<(usize, String)> {
    (1..).zip(EXPECTED.map(String::from)).collect()
}

#[test]
fn a_trace_has_them_outside_of_all_frames() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spans.lt");
    let subscriber = tracing_subscriber::registry().with(SpanLayer::new());
    tracing::subscriber::with_default(subscriber, || {
        // A second session has to be told all names again.
        for _ in 0..2 {
            let session = Recording::new(&path).interval(1).overwrite(true).start().unwrap();
            work();
            session.stop().unwrap();
            assert_eq!(paths(&Trace::read(&path)), expected());
        }
    });
}

#[derive(Default)]
struct Seen(Mutex<Vec<(usize, String)>>);

impl Tracker for Seen {
    type Meta = ();

    fn alloc(&self, allocation: &Allocation) -> Option<()> {
        let number = allocation.size.checked_sub(700_000).filter(|number| *number < 100)?;
        let path = allocation.span.as_ref().map(|span| {
            assert_ne!(span.id().into_u64(), 0);
            span.path().join("/")
        });
        self.0.lock().unwrap().push((number, path.unwrap_or_default()));
        None
    }

    fn free(&self, (): (), _: &Release) {}
}

#[test]
fn trackers_know_them() {
    let _turn = turn();
    let subscriber = tracing_subscriber::registry().with(SpanLayer::new());
    let seen = Arc::new(Seen::default());
    let session = Recording::only(Arc::clone(&seen)).interval(1).start().unwrap();
    tracing::subscriber::with_default(subscriber, work);
    session.stop().unwrap();
    let mut seen = untracked(|| std::mem::take(&mut *seen.0.lock().unwrap()));
    seen.sort();
    assert_eq!(seen, expected());
}

#[test]
fn deep_ones_are_in_the_last_that_there_is_room_for() {
    fn nested(depth: usize) {
        match depth {
            0 => mark(1),
            _ => info_span!("span_deep").in_scope(|| nested(depth - 1)),
        }
    }
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep.lt");
    let subscriber = tracing_subscriber::registry().with(SpanLayer::new());
    let session = Recording::new(&path).interval(1).start().unwrap();
    tracing::subscriber::with_default(subscriber, || nested(100));
    session.stop().unwrap();
    assert_eq!(paths(&Trace::read(&path)), [(1, ["span_deep"; 64].join("/"))]);
}
