//! Inputs that are read more than once. One that cannot be (a pipe) is copied to a temporary file first.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

use crate::input::Input;

/// An input that can be read twice.
#[derive(Debug)]
pub struct Twice {
    /// As messages call it.
    name: PathBuf,
    path: PathBuf,
    /// Is removed when this is dropped.
    _copy: Option<NamedTempFile>,
}

impl Twice {
    /// Opens a file, or standard input if the path is `-`.
    ///
    /// # Errors
    /// If it cannot be read, or not be copied.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let input = Input::open(path)?;
        let name = input.path.clone();
        if input.bytes.is_some() {
            return Ok(Self { name, path: path.to_owned(), _copy: None });
        }
        let mut copy = NamedTempFile::new().context("a temporary file")?;
        let copied = io::copy(&mut input.into_bytes(), copy.as_file_mut());
        copied.with_context(|| format!("{}: cannot be copied", name.display()))?;
        Ok(Self { name, path: copy.path().to_owned(), _copy: Some(copy) })
    }

    /// From its beginning.
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub fn again(&self) -> anyhow::Result<Input> {
        let mut input = Input::open(&self.path)?;
        input.path.clone_from(&self.name);
        Ok(input)
    }
}
