//! The lifetrace command.
fn main() {}
