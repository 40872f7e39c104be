//! A program whose allocator is not ours.

use lifetrace::{Alloc, Error};

static UNUSED: Alloc = Alloc::system();

#[test]
fn a_program_that_cannot_be_heard_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.lt");
    let error = lifetrace::record(&path).unwrap_err();
    assert!(matches!(error, Error::NoAllocator));
    assert!(error.to_string().contains("#[global_allocator]"), "{error}");
    assert!(!path.exists());
    assert!(format!("{UNUSED:?}").contains("System"));
}
