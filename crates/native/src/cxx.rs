//! C++ operator new and delete, under construction.
/// Looks up.
pub fn resolve() {}
