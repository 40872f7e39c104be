//! Measurements that are under way, and the tracker that they are made by.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::measurement::{Leak, Measurement};
use crate::backtrace::Backtrace;
use crate::listening::losses;
use crate::tracker::{Allocation, Release, Tracker};

/// Tells each block to the measurements that it is born in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scopes;

/// A measurement under way.
#[derive(Debug)]
pub(super) struct Scope {
    /// That of the same thread around it.
    outer: Option<Arc<Scope>>,
    book: Mutex<Book>,
    /// What had been lost when it began.
    lost_before: u64,
}

/// Keeps a scope open.
#[derive(Debug)]
pub(super) struct Open {
    scope: Arc<Scope>,
    is_process: bool,
}

/// A block, and where it has to be crossed out.
#[derive(Debug)]
pub(super) struct Entry {
    number: u64,
    scopes: Vec<Arc<Scope>>,
}

#[derive(Debug, Default)]
struct Book {
    is_closed: bool,
    blocks: u64,
    bytes: u64,
    live_bytes: u64,
    peak_bytes: u64,
    live: HashMap<u64, Live>,
}

#[derive(Debug)]
struct Live {
    bytes: u64,
    is_growth: bool,
    backtrace: Backtrace,
}

/// Those of all threads.
static PROCESS: Mutex<Vec<Arc<Scope>>> = Mutex::new(Vec::new());

static NEXT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static THREAD: RefCell<Option<Arc<Scope>>> = const { RefCell::new(None) };
}

impl Scopes {
    pub(super) fn enter_thread() -> Open {
        let outer = THREAD.with_borrow(Clone::clone);
        let scope = Scope::new(outer);
        THREAD.set(Some(Arc::clone(&scope)));
        Open { scope, is_process: false }
    }

    pub(super) fn enter_process() -> Open {
        let scope = Scope::new(None);
        process().push(Arc::clone(&scope));
        Open { scope, is_process: true }
    }
}

impl Scope {
    fn new(outer: Option<Arc<Scope>>) -> Arc<Scope> {
        Arc::new(Scope { outer, book: Mutex::default(), lost_before: losses() })
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// What there is now; nothing is added any more.
    pub(super) fn measurement(&self) -> Measurement {
        let mut book = self.scope.book();
        book.is_closed = true;
        let live = std::mem::take(&mut book.live);
        Measurement {
            allocated_blocks: book.blocks,
            allocated_bytes: book.bytes,
            peak_bytes: book.peak_bytes,
            leaked_blocks: live.values().filter(|live| !live.is_growth).count() as u64,
            leaked_bytes: book.live_bytes,
            lost: losses().saturating_sub(self.scope.lost_before),
            leaks: leaks(live),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.is_process {
            process().retain(|scope| !Arc::ptr_eq(scope, &self.scope));
        } else {
            // In a thread that is about to end there may be none.
            let _ = THREAD.try_with(|thread| thread.replace(self.scope.outer.clone()));
        }
    }
}

impl Tracker for Scopes {
    type Meta = Entry;

    fn alloc(&self, allocation: &Allocation) -> Option<Entry> {
        let innermost = THREAD.try_with(|thread| thread.borrow().clone()).ok().flatten();
        let of_thread = std::iter::successors(innermost, |scope| scope.outer.clone());
        let scopes: Vec<Arc<Scope>> = of_thread.chain(process().iter().cloned()).collect();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        scopes.iter().for_each(|scope| scope.book().born(number, allocation));
        (!scopes.is_empty()).then_some(Entry { number, scopes })
    }

    fn free(&self, entry: Entry, _: &Release) {
        entry.scopes.iter().for_each(|scope| scope.book().died(entry.number));
    }
}

impl Book {
    fn born(&mut self, number: u64, allocation: &Allocation) {
        if self.is_closed {
            return;
        }
        let (bytes, is_growth) = (allocation.size as u64, allocation.is_growth);
        self.blocks += u64::from(!is_growth);
        self.bytes += bytes;
        self.live_bytes += bytes;
        self.peak_bytes = self.peak_bytes.max(self.live_bytes);
        let backtrace = allocation.backtrace.clone();
        self.live.insert(number, Live { bytes, is_growth, backtrace });
    }

    fn died(&mut self, number: u64) {
        if let Some(live) = self.live.remove(&number) {
            self.live_bytes -= live.bytes;
        }
    }
}

/// By backtrace, most bytes first.
fn leaks(live: HashMap<u64, Live>) -> Vec<Leak> {
    let mut by_backtrace: HashMap<Backtrace, (u64, u64)> = HashMap::new();
    for Live { bytes, is_growth, backtrace } in live.into_values() {
        let sum = by_backtrace.entry(backtrace).or_default();
        *sum = (sum.0 + u64::from(!is_growth), sum.1 + bytes);
    }
    let leak = |(backtrace, (blocks, bytes))| Leak { blocks, bytes, backtrace };
    let mut leaks: Vec<Leak> = by_backtrace.into_iter().map(leak).collect();
    leaks.sort_by(|one, other| {
        let addresses = || one.backtrace.addresses().cmp(other.backtrace.addresses());
        other.bytes.cmp(&one.bytes).then_with(addresses)
    });
    leaks
}

fn process() -> MutexGuard<'static, Vec<Arc<Scope>>> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}
