//! The file system as a process sees it, for as long as we like.
//!
//! A process in a container, or behind chroot(2), has a root of its own, to which `/proc/<pid>/root` leads only while it
//! runs: a program may end before its first backtrace is looked at. So its root and its working directory are held open
//! from its hello on, and paths are followed from there, the symbolic links in them too (`openat2`, from Linux 5.6 on).

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::{Errno, Result};

use crate::mapped_files::open_regular;

/// What a process has as its root and its working directory; nothing where the system does not let us see it.
#[derive(Debug)]
pub(crate) struct View {
    root: Option<OwnedFd>,
    working: Option<OwnedFd>,
}

impl View {
    /// That of a process now, by its folder of `/proc`.
    pub(crate) fn of(process: &Path) -> View {
        let open = |name| openat(CWD, process.join(name), PLACE | OFlags::DIRECTORY, Mode::empty());
        View { root: open("root").ok(), working: open("cwd").ok() }
    }

    /// The regular file that it would open by this name.
    pub(crate) fn open(&self, name: &Path) -> Option<File> {
        let place = match name.is_absolute() {
            true => from_root(self.root.as_ref()?, name),
            false => openat(self.working.as_ref()?, name, PLACE, Mode::empty()),
        };
        let place = place.ok()?;
        open_regular(Path::new(&format!("/proc/self/fd/{}", place.as_raw_fd())))
    }
}

/// To open it so has no effect on what it is, be it a device or a pipe.
const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

fn from_root(root: &OwnedFd, name: &Path) -> Result<OwnedFd> {
    match openat2(root, name, PLACE, Mode::empty(), ResolveFlags::IN_ROOT) {
        // Filters of system calls refuse what they do not know.
        Err(Errno::NOSYS | Errno::PERM) => {
            openat(root, name.strip_prefix("/").unwrap_or(name), PLACE, Mode::empty())
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    fn text(file: Option<File>) -> Option<String> {
        let mut text = String::new();
        file?.read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// A folder that looks like one of `/proc`, of a process whose root is `inside`.
    fn process() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("inside/lib")).unwrap();
        std::fs::create_dir_all(at("inside/alternatives")).unwrap();
        std::fs::write(at("inside/alternatives/it.so.1"), "theirs").unwrap();
        symlink("/alternatives/it.so.1", at("inside/lib/it.so")).unwrap();
        symlink(at("inside"), at("root")).unwrap();
        symlink(at("inside/lib"), at("cwd")).unwrap();
        folder
    }

    #[test]
    fn links_lead_where_they_lead_in_its_root() {
        let folder = process();
        let view = View::of(folder.path());
        assert_eq!(text(view.open(Path::new("/lib/it.so"))).as_deref(), Some("theirs"));
        assert_eq!(
            text(view.open(Path::new("../alternatives/it.so.1"))).as_deref(),
            Some("theirs")
        );
    }

    #[test]
    fn it_outlives_the_process() {
        let folder = process();
        let view = View::of(folder.path());
        std::fs::remove_file(folder.path().join("root")).unwrap();
        assert_eq!(text(view.open(Path::new("/lib/it.so"))).as_deref(), Some("theirs"));
        assert!(View::of(folder.path()).open(Path::new("/lib/it.so")).is_none());
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = process();
        let view = View::of(folder.path());
        assert!(view.open(Path::new("/lib")).is_none());
        assert!(view.open(Path::new("/no/such.so")).is_none());
    }
}
