//! Where pages are kept that nobody named: a folder that nobody else can look into.

use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::geteuid;
use tempfile::NamedTempFile;

/// Nobody but the user.
const PRIVATE: u32 = 0o700;

/// Another one than that of the library for programs, which others may look into.
const NAME: &str = "lifetrace-pages";
const SUFFIX: &str = ".html";

/// Older pages are removed: the traces that they are of are still there.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Longer names of programs are cut.
const LONGEST: usize = 40;

/// The folder.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The user's, which is made if it is not there.
    ///
    /// # Errors
    /// If there is no place for it, or what is there is not the user's alone.
    pub fn private() -> anyhow::Result<Self> {
        let folder = Self::within(&parent()?)?;
        folder.forget_old_pages();
        Ok(folder)
    }

    fn within(parent: &Path) -> anyhow::Result<Self> {
        let path = parent.join(NAME);
        let named = || format!("{}: a private folder for pages", path.display());
        match DirBuilder::new().mode(PRIVATE).create(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(error).with_context(named);
            }
            _ => {}
        }
        let is_private = is_private(&fs::symlink_metadata(&path).with_context(named)?);
        if !is_private {
            bail!(
                "{}: is not a folder that is yours alone (mode 0700)\n  remove it, or name a file: lifetrace export -F html TRACE -o FILE",
                path.display()
            );
        }
        Ok(Self(path))
    }

    /// A file for a page that is called so. It is removed unless it is kept.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new_page(&self, title: &str) -> anyhow::Result<NamedTempFile> {
        let prefix = file_name(title) + "-";
        let file = tempfile::Builder::new().prefix(&prefix).suffix(SUFFIX).tempfile_in(&self.0);
        file.with_context(|| self.0.display().to_string())
    }

    /// That some cannot be removed is of no account.
    fn forget_old_pages(&self) {
        let Ok(entries) = fs::read_dir(&self.0) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_page = path.extension().is_some_and(|it| it == "html");
            if is_page && age(&path).is_some_and(|age| age > KEPT) {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

fn age(path: &Path) -> Option<Duration> {
    fs::symlink_metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

/// A link to a folder is none.
fn is_private(metadata: &Metadata) -> bool {
    let is_ours = metadata.uid() == geteuid().as_raw();
    metadata.is_dir() && is_ours && metadata.mode() & 0o777 == PRIVATE
}

/// What the system gives a user for such things, or where caches are.
fn parent() -> anyhow::Result<PathBuf> {
    let folder = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let usable = |path: &PathBuf| path.is_absolute() && path.is_dir();
    if let Some(runtime) = folder("XDG_RUNTIME_DIR").filter(usable) {
        return Ok(runtime);
    }
    if let Some(cache) = folder("XDG_CACHE_HOME").filter(usable) {
        return Ok(cache);
    }
    let home = folder("HOME").filter(usable);
    let home = home.context("no folder for pages: neither XDG_RUNTIME_DIR nor HOME is one\n  name a file: lifetrace export -F html TRACE -o FILE")?;
    let cache = home.join(".cache");
    match DirBuilder::new().mode(PRIVATE).create(&cache) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(error).with_context(|| cache.display().to_string())
        }
        _ => Ok(cache),
    }
}

/// Letters and digits; what else there is becomes a hyphen.
fn file_name(title: &str) -> String {
    let safe = |it: char| if it.is_ascii_alphanumeric() || it == '.' { it } else { '-' };
    let name: String = title.chars().take(LONGEST).map(safe).collect();
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { "trace".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn names_of_files_are_harmless() {
        assert_eq!(file_name("redis-server"), "redis-server");
        assert_eq!(file_name("../../<b>\n ü"), "b");
        assert_eq!(file_name("\u{202e}"), "trace");
        assert_eq!(file_name(&"x".repeat(999)).len(), LONGEST);
    }

    #[test]
    fn a_folder_that_others_look_into_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::within(parent.path()).unwrap();
        assert!(folder.new_page("a b").unwrap().path().starts_with(parent.path()));
        assert!(Folder::within(parent.path()).is_ok());
        fs::set_permissions(&folder.0, Permissions::from_mode(0o755)).unwrap();
        assert!(Folder::within(parent.path()).is_err());
        fs::remove_dir(&folder.0).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::set_permissions(elsewhere.path(), Permissions::from_mode(PRIVATE)).unwrap();
        symlink(elsewhere.path(), &folder.0).unwrap();
        assert!(Folder::within(parent.path()).is_err());
    }

    #[test]
    fn old_pages_are_forgotten_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::within(parent.path()).unwrap();
        let make = |name: &str, is_old: bool| {
            let file = fs::File::create(folder.0.join(name)).unwrap();
            let time =
                std::time::SystemTime::now() - if is_old { 2 * KEPT } else { Duration::ZERO };
            file.set_modified(time).unwrap();
        };
        make("old.html", true);
        make("new.html", false);
        make("old.txt", true);
        folder.forget_old_pages();
        let mut left: Vec<_> =
            fs::read_dir(&folder.0).unwrap().map(|it| it.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["new.html", "old.txt"]);
    }
}
