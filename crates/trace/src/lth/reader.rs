//! Reads snapshots, damaged ones as far as can be.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::blocks::{Blocks, Found};
use super::deflate::expand;
use super::error::{Damage, Error};
use super::header::{self, Header};
use super::losses::{Losses, Sort};
use super::model::{BlockNumber, Kind, KindId, Root, Sample, Site, SiteId};
use super::outcome::{self, Outcome, Totals};
use super::packet::{BLOCKS, END, HEADER, KINDS, MARK, ROOTS, SAMPLES, SITES};
use super::{kinds, roots, samples, sites};
use crate::framing::fault::{Cause, Fault};
use crate::framing::packet;
use crate::framing::scan::{Next, Scanner};
use crate::framing::varint::Plain;
use crate::memtrace::Lookalike;

/// Reads a snapshot, record by record.
pub struct Reader<R> {
    scanner: Scanner<R>,
    header: Header,
    /// Records of the packet that was read last, if it has no blocks.
    records: VecDeque<Item<'static>>,
    /// The packet that was read last, if it has blocks.
    blocks: Option<Blocks>,
    /// Where the packet that was read last is.
    offset: u64,
    len: u64,
    losses: Losses,
    outcome: Option<(Outcome, Totals)>,
}

/// A record of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'a> {
    /// A kind of blocks.
    Kind(KindId, Kind),
    /// A root, and the block that it is to if it is to a next one.
    Root(Root, BlockNumber),
    /// A block, or more fields of the one before.
    Block {
        /// Its number.
        number: BlockNumber,
        /// The block that its first reference to a next one is to; the second one is to the block after that.
        next: BlockNumber,
        /// Where its packet is, in bytes from the start of the file.
        packet: u64,
        /// The number, within its packet, of what it has in common with others: blocks with the same number have the same
        /// kind and size, and the same in their fields but for addresses.
        shape: u32,
        /// What is told.
        found: Found<'a>,
    },
    /// A backtrace.
    Site(SiteId, Site),
    /// A sampled block.
    Sample(Sample),
}

impl<R: Read> Reader<R> {
    /// Begins to read a snapshot.
    ///
    /// # Errors
    /// If there is no header.
    pub fn open(input: R) -> Result<Self, Error> {
        let mut scanner = Scanner::new(input, MARK);
        let io = |source| Error::Io { offset: 0, source };
        let beginning = scanner.beginning().map_err(io)?;
        if beginning.is_empty() {
            return Err(Error::Empty);
        }
        let lookalike = Lookalike::guess(beginning);
        let mut losses = Losses::default();
        let header = find_header(&mut scanner, &mut losses)?;
        Ok(Self {
            scanner,
            header: header.ok_or(Error::NotASnapshot(lookalike))?,
            records: VecDeque::new(),
            blocks: None,
            offset: 0,
            len: 0,
            losses,
            outcome: None,
        })
    }

    /// What the snapshot says about itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How making it went, and how much is in it, if it was finished and all has been read.
    pub fn outcome(&self) -> Option<&(Outcome, Totals)> {
        self.outcome.as_ref()
    }

    /// What could not be read so far.
    pub fn damages(&self) -> &[Damage] {
        self.losses.damages()
    }

    /// Records that have been read so far, and that are surely missing.
    pub fn passed(&self) -> Totals {
        self.losses.totals()
    }

    /// Whether it was finished, all of it was read, and all of the heap is in it.
    pub fn is_complete(&self) -> bool {
        let Some((outcome, totals)) = &self.outcome else { return false };
        self.damages().is_empty() && outcome.gave_up.is_none() && *totals == self.passed()
    }

