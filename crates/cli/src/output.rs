//! Where a trace is written to.
//!
//! A file appears under its name only when it is complete; until then it is a temporary file beside
//! it. Devices, pipes and standard output (`-`) are written directly. Nothing is overwritten unasked,
//! and never the input itself.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::fs::{FileType, fstat};
use tempfile::NamedTempFile;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// May be shown on a terminal.
    Text,
    /// May not; so messages call it.
    Binary(&'static str),
}

/// A place that can be written to.
#[derive(Debug)]
pub struct Output {
    /// As messages call it.
    name: String,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// A regular file; whether one that is there may be replaced.
    File {
        path: PathBuf,
        force: bool,
    },
    /// Something that cannot be replaced.
    Stream(File),
    Stdout,
}

/// A file, whatever it is called.
type Identity = (u64, u64);

impl Output {
    /// A file for a trace, or standard output if the path is `-`. `input` is what is being read, by
    /// its path.
    ///
    /// # Errors
    /// If it must not be overwritten, or cannot be written to.
    pub fn new(path: &Path, input: &Path, force: bool) -> anyhow::Result<Self> {
        Self::of(Content::Binary("a trace"), path, input, force)
    }

    /// A file for something that is no trace, or standard output if the path is `-`.
    ///
    /// # Errors
    /// If it must not be overwritten, or cannot be written to.
    pub fn of(content: Content, path: &Path, input: &Path, force: bool) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Self::stdout(content, input);
        }
        let name = path.display().to_string();
        let target = match fs::metadata(path) {
            Err(_) => Target::File { path: path.to_owned(), force },
            Ok(existing) => {
                refuse_input(&name, Some(identity(&existing)), input)?;
                existing_target(content, path, &existing, force)?
            }
        };
        Ok(Self { name, target })
    }

    fn stdout(content: Content, input: &Path) -> anyhow::Result<Self> {
        let name = "<stdout>".to_owned();
        refuse_terminal(content, &name, &io::stdout())?;
        refuse_input(&name, regular(io::stdout()), input)?;
        Ok(Self { name, target: Target::Stdout })
    }

    /// As messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives `work` the place to write to. If that fails, no file is left.
    ///
    /// # Errors
    /// Those of `work` and of the file's creation.
    pub fn write<T>(
        &self,
        work: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        match &self.target {
            Target::Stdout => work(&mut io::stdout().lock()),
            Target::Stream(stream) => work(&mut &*stream),
            Target::File { path, force } => {
                let mut file = beside(path).with_context(|| self.name.clone())?;
                let done = work(file.as_file_mut())?;
                let persisted = match force {
                    true => file.persist(path),
                    false => file.persist_noclobber(path),
                };
                persisted.map_err(|failure| failure.error).with_context(|| self.name.clone())?;
                Ok(done)
            }
        }
    }
}

fn existing_target(
    content: Content,
    path: &Path,
    existing: &Metadata,
    force: bool,
) -> anyhow::Result<Target> {
    let name = path.display();
    if existing.is_dir() {
        bail!("{name}: is a directory\n  name the file to write in it");
    }
    let kind = existing.file_type();
    if kind.is_char_device() || kind.is_fifo() {
        let stream = fs::OpenOptions::new().write(true).open(path);
        let stream = stream.with_context(|| name.to_string())?;
        refuse_terminal(content, &name.to_string(), &stream)?;
        return Ok(Target::Stream(stream));
    }
    if !force {
        bail!("{name}: exists already\n  use -f to overwrite it");
    }
    Ok(Target::File { path: path.to_owned(), force })
}

/// With the permissions of any new file.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(directory)
}

fn refuse_terminal(content: Content, name: &str, output: &impl IsTerminal) -> anyhow::Result<()> {
    match content {
        Content::Binary(what) if output.is_terminal() => {
            bail!("{name}: is a terminal, and {what} is no text\n  name a file, or pipe it on")
        }
        _ => Ok(()),
    }
}

fn refuse_input(name: &str, output: Option<Identity>, input: &Path) -> anyhow::Result<()> {
    let input = match input == Path::new("-") {
        true => regular(io::stdin()),
        false => fs::metadata(input).ok().map(|metadata| identity(&metadata)),
    };
    if output.is_some() && output == input {
        bail!("{name}: is the input itself\n  name another file to write to");
    }
    Ok(())
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

/// Which file a standard stream is, if it is one: a pipe or a terminal may well be both.
fn regular(stream: impl rustix::fd::AsFd) -> Option<Identity> {
    let stat = fstat(stream).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    is_file.then_some((stat.st_dev, stat.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_could_not_be_completed_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.lt");
        let output = || Output::new(&path, Path::new("input"), false).unwrap();
        let failed: anyhow::Result<()> = output().write(|file| {
            file.write_all(b"half")?;
            bail!("no more")
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        output().write(|file| Ok(file.write_all(b"whole")?)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.lt");
        let output = Output::new(&path, Path::new("input"), false).unwrap();
        let outcome = output.write(|_| Ok(fs::write(&path, "precious")?));
        assert!(format!("{:#}", outcome.unwrap_err()).contains("t.lt: File exists"));
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }
}
