//! The data of one trace: a header in JSON, and arrays.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::ensure;
use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use lifetrace_study::Study;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::facts::Facts;
use crate::section::{Place, Section, align};
use crate::thinning::Thinning;
use crate::{beside, columns, documents, frames};

/// What a page knows of a trace.
#[derive(Debug)]
pub struct Bundle {
    facts: Facts,
    documents: Map<String, Value>,
    heap: Option<Value>,
    sections: BTreeMap<&'static str, Section>,
}

#[derive(Serialize)]
struct Header<'a> {
    facts: &'a Facts,
    documents: &'a Map<String, Value>,
    heap: Option<&'a Value>,
    sections: BTreeMap<&'static str, Place>,
}

impl Bundle {
    /// Of a trace that was studied without a filter, with so many samples at most.
    ///
    /// # Errors
    /// If the trace cannot be read any more, or has blocks from before it begins, which a page cannot tell from others.
    pub fn of(study: &Study, most_samples: u64) -> anyhow::Result<Self> {
        let (trace, earlier) =
            (&study.reading.trace, study.reading.profile.replay().counts().earlier);
        ensure!(
            earlier == 0,
            "{}: it goes on where another trace ends, and has {earlier} blocks from there: a page has whole traces; make one of \
             a process's files by `lifetrace join`",
            trace.path.display()
        );
        let thinning = Thinning::of(study, most_samples)?;
        let share = thinning.as_ref().map(Thinning::share);
        let mut columns = columns::read(study, thinning)?;
        let facts = Facts::of(study, &mut columns, share)?;
        let tree = study.reading.profile.tree();
        let mut sections = BTreeMap::new();
        let is_used = columns.used_nodes(tree.len() + 1);
        let machinery = &study.choice.view.machinery;
        let numbers = frames::write(tree, &is_used, trace, machinery, &mut sections);
        columns.write(&numbers, trace.has_facts(), &mut sections);
        let (documents, heap) = (documents::of(study)?, beside::heap(&trace.path));
        Ok(Self { facts, documents, heap, sections })
    }

    /// What the program was run as.
    pub fn program(&self) -> &str {
        self.facts.program()
    }

    /// Its bytes, as docs/format-page.md describes them.
    ///
    /// # Errors
    /// If the header is none of JSON's.
    pub fn bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut body = Vec::new();
        let append =
            |(name, section): (&&'static str, &Section)| (*name, section.append(&mut body));
        let places: BTreeMap<_, _> = self.sections.iter().map(append).collect();
        // The header has the places, and these depend on its length.
        let mut begin = 0;
        loop {
            let moved = places.iter().map(|(&name, place)| (name, place.after(begin))).collect();
            let mut bytes = self.head(moved)?;
            if bytes.len() <= begin {
                bytes.resize(begin, 0);
                bytes.append(&mut body);
                return Ok(bytes);
            }
            align(&mut bytes);
            begin = bytes.len();
        }
    }

    fn head(&self, sections: BTreeMap<&'static str, Place>) -> serde_json::Result<Vec<u8>> {
        let Self { facts, documents, heap, .. } = self;
        let mut bytes = vec![0; 4];
        let heap = heap.as_ref();
        serde_json::to_writer(&mut bytes, &Header { facts, documents, heap, sections })?;
        let length = (bytes.len() - 4) as u32;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        Ok(bytes)
    }

    /// Writes it as base64 of zlib.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&self, output: impl Write) -> anyhow::Result<()> {
        let base64 = EncoderWriter::new(output, &STANDARD);
        let mut packed = ZlibEncoder::new(base64, Compression::default());
        packed.write_all(&self.bytes()?)?;
        packed.finish()?.finish()?;
        Ok(())
    }
}
