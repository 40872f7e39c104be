//! A sampled block and an object file, in the trace's words.

use std::sync::Arc;

use lifetrace_trace::event::{GROWTH, Source};
use lifetrace_trace::fact;
use lifetrace_trace::ids::{Bytes, LocationCode, SamplerId, Size};
use lifetrace_transport::message::{AllocationKind, MANAGED_FRAME, Module, SampleId, SourceKind};

use crate::places::{DESERIALISED, Places};
use crate::samplers::WORD_BITS;

/// As an agent has told of it.
pub(super) struct Block {
    pub(super) id: SampleId,
    pub(super) size: u64,
    pub(super) samples: u64,
    pub(super) source: SourceKind,
    pub(super) sampler: SamplerId,
    pub(super) counts_words: bool,
    /// One more innermost frame.
    pub(super) mark: Option<LocationCode>,
}

impl Block {
    pub(super) fn size(&self) -> Size {
        let bytes = Size::Bytes(Bytes(self.size));
        if self.counts_words { Size::Words(bytes.words(WORD_BITS)) } else { bytes }
    }
}

pub(super) fn mark_of(kind: AllocationKind, places: &mut Places) -> Option<LocationCode> {
    match kind {
        AllocationKind::Plain => None,
        AllocationKind::Growth => Some(GROWTH),
        AllocationKind::Deserialised => Some(DESERIALISED),
        AllocationKind::Outside(kind) => Some(places.code(MANAGED_FRAME | kind.frame())),
    }
}

pub(super) fn source_of(kind: SourceKind) -> Source {
    match kind {
        SourceKind::Minor => Source::Minor,
        SourceKind::Major => Source::Major,
        SourceKind::Malloc | SourceKind::External => Source::External,
    }
}

pub(super) fn module_fact(number: u32, path: Arc<str>, module: &Module<'_>) -> fact::Module {
    fact::Module {
        number,
        start: module.start,
        end: module.end,
        bias: module.bias,
        build_id: module.build_id.to_vec(),
        path,
    }
}
