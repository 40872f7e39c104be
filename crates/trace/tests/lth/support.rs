//! Snapshots as lists of what they tell.

use std::sync::Arc;

use lifetrace_trace::lth::{
    Address, Block, BlockNumber, Field, Found, Header, Item, Kind, KindId, Outcome, Reader, Root,
    Sample, Site, SiteId, Writer,
};

/// A record, with all that it needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Kind(KindId, Kind),
    Root(Root, BlockNumber),
    Block(BlockNumber, BlockNumber, Owned),
    Fields(BlockNumber, BlockNumber, Vec<Field>),
    Site(SiteId, Site),
    Sample(Sample),
}

/// A block with its own fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Owned {
    pub address: Address,
    pub bytes: u64,
    pub outside: u64,
    pub kind: KindId,
    pub fields: Vec<Field>,
    pub detail: Option<String>,
}

impl Owned {
    pub fn of(block: &Block<'_>) -> Owned {
        let Block { address, bytes, outside, kind, fields, detail } = *block;
        let (fields, detail) = (fields.to_vec(), detail.map(str::to_owned));
        Owned { address, bytes, outside, kind, fields, detail }
    }

    pub fn block(&self) -> Block<'_> {
        let Owned { address, bytes, outside, kind, fields, detail } = self;
        let (address, bytes, outside, kind) = (*address, *bytes, *outside, *kind);
        Block { address, bytes, outside, kind, fields, detail: detail.as_deref() }
    }
}

impl Told {
    pub fn of(item: Item<'_>) -> Told {
        match item {
            Item::Kind(id, kind) => Told::Kind(id, kind),
            Item::Root(root, next) => Told::Root(root, next),
            Item::Block { number, next, found: Found::Block(block), .. } => {
                Told::Block(number, next, Owned::of(&block))
            }
            Item::Block { number, next, found: Found::Fields(fields), .. } => {
                Told::Fields(number, next, fields.to_vec())
            }
            Item::Site(id, site) => Told::Site(id, site),
            Item::Sample(sample) => Told::Sample(sample),
        }
    }
}

/// All that a snapshot tells, and whether it is complete.
pub fn read(bytes: &[u8]) -> Option<(Vec<Told>, bool)> {
    let mut reader = Reader::open(bytes).ok()?;
    let mut told = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        told.push(Told::of(item));
    }
    Some((told, reader.is_complete()))
}

/// A snapshot of records as they are written: their numbers are not looked at.
pub fn written(header: &Header, records: &[Told], outcome: &Outcome) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), header).unwrap();
    for record in records {
        match record {
            Told::Kind(_, kind) => drop(writer.kind(kind).unwrap()),
            Told::Root(root, _) => writer.root(root).unwrap(),
            Told::Block(_, _, owned) => writer.block(&owned.block()).unwrap(),
            Told::Fields(_, _, fields) => writer.fields(fields).unwrap(),
            Told::Site(_, site) => drop(writer.site(site).unwrap()),
            Told::Sample(sample) => writer.sample(sample).unwrap(),
        }
    }
    writer.finish(outcome).unwrap()
}

pub fn text(text: &str) -> Arc<str> {
    text.into()
}
