//! Snapshots as the tests see them: all that one tells, in memory.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use lifetrace_trace::lth::{Field, Found, Header, Item, Kind, Outcome, Reader, Root, Sample, Site};

/// A snapshot.
pub struct Snapshot {
    pub header: Header,
    pub outcome: Outcome,
    pub roots: Vec<(Root, u64)>,
    pub blocks: Vec<Block>,
    pub samples: Vec<Sample>,
    pub sites: Vec<Site>,
}

/// A block, with the numbers of those that it refers to.
pub struct Block {
    pub address: u64,
    pub bytes: u64,
    pub outside: u64,
    pub kind: Kind,
    pub references: Vec<u64>,
}

/// A block while its references are addresses.
struct Raw {
    block: Block,
    addresses: Vec<u64>,
}

impl Snapshot {
    /// Reads a snapshot, which is whole.
    pub fn read(path: &Path) -> Snapshot {
        let mut reader = Reader::open(File::open(path).unwrap()).unwrap();
        let (mut kinds, mut roots, mut blocks) = (Vec::new(), Vec::new(), Vec::<Raw>::new());
        let (mut samples, mut sites) = (Vec::new(), Vec::new());
        while let Some(item) = reader.next().unwrap() {
            match item {
                Item::Kind(_, kind) => kinds.push(kind),
                Item::Root(root, next) => roots.push((root, next.0)),
                Item::Block { mut next, found, .. } => {
                    let fields = match found {
                        Found::Block(block) => {
                            let kind = kinds[block.kind.0 as usize].clone();
                            let (address, references) = (block.address.0, Vec::new());
                            let (bytes, outside) = (block.bytes, block.outside);
                            let block = Block { address, bytes, outside, kind, references };
                            blocks.push(Raw { block, addresses: Vec::new() });
                            found_fields(&found)
                        }
                        _ => found_fields(&found),
                    };
                    let last = blocks.last_mut().unwrap();
                    for field in fields {
                        match field {
                            Field::Next => {
                                last.block.references.push(next.0);
                                next.0 += 1;
                            }
                            Field::To(address) => last.addresses.push(address.0),
                            Field::Value | Field::Outside => {}
                        }
                    }
                }
                Item::Site(_, site) => sites.push(site),
                Item::Sample(sample) => samples.push(sample),
            }
        }
        assert!(reader.is_complete(), "{:?} {:?}", reader.outcome(), reader.damages());
        let by_address: HashMap<u64, u64> =
            blocks.iter().zip(0..).map(|(raw, number)| (raw.block.address, number)).collect();
        assert_eq!(by_address.len(), blocks.len(), "a block comes twice");
        let resolved = |Raw { mut block, addresses }: Raw| {
            block.references.extend(addresses.iter().map(|address| by_address[address]));
            block
        };
        let blocks: Vec<Block> = blocks.into_iter().map(resolved).collect();
        let root = |(root, next): (Root, u64)| {
            let to = match root.to {
                Field::To(address) => by_address[&address.0],
                _ => next,
            };
            (root, to)
        };
        let roots = roots.into_iter().map(root).collect();
        let outcome = reader.outcome().unwrap().0.clone();
        let header = reader.header().clone();
        Snapshot { header, outcome, roots, blocks, samples, sites }
    }

    /// The blocks that refer to one.
    pub fn referrers(&self, to: usize) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |block| block.references.contains(&(to as u64)))
    }

    /// The blocks that can be reached from these.
    pub fn reached(&self, from: impl IntoIterator<Item = u64>) -> Vec<bool> {
        let mut reached = vec![false; self.blocks.len()];
        let mut waiting: Vec<u64> = from.into_iter().collect();
        while let Some(number) = waiting.pop() {
            if !std::mem::replace(&mut reached[number as usize], true) {
                waiting.extend(&self.blocks[number as usize].references);
            }
        }
        reached
    }

    /// The blocks that roots of some categories lead to.
    pub fn held_by(&self, is_meant: impl Fn(&Root) -> bool) -> Vec<bool> {
        let meant = self.roots.iter().filter(|(root, _)| is_meant(root));
        self.reached(meant.map(|(_, to)| *to))
    }
}

fn found_fields<'a>(found: &Found<'a>) -> &'a [Field] {
    match found {
        Found::Block(block) => block.fields,
        Found::Fields(fields) => fields,
    }
}
