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

use crate::context::{DEEPEST, Place};
use crate::listening::untracked;
use crate::said::Told;
use crate::span;
pub use crate::span::Span;

/// Notes which span each thread is in. It needs a registry beneath
/// ([`tracing_subscriber::registry()`]).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SpanLayer;

/// What is kept with a span of the registry.
struct At(&'static Place);

/// By what they are in, and by their callsite.
type Places = HashMap<(Option<u32>, usize), &'static Place>;

static PLACES: Mutex<Option<Places>> = Mutex::new(None);

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
        if let Some(place) = place_in(outer, attributes.metadata()) {
            span.extensions_mut().insert(At(place));
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let place = context.span(id).and_then(|span| span.extensions().get::<At>().map(|at| at.0));
        span::enter(place.map(|place| (id.into_u64(), place)));
    }

    fn on_exit(&self, _: &Id, context: Context<'_, S>) {
        let span = context.lookup_current();
        span::enter(span.and_then(|span| {
            let place = span.extensions().get::<At>().map(|at| at.0)?;
            Some((span.id().into_u64(), place))
        }));
    }
}

/// What there is no room for is where its outer one is.
fn place_in(
    outer: Option<&'static Place>,
    span: &'static Metadata<'static>,
) -> Option<&'static Place> {
    let depth = outer.map_or(0, |outer| outer.depth + 1);
    if depth >= DEEPEST {
        return outer;
    }
    let key = (outer.map(|outer| outer.number), std::ptr::from_ref(span).addr());
    untracked(|| {
        let mut places = lock()?;
        let places = places.get_or_insert_default();
        if let Some(known) = places.get(&key) {
            return Some(*known);
        }
        let number = u32::try_from(places.len()).ok().filter(|_| places.len() < MOST)?;
        let place = Box::leak(Box::new(Place {
            outer,
            name: span.name(),
            file: span.file().unwrap_or_default(),
            line: span.line().unwrap_or_default(),
            number,
            depth,
            told: Told::new(),
        }));
        places.insert(key, place);
        Some(&*place)
    })
    .or(outer)
}

/// Not waited for without bound: in a forked child, its holder may be a thread that was left behind.
fn lock() -> Option<MutexGuard<'static, Option<Places>>> {
    for _ in 0..1000 {
        match PLACES.try_lock() {
            Ok(places) => return Some(places),
            Err(TryLockError::Poisoned(places)) => return Some(places.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}
