//! Writes snapshots.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use super::blocks::{BESIDE, PER_BYTE};
use super::deflate::{ENOUGH, squeeze};
use super::draft::Draft;
use super::header::{self, Header, is_word};
use super::model::{Block, BlockNumber, Field, Kind, KindId, Root, Sample, Site, SiteId};
use super::outcome::{self, Outcome, Totals};
use super::packet::{BLOCKS, END, HEADER, KINDS, MARK, ROOTS, SAMPLES, SITES};
use super::shapes::MAX_FIELDS;
use super::{kinds, roots, samples, sites};
use crate::framing::output::Output;
use crate::framing::packet;

/// Writes a snapshot, packet by packet; what has been written is readable, whatever becomes of the rest.
///
/// Kinds come before blocks of them, sites before samples of them; roots and blocks in the order in which they are
/// discovered, for [`Field::Next`] goes by that.
pub struct Writer<W> {
    output: Output<W>,
    word: u64,
    totals: Totals,
    known_kinds: FxHashMap<Kind, KindId>,
    kinds: kinds::Draft,
    roots: roots::Draft,
    blocks: Draft,
    sites: sites::Draft,
    samples: samples::Draft,
    /// The block that the next reference to a next one is to.
    next: BlockNumber,
}

impl<W: Write> Writer<W> {
    /// Begins a snapshot.
    ///
    /// # Errors
    /// If the header makes no sense, or the output fails.
    pub fn new(output: W, header: &Header) -> io::Result<Self> {
        if !is_word(header.word_bytes) {
            return Err(io::Error::other("words of a snapshot have 1, 2, 4, 8 or 16 bytes"));
        }
        let word = header.word_bytes.into();
        let mut writer = Self {
            output: Output::new(output),
            word,
            totals: Totals::default(),
            known_kinds: FxHashMap::default(),
            kinds: kinds::Draft::default(),
            roots: roots::Draft::default(),
            blocks: Draft::new(word, 0),
            sites: sites::Draft::default(),
            samples: samples::Draft::default(),
            next: BlockNumber(0),
        };
        let payload = header::encode(header);
        writer.put(HEADER, &payload)?;
        writer.put(HEADER, &payload)?;
        Ok(writer)
    }

    /// The number of a kind, which is told if it is new.
    ///
    /// # Errors
    /// If the output fails, or there are more than 2^32 kinds.
    pub fn kind(&mut self, kind: &Kind) -> io::Result<KindId> {
        if let Some(&known) = self.known_kinds.get(kind) {
            return Ok(known);
        }
        let id = KindId(number(self.totals.kinds)?);
        self.totals.kinds += 1;
        self.known_kinds.insert(kind.clone(), id);
        self.kinds.add(kind);
        if self.kinds.len() >= ENOUGH {
            self.put_kinds()?;
        }
        Ok(id)
    }

    /// Tells a root.
    ///
    /// # Errors
    /// If the output fails, or the root refers to an address that is no multiple of a word.
    pub fn root(&mut self, root: &Root) -> io::Result<()> {
        self.check(&[root.to])?;
        self.put_blocks()?;
        self.totals.roots += 1;
        self.roots.add(root, self.next, self.word);
        self.next.0 += nexts(&[root.to]);
        if self.roots.len() >= ENOUGH { self.put_roots() } else { Ok(()) }
    }

    /// Tells a block.
    ///
    /// # Errors
    /// If the output fails, or an address is no multiple of a word.
    pub fn block(&mut self, block: &Block<'_>) -> io::Result<()> {
        self.check(&[Field::To(block.address)])?;
        self.check(block.fields)?;
        self.put_roots()?;
        self.make_room()?;
        let (first, rest) = block.fields.split_at(block.fields.len().min(MAX_FIELDS));
        self.totals.blocks += 1;
        self.blocks.add(block, first, self.next);
        self.next.0 += nexts(first);
        self.put_fields(rest)
    }

    /// Tells more fields of the last block: of one that has so many that nobody wants to hold all of them.
    ///
    /// # Errors
    /// If the output fails, there was no block, or an address is no multiple of a word.
    pub fn fields(&mut self, fields: &[Field]) -> io::Result<()> {
        if self.totals.blocks == 0 || self.roots.len() > 0 {
            return Err(io::Error::other("there is no block whose fields these are"));
        }
        self.check(fields)?;
        self.put_fields(fields)
    }

