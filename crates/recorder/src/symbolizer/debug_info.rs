//! Whether the functions of a file have lines, for somebody who wants to know before recording it.

use std::io;
use std::path::{Path, PathBuf};

use object::Object;
use object::read::ReadCache;

use super::elsewhere;
use super::forms::Forms;
use crate::mapped_files::open_regular;

/// Where files and lines of functions come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebugInfo {
    /// The file itself.
    Inside,
    /// A file of its own, as distributions' packages of debug information have.
    Beside(PathBuf),
    /// Nowhere on this machine; functions have names as far as the file has symbols.
    Nowhere {
        /// What servers of debug information know the file by; empty if it has none.
        build_id: Vec<u8>,
    },
}

impl DebugInfo {
    /// Looks for what a program or library has.
    ///
    /// # Errors
    /// If there is no such file, or it is no program or library.
    pub fn of(path: &Path) -> io::Result<DebugInfo> {
        let path = path.canonicalize()?;
        let file = open_regular(&path).ok_or(io::ErrorKind::NotFound)?;
        if Forms::of(&file).has_any {
            return Ok(DebugInfo::Inside);
        }
        let cache = ReadCache::new(&file);
        let object = object::File::parse(&cache)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let build_id = object.build_id().ok().flatten().unwrap_or_default().to_vec();
        let beside = elsewhere::debug_file(Some(&file), path.parent(), &build_id);
        Ok(beside.map_or(DebugInfo::Nowhere { build_id }, DebugInfo::Beside))
    }
}
