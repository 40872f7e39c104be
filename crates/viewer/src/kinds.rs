//! What samples have in common that count alike.

use std::collections::BTreeMap;
use std::sync::Arc;

use lifetrace_analysis::Weight;
use lifetrace_analysis::filter::KnownSource;
use lifetrace_analysis::history::Block;
use lifetrace_report::unit_name;
use lifetrace_trace::event::{Source, TraceInfo};
use lifetrace_trace::fact::{SampledUnit, Sampler};
use lifetrace_trace::ids::SamplerId;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::section::Section;

const GROWTH: u8 = 1;

/// The kinds of samples, and where they come from.
#[derive(Debug)]
pub struct Kinds {
    numbers: FxHashMap<Kind, u32>,
    bytes: Vec<f64>,
    weight: Vec<f64>,
    source: Vec<u32>,
    flags: Vec<u8>,
    samplers: BTreeMap<SamplerId, Sampling>,
    sources: Vec<(Sampling, Source)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Kind {
    bytes: u64,
    /// Its bits.
    weight: u64,
    source: u32,
    flags: u8,
}

/// How a sampler draws for now.
#[derive(Clone, Debug, PartialEq)]
struct Sampling {
    name: Option<Arc<str>>,
    unit: SampledUnit,
    rate: f64,
}

/// A row of `facts.sources`.
#[derive(Debug, Serialize)]
pub struct SourceFields {
    name: Option<String>,
    source: &'static str,
    ocaml: bool,
    ruby: bool,
    unit: &'static str,
    rate: f64,
}

impl Kinds {
    /// Of a trace that says this of itself.
    pub fn new(info: &TraceInfo) -> Self {
        let first = Sampling { name: None, unit: SampledUnit::Word, rate: info.sample_rate };
        Self {
            numbers: FxHashMap::default(),
            bytes: Vec::new(),
            weight: Vec::new(),
            source: Vec::new(),
            flags: Vec::new(),
            samplers: BTreeMap::from([(SamplerId(0), first)]),
            sources: Vec::new(),
        }
    }

    /// From now on blocks are sampled so. A rate that makes no sense changes nothing but the name.
    pub fn set(&mut self, sampler: &Sampler) {
        let name = Some(sampler.name.clone());
        let before = self.of(sampler.id).clone();
        let new = match sampler.rate > 0.0 && sampler.rate <= 1.0 {
            true => Sampling { name, unit: sampler.unit, rate: sampler.rate },
            false => Sampling { name, ..before },
        };
        self.samplers.insert(sampler.id, new);
    }

    /// Those that were never told draw as the first one.
    fn of(&self, id: SamplerId) -> &Sampling {
        self.samplers.get(&id).unwrap_or(&self.samplers[&SamplerId(0)])
    }

    /// The row of a sample's kind.
    pub fn number(&mut self, block: &Block, weight: Weight) -> u32 {
        let kind = Kind {
            bytes: block.bytes,
            weight: weight.value().to_bits(),
            source: self.source(block),
            flags: if block.is_growth { GROWTH } else { 0 },
        };
        if let Some(number) = self.numbers.get(&kind) {
            return *number;
        }
        self.bytes.push(block.bytes as f64);
        self.weight.push(weight.value());
        self.source.push(kind.source);
        self.flags.push(kind.flags);
        let number = self.numbers.len() as u32;
        self.numbers.insert(kind, number);
        number
    }

    /// There are a few only.
    fn source(&mut self, block: &Block) -> u32 {
        let mut sampling = self.of(block.sampler);
        let unnamed;
        if !self.samplers.contains_key(&block.sampler) {
            unnamed = Sampling { name: None, ..sampling.clone() };
            sampling = &unnamed;
        }
        let is_it = |(it, source): &(Sampling, Source)| *source == block.source && it == sampling;
        if let Some(row) = self.sources.iter().position(is_it) {
            return row as u32;
        }
        let sampling = sampling.clone();
        self.sources.push((sampling, block.source));
        self.sources.len() as u32 - 1
    }

    /// The rows of `facts.sources`, where only so large a share of the hits is in the page.
    pub fn sources(&self, share: f64) -> Vec<SourceFields> {
        let fields = |(sampling, source): &(Sampling, Source)| {
            let name = sampling.name.as_deref();
            let is = |known: KnownSource| known.matches(*source, name);
            SourceFields {
                name: name.map(str::to_owned),
                source: source_name(*source, is(KnownSource::Native)),
                ocaml: is(KnownSource::OCaml),
                ruby: is(KnownSource::Ruby),
                unit: unit_name(sampling.unit),
                rate: sampling.rate * share,
            }
        };
        self.sources.iter().map(fields).collect()
    }

    /// As sections.
    pub fn write(self, sections: &mut BTreeMap<&'static str, Section>) {
        sections.insert("kind.bytes", Section::F64(self.bytes));
        sections.insert("kind.weight", Section::F64(self.weight));
        sections.insert("kind.source", Section::narrow(&self.source));
        sections.insert("kind.flags", Section::U8(self.flags));
    }
}

fn source_name(source: Source, is_native: bool) -> &'static str {
    match source {
        Source::Minor => KnownSource::Minor.name(),
        Source::Major => KnownSource::Major.name(),
        Source::External if is_native => KnownSource::Native.name(),
        Source::External => KnownSource::External.name(),
    }
}
