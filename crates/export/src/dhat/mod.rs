//! DHAT's JSON, version 2: a program point for each backtrace, with its lifetimes. Valgrind's
//! `dh_view.html` opens it.
//!
//! Reads and writes of blocks are not known (`bkacc` is false). What a realloc adds has bytes and no
//! block. Numbers are rounded so that their sums over all points are those of reports.

mod frames;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use lifetrace_analysis::account::Balance;
use lifetrace_analysis::estimate::Tally;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::{Death, since};
use lifetrace_analysis::{Observer, Shaped};
use lifetrace_human::json_text;
use lifetrace_import as import;
use lifetrace_pprof::whole::apportion;
use lifetrace_study::Reading;
use lifetrace_study::Study;
use lifetrace_trace::ids::Timestamp;
use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};

use super::notes::annotated_command;
use frames::{Frames, PointId};

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "dhatFileVersion")]
    version: u8,
    mode: &'static str,
    verb: &'static str,
    bklt: bool,
    bkacc: bool,
    #[serde(flatten)]
    clock: Clock,
    cmd: String,
    pid: u64,
    te: u64,
    tg: u64,
    pps: Points<'a>,
    ftbl: &'a [String],
}

/// How time is counted; a block that lives at most `tuth` is said to be short-lived.
#[derive(Serialize)]
struct Clock {
    tu: &'static str,
    #[serde(rename = "Mtu")]
    mtu: &'static str,
    tuth: u64,
}

const MICROSECONDS: Clock = Clock { tu: "µs", mtu: "s", tuth: 10 };

/// As Valgrind has them.
const INSTRUCTIONS: Clock = Clock { tu: "instrs", mtu: "Minstr", tuth: 500 };

/// A program point: total, lifetimes, its own maximum, at the program's maximum, at the end.
#[derive(Serialize)]
struct Point {
    tb: u64,
    tbk: u64,
    tl: u64,
    mb: u64,
    mbk: u64,
    gb: u64,
    gbk: u64,
    eb: u64,
    ebk: u64,
    /// Innermost frame first.
    fs: Vec<u32>,
}

pub fn write(study: &Study, output: &mut dyn Write) -> anyhow::Result<()> {
    let reading = &study.reading;
    let summary = reading.profile.summary();
    let view = &study.choice.view;
    let frames = Frames::new(Shaped::new(reading.profile.tree(), &reading.trace, view));
    let mut lives = Lives { frames: &frames, of: FxHashMap::default() };
    study.replay(&mut lives)?;
    let pps = Points::new(reading, &frames, &lives)?;
    let is_of_instructions = reading.facts.labels.contains_key(import::CLOCK);
    let file = File {
        version: 2,
        mode: "heap",
        verb: "Allocated",
        bklt: true,
        bkacc: false,
        clock: if is_of_instructions { INSTRUCTIONS } else { MICROSECONDS },
        cmd: annotated_command(study, None),
        pid: reading.trace.info().pid,
        te: summary.duration.as_micros() as u64,
        tg: summary.peak.time.as_micros() as u64,
        pps,
        ftbl: &frames.texts,
    };
    let mut output = BufWriter::new(output);
    json_text::compact(&mut output, &file).map_err(io::Error::from)?;
    writeln!(output)?;
    Ok(output.flush()?)
}

/// All points, made one by one while they are written: deep backtraces take more memory than all else.
struct Points<'a> {
    frames: &'a Frames<'a>,
    ids: Vec<PointId>,
    lives: Vec<Life>,
    total: Amounts,
    peak: Amounts,
    end: Amounts,
}

/// Whole numbers that add up.
struct Amounts {
    bytes: Vec<u64>,
    blocks: Vec<u64>,
}

impl<'a> Points<'a> {
    fn new(reading: &Reading, frames: &'a Frames<'a>, lives: &Lives<'_>) -> anyhow::Result<Self> {
        let mut balances: BTreeMap<PointId, Balance> = BTreeMap::new();
        for (node, balance) in reading.profile.balances() {
            if let Some(point) = frames.point(node) {
                *balances.entry(point).or_default() += &balance;
            }
        }
        let ids: Vec<_> = balances.keys().copied().collect();
        let life = |id| lives.of.get(id).copied().unwrap_or_default();
        Ok(Self {
            frames,
            lives: ids.iter().map(life).collect(),
            total: Amounts::new("allocated", balances.values().map(|it| &it.allocated))?,
            peak: Amounts::new("at the peak", balances.values().map(|it| &it.peak))?,
            end: Amounts::new("at the end", balances.values().map(|it| &it.live))?,
            ids,
        })
    }

    fn point(&self, index: usize) -> Point {
        let Self { total, peak, end, .. } = self;
        let life = &self.lives[index];
        let (gb, gbk) = (peak.bytes[index], peak.blocks[index]);
        let (eb, ebk) = (end.bytes[index], end.blocks[index]);
        Point {
            tb: total.bytes[index],
            tbk: total.blocks[index],
            tl: life.lifetimes.round() as u64,
            // They are rounded each by itself, and no maximum is less than another.
            mb: (life.most.bytes.round() as u64).max(gb).max(eb),
            mbk: life.most.blocks.round() as u64,
            gb,
            gbk,
            eb,
            ebk,
            fs: self.frames.of(self.ids[index]),
        }
    }
}

impl Serialize for Points<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.ids.len()).map(|index| self.point(index)))
    }
}

impl Amounts {
    fn new<'t>(
        when: &str,
        tallies: impl Iterator<Item = &'t Tally> + Clone,
    ) -> anyhow::Result<Self> {
        let bytes: Vec<_> = tallies.clone().map(|it| it.amount().bytes.value).collect();
        let blocks: Vec<_> = tallies.map(|it| it.amount().objects.value).collect();
        Ok(Self {
            bytes: apportion(&format!("bytes {when}"), &bytes)?,
            blocks: apportion(&format!("blocks {when}"), &blocks)?,
        })
    }
}

/// How long blocks lived, and how many lived at once, by point.
struct Lives<'a> {
    frames: &'a Frames<'a>,
    of: FxHashMap<PointId, Life>,
}

#[derive(Clone, Copy, Default)]
struct Life {
    /// In microseconds, summed.
    lifetimes: f64,
    live: Live,
    /// When it had most bytes.
    most: Live,
}

#[derive(Clone, Copy, Default)]
struct Live {
    bytes: f64,
    blocks: f64,
}

impl Lives<'_> {
    /// Nothing if the block's backtrace is left out.
    fn life(&mut self, block: &Block) -> Option<&mut Life> {
        Some(self.of.entry(self.frames.point(block.backtrace)?).or_default())
    }

    fn end(&mut self, block: &Block, end: Timestamp) {
        if let Some(life) = self.life(block).filter(|_| !block.is_growth) {
            let lifetime = since(block.born, end).as_micros() as f64;
            life.lifetimes += block.weight.value() * lifetime;
        }
    }
}

impl Observer for Lives<'_> {
    fn born(&mut self, block: &Block) {
        let amount = block.tally().amount();
        let Some(life) = self.life(block) else { return };
        life.live.bytes += amount.bytes.value;
        life.live.blocks += amount.objects.value;
        if life.live.bytes > life.most.bytes {
            life.most = life.live;
        }
    }

    fn died(&mut self, block: &Block, death: Death) {
        self.end(block, death.time);
        let amount = block.tally().amount();
        let Some(life) = self.life(block) else { return };
        life.live.bytes -= amount.bytes.value;
        life.live.blocks -= amount.objects.value;
    }

    fn survived(&mut self, block: &Block, end: Timestamp) {
        self.end(block, end);
    }
}
