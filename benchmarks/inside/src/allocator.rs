//! The allocator that a feature has chosen, and what is recorded by it.

#[cfg(feature = "lifetrace")]
#[global_allocator]
static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();

#[cfg(feature = "dhat")]
#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Records until the result is dropped, if `RECORD` names a file.
#[cfg(feature = "lifetrace")]
pub fn start() -> Option<lifetrace::Session> {
    let output = std::env::var_os("RECORD")?;
    Some(lifetrace::record(output).expect("a session starts"))
}

/// Records until the result is dropped.
#[cfg(feature = "dhat")]
pub fn start() -> dhat::Profiler {
    dhat::Profiler::new_heap()
}

/// jemalloc's own profiler is started by `_RJEM_MALLOC_CONF`.
#[cfg(not(any(feature = "lifetrace", feature = "dhat")))]
pub fn start() {}
