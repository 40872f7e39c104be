//! heaptrack's recordings, as its `heaptrack_interpret` writes them: each allocation and each free, for
//! `heaptrack_print` and `heaptrack_gui`.
//!
//! heaptrack knows nothing of samples: a block that stands for several is written so many times, with
//! sizes that add up to the bytes it stands for. If that would be too many lines, fewer and larger ones
//! are written, and the command, which its programs show, says so.

mod tables;

use std::io::{self, BufWriter, Write};

use lifetrace_analysis::Observer;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::Death;
use lifetrace_pprof::whole::Carry;
use lifetrace_study::Study;
use lifetrace_trace::fact::{Counters, Fact};
use lifetrace_trace::ids::Timestamp;
use rustc_hash::FxHashMap;

use super::notes::annotated_command;
use tables::Tables;

/// The versions that we write as: heaptrack 1.4.0, file format 3.
const VERSION: &str = "v 10400 3";

/// heaptrack's clock has steps of so many microseconds.
const STEP: u64 = 10_000;

const PAGE: u64 = 4096;

/// More allocations are not written.
const MOST: f64 = 16_777_216.0;

pub fn write(study: &Study, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut output = BufWriter::new(output);
    let mut weights = Weights::default();
    study.replay(&mut weights)?;
    let divisor = (weights.sum / MOST).ceil().max(1.0);
    writeln!(output, "{VERSION}\nX {}\nI {PAGE:x} 0", annotated_command(study, remark(divisor)))?;
    let mut recording = Recording::new(study, divisor, &mut output);
    study.replay(&mut recording)?;
    recording.conclude(study.reading.profile.replay().end())?;
    Ok(output.flush()?)
}

/// What is to be said of large ones.
fn remark(divisor: f64) -> Option<String> {
    let text = format!("each allocation stands for {divisor}, sizes are theirs together");
    (divisor > 1.0).then_some(text)
}

/// How many blocks there are.
#[derive(Default)]
struct Weights {
    sum: f64,
}

impl Observer for Weights {
    fn born(&mut self, block: &Block) {
        self.sum += block.weight.value();
    }
}

/// Writes what it hears.
struct Recording<'a> {
    output: &'a mut dyn Write,
    tables: Tables<'a>,
    start: Timestamp,
    /// In steps.
    now: u64,
    divisor: f64,
    blocks: Carry,
    bytes: Carry,
    /// How living blocks were written, by their numbers.
    living: FxHashMap<u64, Written>,
    failure: Option<io::Error>,
}

/// Classes, and how many blocks of each.
type Written = [(usize, u64); 2];

impl<'a> Recording<'a> {
    fn new(study: &'a Study, divisor: f64, output: &'a mut dyn Write) -> Self {
        Self {
            output,
            tables: Tables::new(study),
            start: study.reading.trace.info().start_time,
            now: 0,
            divisor,
            blocks: Carry::default(),
            bytes: Carry::default(),
            living: FxHashMap::default(),
            failure: None,
        }
    }

    /// The trace goes on after its last event: rates are of all of its time.
    ///
    /// # Errors
    /// Those of the output.
    fn conclude(self, end: Timestamp) -> io::Result<()> {
        self.failure.map_or(Ok(()), Err)?;
        let millis = end.0.saturating_sub(self.start.0).div_ceil(1000);
        match millis > self.now * STEP / 1000 {
            true => writeln!(self.output, "c {millis:x}"),
            false => Ok(()),
        }
    }

    /// After a failure nothing is written any more.
    fn attempt(&mut self, work: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.failure.is_none() {
            self.failure = work(self).err();
        }
    }

    fn advance(&mut self, time: Timestamp) -> io::Result<()> {
        let steps = time.0.saturating_sub(self.start.0) / STEP;
        if steps > self.now {
            self.now = steps;
            writeln!(self.output, "c {:x}", steps * STEP / 1000)?;
        }
        Ok(())
    }

    fn born(&mut self, block: &Block) -> io::Result<()> {
        let Some(backtrace) = self.tables.shown(block.backtrace) else { return Ok(()) };
        self.advance(block.born)?;
        let weight = block.weight.value();
        let blocks = self.blocks.round(weight / self.divisor).max(1) as u64;
        let bytes = self.bytes.round(weight * block.bytes as f64) as u64;
        let (size, larger) = (bytes / blocks, bytes % blocks);
        let mut written = [(0, 0); 2];
        for (part, (size, blocks)) in
            [(size, blocks - larger), (size + 1, larger)].into_iter().enumerate()
        {
            if blocks > 0 {
                let class = self.tables.class(size, backtrace, self.output)?;
                written[part] = (class, blocks);
            }
        }
        self.repeat('+', &written)?;
        self.living.insert(block.index, written);
        Ok(())
    }

    fn died(&mut self, block: &Block, time: Timestamp) -> io::Result<()> {
        self.advance(time)?;
        match self.living.remove(&block.index) {
            Some(written) => self.repeat('-', &written),
            None => Ok(()),
        }
    }

    fn repeat(&mut self, sign: char, written: &Written) -> io::Result<()> {
        for (class, blocks) in written {
            for _ in 0..*blocks {
                writeln!(self.output, "{sign} {class:x}")?;
            }
        }
        Ok(())
    }
}

impl Observer for Recording<'_> {
    fn born(&mut self, block: &Block) {
        self.attempt(|it| it.born(block));
    }

    fn died(&mut self, block: &Block, death: Death) {
        self.attempt(|it| it.died(block, death.time));
    }

    fn fact(&mut self, time: Timestamp, fact: &Fact) {
        if let Fact::Counters(Counters { resident: Some(resident), .. }) = fact {
            self.attempt(|it| {
                it.advance(time)?;
                writeln!(it.output, "R {:x}", resident.0 / PAGE)
            });
        }
    }
}
