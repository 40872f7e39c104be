//! Which blocks get into a trace that is made of another.
//!
//! A trace of some blocks looks like that of a program that allocated no others, so it says what it
//! is: its label `slice.filter` has the filter. If its input has one already, both hold.

use std::io;
use std::sync::Arc;

use lifetrace_analysis::Names;
use lifetrace_analysis::filter::Filter;
use lifetrace_study::sieve::{LABEL, Sieve};
use lifetrace_study::twice::Twice;
use lifetrace_trace::event::{Location, TraceInfo};
use lifetrace_trace::fact::{Fact, Label};
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::{LocationCode, ThreadId};
use lifetrace_trace::record::{Record, RecordKind};
use rustc_hash::FxHashMap;

use crate::bar;
use crate::transfer::{Reader, Writer};

/// Of all that a trace tells, what another one will.
pub struct Selection(Option<Chosen>);

struct Chosen {
    filter: String,
    sieve: Sieve,
    modules: Modules,
}

impl Selection {
    /// Everything.
    pub fn all() -> Self {
        Self(None)
    }

    /// What is about the blocks that a filter lets through. The trace says `info` about itself; it is
    /// read as often as the filter needs.
    ///
    /// # Errors
    /// If it is no trace, or nothing can be estimated from it, or it does not tell what the filter
    /// needs.
    pub fn of(
        input: &Twice,
        filter: &Filter,
        info: &TraceInfo,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        if filter.is_empty() {
            return Ok(Self::all());
        }
        let sieve =
            Sieve::new(lifetrace_study::admission(input, filter, bar::unless(quiet))?, info)?;
        let (filter, modules) = (filter.to_string(), Modules::default());
        Ok(Self(Some(Chosen { filter, sieve, modules })))
    }

    /// Writes what the new trace says first.
    ///
    /// # Errors
    /// The output's.
    pub fn announce(&self, info: &TraceInfo, writer: &mut Writer<'_>) -> io::Result<()> {
        let Some(Chosen { filter, .. }) = self.0.as_ref().filter(|_| writer.has_facts()) else {
            return Ok(());
        };
        let label = Label { key: LABEL.into(), value: filter.as_str().into() };
        let record = Record {
            time: info.start_time,
            thread: ThreadId(0),
            domain: info.initial_domain,
            kind: Fact::Label(label).into(),
        };
        writer.put(&record, &[], &mut |_| Frame::default())
    }

    /// Whether what a reader has just told is in it; to be asked of all that is told.
    pub fn keeps(&mut self, reader: &Reader, record: &mut Record) -> bool {
        self.0.as_mut().is_none_or(|chosen| chosen.keeps(reader, record))
    }
}

impl Chosen {
    fn keeps(&mut self, reader: &Reader, record: &mut Record) -> bool {
        if let RecordKind::Fact(fact) = &mut record.kind {
            self.learn(fact);
        }
        let named = Named { reader, modules: &self.modules };
        self.sieve.keeps(record, reader.backtrace(), &named)
    }

    fn learn(&mut self, fact: &mut Fact) {
        match fact {
            Fact::Module(module) => {
                self.modules.insert(module.number, module.path.clone());
            }
            Fact::Label(Label { key, value }) if &**key == LABEL => {
                *value = format!("{value} {}", self.filter).into();
            }
            _ => {}
        }
    }
}

/// Paths of the object files that were told, by their numbers.
type Modules = FxHashMap<u32, Arc<str>>;

/// A reader, and the modules that it has told of.
struct Named<'a> {
    reader: &'a Reader,
    modules: &'a Modules,
}

impl Names for Named<'_> {
    fn locations(&self, code: LocationCode) -> &[Location] {
        self.reader.locations(code)
    }

    fn kind(&self, code: LocationCode) -> FrameKind {
        let frame = self.reader.as_lt().and_then(|reader| reader.frame(code));
        frame.map_or(FrameKind::Unknown, |frame| frame.kind)
    }

    fn module(&self, code: LocationCode) -> Option<&str> {
        let number = self.reader.as_lt()?.frame(code)?.module?;
        self.modules.get(&number).map(|path| &**path)
    }
}
