//! What is in a folder of traces, by the names of its files alone.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use lifetrace_trace::ids::Timestamp;

use super::name;

/// A trace in a folder, as its name tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderTrace {
    /// The process that it is of.
    pub pid: u32,
    /// What that was run as.
    pub program: String,
    /// When it begins, in UTC, as `20261127T165500Z`.
    pub start: String,
    /// Of several that begin in the same second, the first is 1.
    pub number: u32,
    /// Where it is when it is finished.
    pub path: PathBuf,
    /// Whether it is; until then it has another name.
    pub is_finished: bool,
}

/// All traces in a folder, the earlier first; none if it cannot be read.
pub fn traces_in(folder: &Path) -> Vec<FolderTrace> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<_> =
        entries.filter_map(|entry| FolderTrace::of(folder, entry.file_name().to_str()?)).collect();
    all.sort_by(|a, b| (&a.start, a.number).cmp(&(&b.start, b.number)));
    // One that is renamed meanwhile may be met twice.
    all.dedup_by(|later, earlier| later.path == earlier.path);
    all
}

impl FolderTrace {
    fn of(folder: &Path, file_name: &str) -> Option<Self> {
        let (finished, part) = (name::understand(file_name), name::of_part(file_name));
        let known = finished.or_else(|| name::understand(part?))?;
        Some(Self {
            pid: known.pid,
            program: known.program.to_owned(),
            start: known.start.to_owned(),
            number: known.number,
            path: folder.join(part.unwrap_or(file_name)),
            is_finished: finished.is_some(),
        })
    }

    /// Whether it comes after another one of its process.
    pub fn is_after(&self, other: &Self) -> bool {
        (&self.start, self.number) > (&other.start, other.number)
    }

    /// Whether it begins then or later, to the second.
    pub fn begins_since(&self, time: Timestamp) -> bool {
        *self.start >= *name::time(time)
    }

    /// What it is called when it is finished; another one that goes on from it says so.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Where it is now, as far as one can say: it is renamed when it is finished.
    pub fn place(&self) -> PathBuf {
        let part = name::part(&self.path);
        if !self.is_finished && part.exists() { part } else { self.path.clone() }
    }

    /// Whether it is not there any more.
    pub fn is_gone(&self) -> bool {
        !self.path.exists() && !name::part(&self.path).exists() && !self.path.exists()
    }

    /// Opens it, whether it is finished or not.
    ///
    /// # Errors
    /// The file system's.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.path).or_else(|_| File::open(name::part(&self.path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_in_their_order_whether_they_are_finished_or_not() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "lifetrace.a.7.20261127T165501Z.lt",
            "lifetrace.a.b.8.20261127T165500Z.2.lt",
            "lifetrace.a.b.8.20261127T165500Z.10.lt",
            ".lifetrace.a.7.20261127T165502Z.lt.part",
            "lifetrace.a.7.20261127T165501Z.1.lth",
            ".lifetrace.lock",
            "other",
        ] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let all = traces_in(folder.path());
        let told: Vec<_> =
            all.iter().map(|it| (it.program.as_str(), it.pid, it.number, it.is_finished)).collect();
        assert_eq!(
            told,
            [("a.b", 8, 2, true), ("a.b", 8, 10, true), ("a", 7, 1, true), ("a", 7, 1, false)]
        );
        assert!(all.iter().all(|it| it.open().is_ok() && it.place().exists()));
        assert_eq!(all[3].path.file_name().unwrap(), "lifetrace.a.7.20261127T165502Z.lt");
        assert!(all[3].is_after(&all[2]) && all[1].is_after(&all[0]));
        let time = Timestamp(1_795_798_501_999_999);
        assert_eq!(name::time(time), "20261127T165501Z");
        assert_eq!([0, 2, 3].map(|at| all[at].begins_since(time)), [false, true, true]);
        assert_eq!(all[3].name(), "lifetrace.a.7.20261127T165502Z.lt");
        assert!(traces_in(Path::new("/nonexistent")).is_empty());
    }
}
