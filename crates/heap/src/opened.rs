//! A dump or a snapshot, read and analysed.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use lifetrace_snapshot::dominators::Dominators;
use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::heap::Heap;
use lifetrace_snapshot::lth::{self, Snapshot};
use lifetrace_snapshot::retained::Retained;
use lifetrace_snapshot::ruby;
use lifetrace_snapshot::tree::Tree;
use lifetrace_trace::lth::is_snapshot;

use crate::declared::{Sources, Verdict, Verdicts};
use crate::guess::{Guess, guess};
use crate::origin::{MISSING, Origin};
use crate::said::Said;

/// So much of a file is looked at to find out what it is.
const BEGINNING: u64 = 1 << 10;

/// A heap, and what follows from its graph.
#[derive(Debug)]
pub struct Opened {
    /// Where it was read from.
    pub path: PathBuf,
    /// The heap.
    pub heap: Heap,
    /// Who alone holds what.
    pub dominators: Dominators,
    /// From each object to those that it immediately dominates.
    pub tree: Tree,
    /// What would go with what.
    pub retained: Retained,
    /// References to objects that the file does not have.
    pub missing: u64,
    /// What of the file could not be read, or is not in it.
    pub complaints: Vec<String>,
    /// What else a snapshot tells; nothing of another program's dump.
    pub origin: Option<Origin>,
    said: Said,
    /// What blocks are by the types that the program declares, where those are known.
    pub(crate) declared: Option<Verdicts>,
}

/// What has been read of a file.
struct Found {
    heap: Heap,
    missing: u64,
    complaints: Vec<String>,
    origin: Option<Origin>,
}

impl Opened {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no dump of a heap.
    pub fn new(path: &Path) -> anyhow::Result<Opened> {
        let named = || path.display().to_string();
        let mut file = File::open(path).with_context(named)?;
        let mut beginning = Vec::new();
        file.by_ref().take(BEGINNING).read_to_end(&mut beginning).with_context(named)?;
        file.seek(SeekFrom::Start(0)).with_context(named)?;
        let (found, said) = if is_snapshot(&beginning) {
            (Found::snapshot(&file).with_context(named)?, Said::in_packets(file))
        } else if ruby::is_dump(&beginning) {
            (Found::dump(&file).with_context(named)?, Said::in_lines(file))
        } else {
            bail!(
                "{}: is no dump of a heap that is known: there are snapshots (.lth), and dumps of Ruby's, made by\n  \
                 ruby -robjspace -e 'ObjectSpace.dump_all(output: File.open(\"heap.json\", \"w\"))'",
                path.display()
            );
        };
        let Found { heap, missing, complaints, origin } = found;
        let dominators = Dominators::of(&heap.graph);
        let tree = Tree::of(&heap.graph, &dominators);
        let retained = Retained::of(&heap.graph, &dominators);
        let path = path.to_owned();
        let declared = None;
        Ok(Opened {
            path,
            heap,
            dominators,
            tree,
            retained,
            missing,
            complaints,
            origin,
            said,
            declared,
        })
    }

    /// Finds out which of the types that a program declares its blocks are of.
    ///
    /// # Errors
    /// If the heap is no snapshot of an OCaml program.
    pub fn declare(&mut self, sources: &Sources) -> anyhow::Result<()> {
        let runtime = self.origin.as_ref().filter(|it| !it.is_import());
        let runtime = runtime.map_or("another program's dump", |it| &*it.header.runtime);
        if !runtime.starts_with("OCaml") {
            bail!(
                "{}: .cmt files tell the types of OCaml programs; this is of {runtime}",
                self.path.display()
            );
        }
        self.complaints.extend(sources.complaints.iter().cloned());
        self.declared = Some(Verdicts::of(&self.heap, sources));
        Ok(())
    }

    /// What the objects that are like this one are called: by the type that the program declares, if that is known, else
    /// by their class.
    pub(crate) fn label(&self, id: BlockId) -> &str {
        self.type_of(id).unwrap_or_else(|| self.heap.name(id))
    }

    /// As [`label`](Self::label), but for those that look like something in particular.
    pub(crate) fn look(&self, id: BlockId) -> Cow<'_, str> {
        self.looks_like(id).map_or_else(|| self.label(id).into(), Cow::from)
    }

    /// What a block of an OCaml program looks like, if it looks like something in particular and its type is not known.
    pub(crate) fn looks_like(&self, id: BlockId) -> Option<String> {
        let guess = guess(&self.heap, id).filter(|guess| guess.is_particular());
        guess.filter(|_| self.type_of(id).is_none()).map(Guess::one)
    }

    /// The type of a block, if it is known which one that is.
    pub(crate) fn type_of(&self, id: BlockId) -> Option<&str> {
        let declared = self.declared.as_ref()?;
        match declared.verdict(id) {
            Verdict::One(layout, _) => Some(&declared.layout(layout).name),
            Verdict::Array => Some("array"),
            _ => None,
        }
    }

    /// What a field of a block is called, if that is known.
    pub(crate) fn field_name(&self, id: BlockId, field: u32) -> Option<&str> {
        let declared = self.declared.as_ref()?;
        let Verdict::One(layout, _) = declared.verdict(id) else { return None };
        let name = declared.layout(layout).names.get(field as usize)?;
        (!name.is_empty()).then_some(name)
    }

    /// What the file says of an object beside its class, in a few words; nothing of a root, or if the file cannot be read
    /// any more.
    pub fn description(&self, id: BlockId) -> String {
        let Some(place) = self.heap.place_in_file(id) else { return String::new() };
        self.said.of(place).unwrap_or_default()
    }

    /// What roots hold, in bytes.
    pub fn reachable_bytes(&self) -> u64 {
        self.retained.bytes(BlockId::ALL_ROOTS)
    }
}

impl Found {
    fn snapshot(file: &File) -> Result<Found, lth::ReadError> {
        let snapshot = lth::read(file)?;
        let origin = Origin::of(&snapshot);
        let mut complaints: Vec<_> = snapshot.damages.iter().map(ToString::to_string).collect();
        complaints.extend(origin.lacks());
        let Snapshot { heap, missing, .. } = snapshot;
        let missing = missing + origin.figure(MISSING).unwrap_or_default();
        Ok(Found { heap, missing, complaints, origin: Some(origin) })
    }

    fn dump(file: &File) -> Result<Found, ruby::DumpError> {
        let ruby::Dump { heap, missing, damage } =
            ruby::read(BufReader::with_capacity(1 << 18, file))?;
        let complaints = damage.iter().map(ToString::to_string).collect();
        Ok(Found { heap, missing, complaints, origin: None })
    }
}
