//! All records of a snapshot, read and counted.

use std::fs::File;
use std::io::{BufReader, Seek};

use lifetrace_trace::lth::{Damage, Error, Field, Found, Header, Item, Outcome, Reader, Totals};

/// What a snapshot has.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) header: Header,
    pub(super) file_bytes: u64,
    /// What was read.
    pub(super) counted: Totals,
    /// What blocks take on the heap, and elsewhere.
    pub(super) bytes: u64,
    pub(super) outside: u64,
    /// How making it went, and how much it should have, if it was finished.
    pub(super) outcome: Option<(Outcome, Totals)>,
    pub(super) damages: Vec<Damage>,
    pub(super) contradictions: Vec<String>,
}

/// So many of one sort are told.
const TOLD: usize = 1;

impl Reading {
    /// # Errors
    /// If it is no snapshot after all, or cannot be read.
    pub(super) fn of(mut file: File) -> Result<Reading, Error> {
        let length = file.seek(std::io::SeekFrom::End(0)).and_then(|length| {
            file.rewind()?;
            Ok(length)
        });
        let file_bytes = length.map_err(|source| Error::Io { offset: 0, source })?;
        let mut reader = Reader::open(BufReader::with_capacity(1 << 18, file))?;
        let mut counting = Counting::default();
        while let Some(item) = reader.next()? {
            counting.take(&item);
        }
        let (outcome, damages) = (reader.outcome().cloned(), reader.damages().to_vec());
        let should = outcome.as_ref().map(|(_, totals)| *totals).filter(|_| damages.is_empty());
        Ok(Reading {
            header: reader.header().clone(),
            file_bytes,
            counted: counting.counted,
            bytes: counting.bytes,
            outside: counting.outside,
            contradictions: should.map_or_else(Vec::new, |it| counting.contradictions(it)),
            outcome,
            damages,
        })
    }

    /// Why it is not all of a heap, if it is not.
    pub(super) fn lack(&self) -> Option<String> {
        match &self.outcome {
            None => Some(
                "has no end: whoever wrote it was interrupted, and blocks are missing".to_owned(),
            ),
            Some((Outcome { gave_up: Some(why), .. }, _)) => {
                let why = lifetrace_human::printable(why);
                Some(format!("not all of the heap is in it: {why}"))
            }
            Some(_) => None,
        }
    }
}

#[derive(Default)]
struct Counting {
    counted: Totals,
    bytes: u64,
    outside: u64,
    /// References to the next block that nothing before referred to.
    discovered: u64,
    /// Blocks of kinds that were not told of before, and samples of such sites.
    of_unknown_kind: u64,
    of_unknown_site: u64,
}

impl Counting {
    fn take(&mut self, item: &Item<'_>) {
        match item {
            Item::Kind(..) => self.counted.kinds += 1,
            Item::Root(root, _) => {
                self.counted.roots += 1;
                self.discover(&[root.to]);
            }
            Item::Block { found: Found::Block(block), .. } => {
                self.counted.blocks += 1;
                self.bytes = self.bytes.saturating_add(block.bytes);
                self.outside = self.outside.saturating_add(block.outside);
                self.of_unknown_kind += u64::from(u64::from(block.kind.0) >= self.counted.kinds);
                self.discover(block.fields);
            }
            Item::Block { found: Found::Fields(fields), .. } => self.discover(fields),
            Item::Site(..) => self.counted.sites += 1,
            Item::Sample(sample) => {
                self.counted.samples += 1;
                self.of_unknown_site += u64::from(u64::from(sample.site.0) >= self.counted.sites);
            }
        }
    }

    fn discover(&mut self, fields: &[Field]) {
        self.discovered += fields.iter().filter(|field| **field == Field::Next).count() as u64;
    }

    /// What cannot be, though each packet is whole; `should` is what the end says.
    fn contradictions(&self, should: Totals) -> Vec<String> {
        let Totals { kinds, roots, blocks, sites, samples } = self.counted;
        let pairs = [
            ("kinds", should.kinds, kinds),
            ("roots", should.roots, roots),
            ("blocks", should.blocks, blocks),
            ("sites", should.sites, sites),
            ("samples", should.samples, samples),
        ];
        let wrong = pairs.into_iter().filter(|(_, told, found)| told != found);
        let mut all: Vec<String> = wrong
            .map(|(what, told, found)| format!("its end says {told} {what}, there are {found}"))
            .take(TOLD)
            .collect();
        if self.discovered > blocks {
            all.push(format!("{} blocks are referred to, there are {blocks}", self.discovered));
        }
        if self.of_unknown_kind > 0 {
            all.push(format!("{} blocks are of kinds that it does not have", self.of_unknown_kind));
        }
        if self.of_unknown_site > 0 {
            all.push(format!(
                "{} samples are of sites that it does not have",
                self.of_unknown_site
            ));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contradiction_is_named() {
        let counted = Totals { kinds: 2, roots: 1, blocks: 5, sites: 1, samples: 1 };
        let sound = Counting { counted, discovered: 5, ..Counting::default() };
        assert_eq!(sound.contradictions(counted), [] as [String; 0]);
        let more = Totals { blocks: 6, ..counted };
        assert_eq!(sound.contradictions(more), ["its end says 6 blocks, there are 5"]);
        let odd = Counting { discovered: 6, of_unknown_kind: 2, of_unknown_site: 3, ..sound };
        assert_eq!(odd.contradictions(counted).len(), 3);
    }
}
