//! What tells a build of a file from others.

use std::fs::File;

use object::Object;
use object::read::ReadCache;

/// Whether a file has this build id; an empty one is that of a file without any.
pub(super) fn has_build_id(file: &File, expected: &[u8]) -> bool {
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else { return false };
    object.build_id().is_ok_and(|found| found.unwrap_or_default() == expected)
}
