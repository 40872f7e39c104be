//! Dumps of heaps, which become snapshots.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use lifetrace_heap::import_heap;
use lifetrace_human as human;

use crate::output::{Content, Output};
use crate::terminal;

/// What is read, and where to.
pub(super) struct Heap<'a> {
    pub(super) path: &'a Path,
    /// As messages call it.
    pub(super) name: &'a str,
    pub(super) output: PathBuf,
    pub(super) force: bool,
    pub(super) quiet: bool,
}

/// Writes a snapshot of a dump.
///
/// # Errors
/// If it cannot be read, or the snapshot cannot be written.
pub(super) fn run(heap: &Heap<'_>, input: impl BufRead) -> anyhow::Result<ExitCode> {
    refuse(&heap.output)?;
    let content = Content::Binary("a snapshot");
    let output = Output::of(content, &heap.output, heap.path, heap.force)?;
    let imported = output.write(|file| import_heap(input, heap.name, file, output.name()))?;
    if let Some(complaint) = &imported.complaint {
        terminal::complain(format_args!("{}: {complaint}", heap.name));
    }
    if !heap.quiet {
        let (output, objects) = (output.name(), human::count(imported.objects as f64));
        terminal::complain(format_args!("{output}: {objects} objects of a Ruby program's heap"));
        if output != "<stdout>" {
            terminal::complain(format_args!("next: lifetrace heap {output}"));
        }
    }
    Ok(if imported.complaint.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// # Errors
/// If no snapshot is called like this.
fn refuse(output: &Path) -> anyhow::Result<()> {
    match output.extension().and_then(|suffix| suffix.to_str()) {
        Some(suffix @ ("lt" | "ctf" | "json" | "heapsnapshot")) => {
            bail!("-o {}: a heap becomes a snapshot (.lth), and no .{suffix}", output.display())
        }
        _ => Ok(()),
    }
}
