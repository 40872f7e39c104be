//! Which `.cmt` files there are, and what they say.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use lifetrace_cmt::{ReadError, Unit, read};
use rustc_hash::FxHashSet;

/// Folders are not searched deeper.
const DEEPEST: usize = 64;

/// No file is read that is larger.
const LARGEST: u64 = 1 << 28;

/// What the files in some folders say of types.
#[derive(Debug, Default)]
pub struct Sources {
    pub(super) units: Vec<Found>,
    /// Units that these were compiled against, and of which there is no file.
    pub(super) missing: BTreeSet<String>,
    /// Files that could not be read, and why.
    pub(crate) complaints: Vec<String>,
}

/// A unit, and which half of it its file has.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) unit: Unit,
    pub(super) is_interface: bool,
}

impl Sources {
    /// The types of all `.cmt` and `.cmti` files in these folders and within them, and in those where the compiler found
    /// what they need.
    ///
    /// # Errors
    /// If a folder cannot be read, has no such file, or has files of a version that is not known.
    pub fn of(folders: &[PathBuf]) -> anyhow::Result<Sources> {
        let mut reading = Reading::default();
        for folder in folders {
            let mut files = BTreeSet::new();
            search(folder, 0, &mut files).with_context(|| folder.display().to_string())?;
            if files.is_empty() {
                bail!(
                    "{}: there is no .cmt file in it, nor in folders within it; compilers write them with -bin-annot",
                    folder.display()
                );
            }
            files.iter().try_for_each(|file| reading.file(file))?;
        }
        reading.follow();
        Ok(reading.sources)
    }
}

/// Those of a folder, or the file itself if it is one.
fn search(at: &Path, depth: usize, files: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    if is_cmt(at) && at.is_file() {
        files.insert(at.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(at)? {
        let (path, kind) = entry.and_then(|it| Ok((it.path(), it.file_type()?)))?;
        if kind.is_dir() && depth < DEEPEST {
            search(&path, depth + 1, files)?;
        } else if is_cmt(&path) && path.is_file() {
            files.insert(path);
        }
    }
    Ok(())
}

fn is_cmt(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "cmt" || it == "cmti")
}

#[derive(Default)]
struct Reading {
    sources: Sources,
    /// The hashes of what has been read: builds have copies.
    seen: FxHashSet<u64>,
    known: BTreeSet<String>,
    /// Where else units may be.
    folders: Vec<PathBuf>,
}

impl Reading {
    /// # Errors
    /// If the compiler that wrote it is not known.
    fn file(&mut self, path: &Path) -> anyhow::Result<()> {
        match self.unit(path) {
            Ok(()) => Ok(()),
            Err(error) if error.downcast_ref().is_some_and(is_version) => {
                Err(error.context(path.display().to_string()))
            }
            Err(error) => {
                self.sources.complaints.push(format!("{}: {error:#}", path.display()));
                Ok(())
            }
        }
    }

    fn unit(&mut self, path: &Path) -> anyhow::Result<()> {
        if fs::metadata(path)?.len() > LARGEST {
            bail!("is larger than what is read, 256 MiB");
        }
        let bytes = fs::read(path)?;
        let unit = read(&bytes)?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        if self.seen.insert(hasher.finish()) {
            self.note_folders(path, &unit);
            self.known.insert(unit.name.clone());
            let is_interface = path.extension().is_some_and(|it| it == "cmti");
            self.sources.units.push(Found { unit, is_interface });
        }
        Ok(())
    }

    /// Where the unit's imports may be: beside it, and where the compiler looked, if that still is there.
    fn note_folders(&mut self, path: &Path, unit: &Unit) {
        let own = path.parent().map(Path::to_owned);
        let theirs = unit.load_path.iter().map(PathBuf::from).filter(|it| it.is_absolute());
        for folder in own.into_iter().chain(theirs) {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
    }

    /// Reads what units were compiled against, and what these were, as far as it can be found.
    fn follow(&mut self) {
        loop {
            let imports = self.sources.units.iter().flat_map(|it| &it.unit.imports);
            let wanted: BTreeSet<String> = imports
                .filter(|name| !self.known.contains(*name) && !self.sources.missing.contains(*name))
                .cloned()
                .collect();
            if wanted.is_empty() {
                return;
            }
            for name in wanted {
                if !self.find(&name) {
                    self.sources.missing.insert(name);
                }
            }
        }
    }

    fn find(&mut self, name: &str) -> bool {
        let mut own = name.to_owned();
        if let Some(first) = own.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        for folder in self.folders.clone() {
            for file in [&own, name].map(|it| folder.join(it)) {
                let halves = ["cmt", "cmti"].map(|half| file.with_extension(half));
                let found = halves.iter().filter(|it| it.is_file() && self.unit(it).is_ok());
                if found.count() > 0 {
                    self.known.insert(name.to_owned());
                    return true;
                }
            }
        }
        false
    }
}

fn is_version(error: &ReadError) -> bool {
    matches!(error, ReadError::Version(_))
}