    /// The next record, or `None` at the end.
    ///
    /// # Errors
    /// The input's; after one, there is nothing more.
    #[expect(clippy::should_implement_trait, reason = "records borrow from the reader")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, Error> {
        loop {
            if let Some(item) = self.records.pop_front() {
                return Ok(Some(item));
            }
            if self.advance_block() {
                break;
            }
            if !self.next_packet()? {
                return Ok(None);
            }
        }
        Ok(self.blocks.as_ref().map(|blocks| {
            let (number, next, found) = blocks.current();
            Item::Block { number, next, packet: self.offset, shape: blocks.shape_number(), found }
        }))
    }

    /// Whether there is one more block in the packet.
    fn advance_block(&mut self) -> bool {
        let Some(blocks) = &mut self.blocks else { return false };
        let advanced = blocks.advance();
        self.losses.reach(Sort::Blocks, blocks.number.0);
        match advanced {
            Ok(true) => return true,
            Ok(false) => {}
            Err(fault) => self.losses.add(self.offset, self.len, fault.into()),
        }
        self.blocks = None;
        false
    }

    /// Reads a packet; false if there is none.
    fn next_packet(&mut self) -> Result<bool, Error> {
        let start = self.scanner.offset();
        let next = self.scanner.next();
        let next = next.map_err(|source| Error::Io { offset: self.scanner.offset(), source })?;
        let found = match next {
            Next::End { skipped, is_cut } => {
                let cause = if is_cut { Cause::Cut } else { Cause::Bytes };
                self.losses.pass(start, skipped, cause);
                self.losses.end(self.outcome.as_ref().map(|(_, totals)| totals));
                return Ok(false);
            }
            Next::Packet(found) => found,
        };
        self.losses.pass(start, found.skipped, Cause::Bytes);
        (self.offset, self.len) = (found.offset, found.len());
        let payload = self.scanner.payload(&found).to_vec();
        if let Err(fault) = self.take(found.kind, &payload) {
            self.losses.add(self.offset, self.len, fault.into());
        }
        Ok(true)
    }

    fn take(&mut self, kind: packet::Kind, payload: &[u8]) -> Result<(), Fault> {
        match kind {
            KINDS | ROOTS | BLOCKS | SITES | SAMPLES => self.take_records(kind, payload),
            END => {
                self.outcome = Some(outcome::decode(payload)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_records(&mut self, kind: packet::Kind, payload: &[u8]) -> Result<(), Fault> {
        let contents = expand(payload)?;
        let mut plain = Plain(&contents);
        let first = plain.varint()?;
        let sort = Sort::of(kind);
        self.losses.begin(sort, first, self.offset)?;
        let word = self.header.word_bytes.into();
        let id = |at: usize| u32::try_from(first.saturating_add(at as u64)).unwrap_or(u32::MAX);
        match sort {
            Sort::Blocks => {
                self.blocks = Some(Blocks::new(contents, word, payload.len())?);
                return Ok(());
            }
            Sort::Kinds => {
                let kinds = kinds::decode(&mut plain)?.into_iter().enumerate();
                self.records.extend(kinds.map(|(at, it)| Item::Kind(KindId(id(at)), it)));
            }
            Sort::Sites => {
                let sites = sites::decode(&mut plain)?.into_iter().enumerate();
                self.records.extend(sites.map(|(at, it)| Item::Site(SiteId(id(at)), it)));
            }
            Sort::Samples => {
                self.records.extend(samples::decode(&mut plain)?.into_iter().map(Item::Sample));
            }
            Sort::Roots => {
                let (mut next, roots) = roots::decode(&mut plain, word)?;
                self.records.extend(roots.into_iter().map(|root| {
                    let this = next;
                    next.0 = next.0.wrapping_add((root.to == super::Field::Next).into());
                    Item::Root(root, this)
                }));
            }
        }
        self.losses.reach(sort, first.saturating_add(self.records.len() as u64));
        Ok(())
    }
}

/// Goes on behind the first intact header.
fn find_header<R: Read>(
    scanner: &mut Scanner<R>,
    losses: &mut Losses,
) -> Result<Option<Header>, Error> {
    loop {
        let start = scanner.offset();
        let next = scanner.next();
        let next = next.map_err(|source| Error::Io { offset: scanner.offset(), source })?;
        let Next::Packet(found) = next else { return Ok(None) };
        losses.pass(start, found.skipped, Cause::Bytes);
        if found.kind != HEADER {
            losses.add(found.offset, found.len(), Cause::Missing);
            continue;
        }
        match header::decode(scanner.payload(&found)) {
            Ok(header) => return header.map(Some),
            Err(fault) => losses.add(found.offset, found.len(), fault.into()),
        }
    }
}

/// What a snapshot says of a block beside its kind, if it says anything. The input begins with the packet that the block
/// is in.
///
/// # Errors
/// The input's.
pub fn detail(input: impl Read, number: BlockNumber) -> io::Result<Option<String>> {
    let mut scanner = Scanner::new(input, MARK);
    let Next::Packet(found) = scanner.next()? else { return Ok(None) };
    let payload = scanner.payload(&found);
    let blocks = expand(payload).and_then(|contents| Blocks::new(contents, 1, payload.len()));
    let Ok(mut blocks) = blocks else { return Ok(None) };
    while let Ok(true) = blocks.advance() {
        if let (at, _, Found::Block(block)) = blocks.current()
            && at == number
        {
            return Ok(block.detail.map(str::to_owned));
        }
    }
    Ok(None)
}
