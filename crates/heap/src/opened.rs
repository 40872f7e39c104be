//! A dump, read and analysed.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use lifetrace_snapshot::dominators::Dominators;
use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::heap::Heap;
use lifetrace_snapshot::retained::Retained;
use lifetrace_snapshot::ruby::{self, Damage};
use lifetrace_snapshot::tree::Tree;

/// So much of a file is looked at to find out what it is.
const BEGINNING: u64 = 1 << 10;

/// More of a line is not read to describe its object.
const MOST_OF_LINE: u64 = 1 << 14;

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
    /// What of the file could not be read.
    pub damage: Option<Damage>,
    file: RefCell<BufReader<File>>,
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
        if !ruby::is_dump(&beginning) {
            bail!(
                "{}: is no dump of a heap that is known: there are those of Ruby's, made by\n  \
                 ruby -robjspace -e 'ObjectSpace.dump_all(output: File.open(\"heap.json\", \"w\"))'",
                path.display()
            );
        }
        file.seek(SeekFrom::Start(0)).with_context(named)?;
        let mut file = BufReader::with_capacity(1 << 18, file);
        let ruby::Dump { heap, missing, damage } = ruby::read(&mut file).with_context(named)?;
        let dominators = Dominators::of(&heap.graph);
        let tree = Tree::of(&heap.graph, &dominators);
        let retained = Retained::of(&heap.graph, &dominators);
        let path = path.to_owned();
        let file = RefCell::new(file);
        Ok(Opened { path, heap, dominators, tree, retained, missing, damage, file })
    }

    /// What the file says of an object beside its class, in a few words; nothing of a root, or if the file cannot be read
    /// any more.
    pub fn description(&self, id: BlockId) -> String {
        let Some(place) = self.heap.place_in_file(id) else { return String::new() };
        let (mut file, mut line) = (self.file.borrow_mut(), Vec::new());
        let read = file
            .seek(SeekFrom::Start(place))
            .and_then(|_| file.by_ref().take(MOST_OF_LINE).read_until(b'\n', &mut line));
        read.map_or(String::new(), |_| ruby::description(&line))
    }

    /// What roots hold, in bytes.
    pub fn reachable_bytes(&self) -> u64 {
        self.retained.bytes(BlockId::ALL_ROOTS)
    }
}
