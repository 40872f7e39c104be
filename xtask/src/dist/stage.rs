//! A folder that becomes a package.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Whoever runs us has a mask for new files, which packages know nothing of.
pub struct Stage {
    pub folder: PathBuf,
}

impl Stage {
    /// An empty one.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn fresh(folder: PathBuf) -> Result<Stage> {
        let _ = fs::remove_dir_all(&folder);
        make(&folder)?;
        Ok(Stage { folder })
    }

    /// Adds a file that everybody may read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        self.put_as(path, 0o644, content)
    }

    /// Adds a file that everybody may read and run.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put_program(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        self.put_as(path, 0o755, content)
    }

    /// Adds a file, compressed, that everybody may read.
    ///
    /// # Errors
    /// If it cannot be compressed or written.
    pub fn put_compressed(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        self.put(path, compressed(content.as_ref())?)
    }

    fn put_as(&self, path: &str, mode: u32, content: impl AsRef<[u8]>) -> Result<()> {
        let path = self.folder.join(path);
        self.make_folders(path.parent().unwrap_or(&self.folder))?;
        fs::write(&path, content).with_context(|| path.display().to_string())?;
        Ok(fs::set_permissions(path, Permissions::from_mode(mode))?)
    }

    fn make_folders(&self, folder: &Path) -> Result<()> {
        if !folder.is_dir() {
            self.make_folders(folder.parent().unwrap_or(&self.folder))?;
            make(folder)?;
        }
        Ok(())
    }
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    Ok(fs::set_permissions(folder, Permissions::from_mode(0o755))?)
}

/// By gzip, with neither a name nor a time.
pub fn compressed(content: &[u8]) -> Result<Vec<u8>> {
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "-n"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = gzip.spawn().context("gzip")?;
    let mut input = child.stdin.take().context("gzip has an input")?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(content));
        child.wait_with_output()
    })?;
    ensure!(output.status.success(), "gzip: {}", output.status);
    Ok(output.stdout)
}
