//! Whether a place can be reached by processes that have become another user.
//!
//! Root's programs often drop their rights (servers, `setpriv`, `su`). What they need of ours, the
//! library and the socket, must then lie where every user may pass; other users' programs keep
//! their identity, and any place of their own will do.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const OTHERS_MAY_PASS: u32 = 0o001;

/// Whether this process's children may become somebody else.
pub(crate) fn may_change_identity() -> bool {
    rustix::process::geteuid().is_root()
}

/// These places; for root, those that everybody can reach first.
pub(crate) fn best_first(mut places: Vec<PathBuf>) -> Vec<PathBuf> {
    if may_change_identity() {
        places.sort_by_cached_key(|place| !open_to_all(place));
    }
    places
}

/// Whether everybody may pass through all folders above `place`.
fn open_to_all(place: &Path) -> bool {
    place
        .ancestors()
        .skip(1)
        .filter(|above| *above != OsStr::new(""))
        .all(|above| above.metadata().is_ok_and(|metadata| metadata.mode() & OTHERS_MAY_PASS != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_closed_folder_above_closes_the_place() {
        let directory = tempfile::tempdir_in("/tmp").unwrap();
        let inner = directory.path().join("inner");
        fs::create_dir(&inner).unwrap();
        for (mode, open) in [(0o700, false), (0o711, true)] {
            fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(open_to_all(&inner), open);
        }
        assert!(open_to_all(directory.path()));
        assert!(!open_to_all(&directory.path().join("not/there")));
    }
}
