//! A trace that is looked at from several sides: read once for what all reports need, and again for
//! what only one of them does.

use std::path::Path;

use lifetrace_analysis::{Observer, Replay};

use crate::bar::Bar;
use crate::open::{Backtraces, Trace};
use crate::summary::{self, Reading};
use crate::twice::Twice;

/// A trace and what has been found out about it.
pub struct Study {
    /// The whole trace, added up.
    pub reading: Reading,
    input: Twice,
}

impl Study {
    /// Reads a trace; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be opened, or its samples mean nothing. Damage further on is no error.
    pub fn of(path: &Path) -> anyhow::Result<Self> {
        let input = Twice::open(path)?;
        let reading = summary::read_input(input.again()?, Backtraces::Read)?;
        Ok(Self { reading, input })
    }

    /// The trace from its beginning.
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub fn again(&self, backtraces: Backtraces) -> anyhow::Result<Trace> {
        Trace::read(self.input.again()?, backtraces)
    }

    /// Tells an observer of all lives. Backtraces have the nodes that they have in the
    /// [reading](Self::reading).
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn replay(&self, observer: &mut impl Observer) -> anyhow::Result<()> {
        let mut trace = self.again(Backtraces::Read)?;
        let _bar = Bar::start(trace.progress(), trace.file_bytes, false)?;
        let mut replay = Replay::new(trace.info())?;
        while let Some(told) = trace.next() {
            replay.take(&told, trace.backtrace(), observer);
        }
        replay.finish(trace.end_time(), observer);
        Ok(())
    }
}
