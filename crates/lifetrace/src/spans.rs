//! The `tracing` spans that threads are in, as the outermost frames of their backtraces.
//!
//! In an asynchronous program a stack says which executor polls, and not for whom. With a [`SpanLayer`] among
//! the program's layers, backtraces begin with the spans that the thread was in, outermost first, each at the
//! place in the source where it is made. So a report's call tree is one of requests, and what a
//! request does, before it is one of functions; and [trackers](crate::tracker) know the span as well.
//!
//! ```
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let subscriber = tracing_subscriber::registry().with(lifetrace::spans::SpanLayer::new());
//! tracing::subscriber::with_default(subscriber, || {
//!     let _request = tracing::info_span!("request").entered();
//!     // Samples from here on have a frame `request` outside of `main`.
//! });
//! ```
//!
//! To enter or to leave a span costs a look at the registry more, sampled or not. Spans are known by their names, not by
//! their fields; beyond 64 inside one another, or 65,536 different paths, the next outer one stands for them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, TryLockError};

use tracing_core::span::{Attributes, Id};
use tracing_core::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::context::{DEEPEST, SpanPath};
use crate::listening::untracked;
use crate::name_once::NameOnce;
use crate::span;
pub use crate::span::Span;

/// Notes which span each thread is in. It needs a registry beneath
/// ([`tracing_subscriber::registry()`]).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SpanLayer;

/// What is kept with a span of the registry.
struct At(&'static SpanPath);

/// By what they are in, and by their callsite.
type SpanPaths = HashMap<(Option<u32>, usize), &'static SpanPath>;

static PATHS: Mutex<Option<SpanPaths>> = Mutex::new(None);

const MOST: usize = 1 << 16;

impl SpanLayer {
    /// A layer; one is enough.
    pub const fn new() -> SpanLayer {
        SpanLayer
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let outer = span.parent().and_then(|parent| parent.extensions().get::<At>().map(|at| at.0));
        if let Some(path) = path_in(outer, attributes.metadata()) {
            span.extensions_mut().insert(At(path));
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let path = context.span(id).and_then(|span| span.extensions().get::<At>().map(|at| at.0));
        span::enter(path.map(|path| (id.into_u64(), path)));
    }

    fn on_exit(&self, _: &Id, context: Context<'_, S>) {
        let span = context.lookup_current();
        span::enter(span.and_then(|span| {
            let path = span.extensions().get::<At>().map(|at| at.0)?;
            Some((span.id().into_u64(), path))
        }));
    }
}

/// What there is no room for is where its outer one is.
fn path_in(
    outer: Option<&'static SpanPath>,
    span: &'static Metadata<'static>,
) -> Option<&'static SpanPath> {
    let depth = outer.map_or(0, |outer| outer.depth + 1);
    if depth >= DEEPEST {
        return outer;
    }
    let key = (outer.map(|outer| outer.number), std::ptr::from_ref(span).addr());
    untracked(|| {
        let mut paths = lock()?;
        let paths = paths.get_or_insert_default();
        if let Some(known) = paths.get(&key) {
            return Some(*known);
        }
        let number = u32::try_from(paths.len()).ok().filter(|_| paths.len() < MOST)?;
        let path = Box::leak(Box::new(SpanPath {
            outer,
            name: span.name(),
            file: span.file().unwrap_or_default(),
            line: span.line().unwrap_or_default(),
            number,
            depth,
            sent: NameOnce::new(),
        }));
        paths.insert(key, path);
        Some(&*path)
    })
    .or(outer)
}

/// Not waited for without bound: in a forked child, its holder may be a thread that was left behind.
fn lock() -> Option<MutexGuard<'static, Option<SpanPaths>>> {
    for _ in 0..1000 {
        match PATHS.try_lock() {
            Ok(paths) => return Some(paths),
            Err(TryLockError::Poisoned(paths)) => return Some(paths.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}