    /// Tells a site; the same one twice has two numbers.
    ///
    /// # Errors
    /// If the output fails, or there are more than 2^32 sites.
    pub fn site(&mut self, site: &Site) -> io::Result<SiteId> {
        let id = SiteId(number(self.totals.sites)?);
        self.totals.sites += 1;
        self.sites.add(site);
        if self.sites.len() >= ENOUGH {
            self.put_sites()?;
        }
        Ok(id)
    }

    /// Tells a sampled block.
    ///
    /// # Errors
    /// If the output fails.
    pub fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        self.totals.samples += 1;
        self.samples.add(sample);
        if self.samples.len() >= ENOUGH { self.put_samples() } else { Ok(()) }
    }

    /// How much has been told.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Ends the snapshot.
    ///
    /// # Errors
    /// If the output fails.
    pub fn finish(mut self, outcome: &Outcome) -> io::Result<W> {
        self.put_kinds()?;
        self.put_roots()?;
        self.put_blocks()?;
        self.put_samples()?;
        self.put_sites()?;
        let payload = outcome::encode(outcome, &self.totals);
        self.put(END, &payload)?;
        self.output.inner.flush()?;
        Ok(self.output.inner)
    }

    fn check(&self, fields: &[Field]) -> io::Result<()> {
        let is_odd = |field: &Field| match field {
            Field::To(address) => address.0 % self.word != 0,
            _ => false,
        };
        match fields.iter().any(is_odd) {
            true => Err(io::Error::other("an address in a snapshot is no multiple of a word")),
            false => Ok(()),
        }
    }

    fn put_fields(&mut self, fields: &[Field]) -> io::Result<()> {
        for fields in fields.chunks(MAX_FIELDS) {
            self.make_room()?;
            self.blocks.add_fields(fields, self.next);
            self.next.0 += nexts(fields);
        }
        Ok(())
    }

    fn make_room(&mut self) -> io::Result<()> {
        if self.blocks.is_full() { self.put_blocks() } else { Ok(()) }
    }

    fn put_kinds(&mut self) -> io::Result<()> {
        let contents = self.kinds.take();
        self.put_contents(KINDS, contents)
    }

    fn put_roots(&mut self) -> io::Result<()> {
        let contents = self.roots.take();
        self.put_contents(ROOTS, contents)
    }

    fn put_sites(&mut self) -> io::Result<()> {
        let contents = self.sites.take();
        self.put_contents(SITES, contents)
    }

    /// Sites come first.
    fn put_samples(&mut self) -> io::Result<()> {
        self.put_sites()?;
        let contents = self.samples.take();
        self.put_contents(SAMPLES, contents)
    }

    /// Kinds come first.
    fn put_blocks(&mut self) -> io::Result<()> {
        if self.blocks.is_empty() {
            return Ok(());
        }
        self.put_kinds()?;
        let least = self.blocks.amount().saturating_sub(BESIDE).div_ceil(PER_BYTE) as usize;
        let mut payload = squeeze(&self.blocks.take())?;
        payload.resize(payload.len().max(least), 0);
        self.put(BLOCKS, &payload)
    }

    fn put_contents(&mut self, kind: packet::Kind, contents: Option<Vec<u8>>) -> io::Result<()> {
        match contents {
            Some(contents) => self.put(kind, &squeeze(&contents)?),
            None => Ok(()),
        }
    }

    fn put(&mut self, kind: packet::Kind, payload: &[u8]) -> io::Result<()> {
        let mut packet = Vec::with_capacity(payload.len() + packet::HEAD);
        MARK.put(kind, payload, &mut packet);
        self.output.write(&packet)
    }
}

fn nexts(fields: &[Field]) -> u64 {
    fields.iter().filter(|&&field| field == Field::Next).count() as u64
}

fn number(count: u64) -> io::Result<u32> {
    u32::try_from(count).map_err(|_| io::Error::other("a snapshot has too many kinds or sites"))
}
