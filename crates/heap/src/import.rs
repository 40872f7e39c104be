//! Dumps of other programs, as snapshots.

use std::io::{BufRead, Write};
use std::path::Path;

use anyhow::Context;
use lifetrace_snapshot::{lth, ruby};
use lifetrace_trace::lth::{Header, Outcome};

use crate::origin::MISSING;

/// What was imported.
#[derive(Debug)]
pub struct ImportedHeap {
    /// How many objects there are.
    pub objects: u64,
    /// What of the dump could not be read.
    pub complaint: Option<String>,
}

/// Whether a file that begins so is a dump of a heap that can be imported.
pub fn is_heap_dump(beginning: &[u8]) -> bool {
    ruby::is_dump(beginning)
}

/// Writes a snapshot of what a dump tells.
///
/// # Errors
/// If the input, which is called `name`, is no dump, or the output fails, which is called `to`.
pub fn import_heap(
    input: impl BufRead,
    name: &str,
    out: impl Write,
    to: &str,
) -> anyhow::Result<ImportedHeap> {
    let (dump, described) = ruby::read_described(input).with_context(|| name.to_owned())?;
    let program = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    let header = Header {
        program: program.into(),
        runtime: "Ruby".into(),
        cause: "import".into(),
        labels: vec![("import".into(), "ObjectSpace.dump_all".into())],
        ..Header::default()
    };
    let outcome = Outcome { figures: vec![(MISSING.into(), dump.missing)], ..Outcome::default() };
    lth::write(out, &header, &dump.heap, &described, &outcome).with_context(|| to.to_owned())?;
    let objects = dump.heap.addresses().len() as u64;
    Ok(ImportedHeap { objects, complaint: dump.damage.map(|damage| damage.to_string()) })
}
