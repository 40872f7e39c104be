//! The folder in which files are kept, as elfutils' client lays it out: `<build id>/debuginfo`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For how long it is believed that no server has a file: as long as elfutils' client believes it, unless told otherwise.
pub const MISS_COUNTS: Duration = Duration::from_secs(600);

/// The folder.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// What the cache knows of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Here(PathBuf),
    /// No server had it, not long ago.
    Nowhere,
    Nothing,
}

impl Cache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(crate) fn look(&self, build_id: &str) -> Known {
        let path = self.path(build_id);
        let Ok(metadata) = path.metadata() else { return Known::Nothing };
        if metadata.len() > 0 {
            return Known::Here(path);
        }
        let age = metadata.modified().ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age < MISS_COUNTS) { Known::Nowhere } else { Known::Nothing }
    }

    /// Keeps a file that is acceptable, and says where.
    pub(crate) fn keep(
        &self,
        build_id: &str,
        content: &mut dyn Read,
        is_acceptable: &dyn Fn(&Path) -> bool,
    ) -> io::Result<PathBuf> {
        let folder = self.folder.join(build_id);
        fs::create_dir_all(&folder)?;
        let mut file = tempfile::Builder::new().prefix(".debuginfo-").tempfile_in(&folder)?;
        io::copy(content, file.as_file_mut())?;
        if !is_acceptable(file.path()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is of another build"));
        }
        let path = self.path(build_id);
        file.persist(&path)?;
        Ok(path)
    }

    /// Notes that no server has it. Where that cannot be noted they are asked again.
    pub(crate) fn note_miss(&self, build_id: &str) {
        let path = self.path(build_id);
        let _ = path.parent().map(fs::create_dir_all);
        let _ = File::create(path);
    }

    fn path(&self, build_id: &str) -> PathBuf {
        self.folder.join(build_id).join("debuginfo")
    }
}
