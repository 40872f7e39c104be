//! Sessions of a program whose allocator is jemalloc.

mod support;

use lifetrace::Alloc;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOC: Alloc<Jemalloc> = Alloc::new(Jemalloc);

#[test]
fn it_is_heard_like_any_other() {
    support::inside::check();
}
