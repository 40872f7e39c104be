//! The span that a thread is in.

use std::cell::Cell;
use std::fmt;

use tracing_core::span::Id;

use crate::context::SpanPath;

/// A span that a thread is in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Span {
    id: Id,
    path: &'static SpanPath,
}

thread_local! {
    static CURRENT: Cell<Option<(u64, &'static SpanPath)>> = const { Cell::new(None) };
}

/// The one that this thread is in.
pub(crate) fn current() -> Option<Span> {
    CURRENT.get().map(|(id, path)| Span { id: Id::from_u64(id), path })
}

/// The path of that one.
pub(crate) fn path() -> Option<&'static SpanPath> {
    CURRENT.get().map(|(_, path)| path)
}

/// From now on this thread is in that span, which has this path; or in none.
pub(crate) fn enter(span: Option<(u64, &'static SpanPath)>) {
    CURRENT.set(span);
}

impl Span {
    /// As the registry knows it, while the span is open.
    pub fn id(&self) -> Id {
        self.id.clone()
    }

    /// The names of the spans that it is in, outermost first, its own last.
    pub fn path(&self) -> Vec<&'static str> {
        let mut path: Vec<_> =
            std::iter::successors(Some(self.path), |path| path.outer).map(|it| it.name).collect();
        path.reverse();
        path
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Span({:?}, {})", self.id, self.path().join("/"))
    }
}

impl PartialEq for SpanPath {
    fn eq(&self, other: &SpanPath) -> bool {
        self.number == other.number
    }
}

impl Eq for SpanPath {}

impl std::hash::Hash for SpanPath {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}
