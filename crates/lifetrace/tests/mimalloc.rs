//! Sessions of a program whose allocator is mimalloc.

mod support;

use lifetrace::Alloc;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOC: Alloc<MiMalloc> = Alloc::new(MiMalloc);

#[test]
fn it_is_heard_like_any_other() {
    support::inside::check();
}
