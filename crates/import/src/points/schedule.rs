//! Writes batches of blocks in the order of time.
//!
//! What is brief is born only if there is room for it: at no time may there be more bytes than at the
//! peak that the file tells. Otherwise it waits until something dies. What still waits at the end is
//! born there, and dies at once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;

use lifetrace_trace::event::GROWTH;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, Bytes, LocationCode, Timestamp};

use super::super::scribe::{NewBlock, Path, Scribe};
use super::Times;
use super::batches::{Batch, Life};
use super::stand_ins::{sampler, weight};

/// So many batches that wait are looked at whenever something dies.
const CHANCES: usize = 16;

/// Where points are.
pub trait Backtraces {
    /// Of a point, by its index, outermost frame first.
    fn backtrace(&self, point: usize) -> &[LocationCode];

    /// What a frame stands for.
    fn frame(&self, code: LocationCode) -> Frame;
}

/// What happens at one time, in this order: what is brief dies before anything is born, so that it
/// is not part of the peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    BriefDeath,
    Birth,
    Death,
}

struct Running {
    batch: Batch,
    born: u64,
    /// With the times of their deaths, oldest first.
    living: VecDeque<(u64, AllocationId)>,
}

/// What is sure to live, whatever becomes of brief blocks: sums of bytes, by time.
struct Committed {
    born: Vec<(u64, u128)>,
    died: Vec<(u64, u128)>,
    brief: u128,
    most: u128,
}

/// What has come of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The most bytes that were alive.
    pub peak: u128,
    /// Brief blocks that never had room to live as long as they should.
    pub cut_short: u64,
}

struct Schedule<'a, 'w> {
    queue: BinaryHeap<Reverse<(u64, Step, usize)>>,
    running: Vec<Running>,
    /// Brief blocks without room: batches, and how many blocks.
    waiting: VecDeque<(usize, u64)>,
    committed: Committed,
    end: u64,
    backtraces: &'a dyn Backtraces,
    scribe: &'a mut Scribe<'w>,
    start: u64,
    /// Of the last block; a point.
    path: Vec<LocationCode>,
    live: u128,
    outcome: Outcome,
}

/// Writes all. `most` is the peak that the file tells, in bytes.
///
/// # Errors
/// Those of the output.
pub fn write(
    batches: Vec<Batch>,
    times: Times,
    most: u128,
    backtraces: &dyn Backtraces,
    scribe: &mut Scribe<'_>,
) -> io::Result<Outcome> {
    let committed = Committed::new(&batches, most);
    let running = |batch| Running { batch, born: 0, living: VecDeque::new() };
    let mut schedule = Schedule {
        queue: BinaryHeap::new(),
        running: batches.into_iter().map(running).collect(),
        waiting: VecDeque::new(),
        committed,
        end: times.end,
        backtraces,
        start: scribe.now().0,
        scribe,
        path: Vec::new(),
        live: 0,
        outcome: Outcome::default(),
    };
    (0..schedule.running.len()).for_each(|index| schedule.plan_birth(index));
    schedule.run()?;
    schedule.conclude()?;
    Ok(schedule.outcome)
}

impl Committed {
    fn new(batches: &[Batch], most: u128) -> Self {
        let mut committed = Self { born: Vec::new(), died: Vec::new(), brief: 0, most };
        for batch in batches {
            if let Life::To { birth, death } = batch.life {
                let all = bytes(batch) * u128::from(batch.blocks);
                committed.born.push((birth, all));
                committed.died.extend(death.map(|death| (death, all)));
            }
        }
        for side in [&mut committed.born, &mut committed.died] {
            side.sort_unstable_by_key(|(time, _)| *time);
            let mut sum = 0;
            side.iter_mut().for_each(|(_, bytes)| {
                sum += *bytes;
                *bytes = sum;
            });
        }
        committed
    }

    /// Whether a brief block can live from one time to another below the peak.
    fn has_room(&self, from: u64, to: u64, bytes: u128) -> bool {
        let until = |side: &[(u64, u128)], time| {
            let count = side.partition_point(|(other, _)| *other <= time);
            count.checked_sub(1).map_or(0, |last| side[last].1)
        };
        let others = until(&self.born, to) - until(&self.died, from);
        self.brief + others + bytes < self.most
    }
}

impl Schedule<'_, '_> {
    fn run(&mut self) -> io::Result<()> {
        while let Some(Reverse((time, step, index))) = self.queue.pop() {
            self.scribe.advance(Timestamp(self.start.saturating_add(time)));
            match step {
                Step::Birth => self.birth(index, time)?,
                Step::BriefDeath | Step::Death => self.death(index, time)?,
            }
        }
        Ok(())
    }

    /// As the queue has it.
    fn birth(&mut self, index: usize, time: u64) -> io::Result<()> {
        let life = self.running[index].batch.life;
        self.running[index].born += 1;
        self.plan_birth(index);
        match life {
            Life::To { death, .. } => self.bear(index, death),
            Life::Spread { .. } if self.fits(index, time) => self.bear_brief(index, time),
            Life::Spread { .. } => {
                self.defer(index);
                Ok(())
            }
        }
    }

    /// Gives some of those that wait a chance.
    fn bear_waiting(&mut self, time: u64) -> io::Result<()> {
        for _ in 0..self.waiting.len().min(CHANCES) {
            let Some((index, mut blocks)) = self.waiting.pop_front() else { break };
            while blocks > 0 && self.fits(index, time) {
                self.bear_brief(index, time)?;
                blocks -= 1;
            }
            if blocks > 0 {
                self.waiting.push_back((index, blocks));
            }
        }
        Ok(())
    }

    /// A brief block is born later.
    fn defer(&mut self, index: usize) {
        match self.waiting.back_mut() {
            Some((last, blocks)) if *last == index => *blocks += 1,
            _ => self.waiting.push_back((index, 1)),
        }
    }

    fn fits(&self, index: usize, time: u64) -> bool {
        let batch = &self.running[index].batch;
        let death = batch.life.death(time);
        death <= self.end && self.committed.has_room(time, death, bytes(batch))
    }

    fn bear_brief(&mut self, index: usize, time: u64) -> io::Result<()> {
        let batch = &self.running[index].batch;
        self.committed.brief += bytes(batch);
        let death = batch.life.death(time);
        self.bear(index, Some(death))
    }

    fn bear(&mut self, index: usize, death: Option<u64>) -> io::Result<()> {
        let batch = self.running[index].batch;
        let id = self.write_birth(&batch)?;
        self.live += bytes(&batch);
        self.outcome.peak = self.outcome.peak.max(self.live);
        if let Some(death) = death {
            let living = &mut self.running[index].living;
            living.push_back((death, id));
            if living.len() == 1 {
                self.plan_death(index);
            }
        }
        Ok(())
    }

    fn write_birth(&mut self, batch: &Batch) -> io::Result<AllocationId> {
        let known = self.backtraces.backtrace(batch.point);
        let frames = known.iter().chain(batch.is_growth.then_some(&GROWTH));
        let common = self.path.iter().zip(frames.clone()).take_while(|(one, other)| one == other);
        let common = common.count();
        self.path.truncate(common);
        self.path.extend(frames.skip(common));
        let block = NewBlock { size: Bytes(batch.size), sampler: sampler(batch.level) };
        let path = Path { frames: &self.path, common };
        self.scribe.birth(block, path, &mut |code| self.backtraces.frame(code))
    }

    fn death(&mut self, index: usize, time: u64) -> io::Result<()> {
        let running = &mut self.running[index];
        let Some((_, id)) = running.living.pop_front() else { return Ok(()) };
        let bytes = bytes(&running.batch);
        self.live -= bytes;
        if running.batch.life.is_brief() {
            self.committed.brief -= bytes;
        }
        self.scribe.death(id)?;
        self.plan_death(index);
        self.bear_waiting(time)
    }

    /// What waits is born, and dies.
    fn conclude(&mut self) -> io::Result<()> {
        self.scribe.advance(Timestamp(self.start.saturating_add(self.end)));
        while let Some((index, blocks)) = self.waiting.pop_front() {
            let batch = self.running[index].batch;
            self.outcome.cut_short += blocks;
            self.outcome.peak = self.outcome.peak.max(self.live + bytes(&batch));
            for _ in 0..blocks {
                let id = self.write_birth(&batch)?;
                self.scribe.death(id)?;
            }
        }
        Ok(())
    }

    fn plan_birth(&mut self, index: usize) {
        let Running { batch, born, .. } = &self.running[index];
        if *born < batch.blocks {
            let time = batch.life.birth(*born, batch.blocks);
            self.queue.push(Reverse((time, Step::Birth, index)));
        }
    }

    fn plan_death(&mut self, index: usize) {
        let Running { batch, living, .. } = &self.running[index];
        let step = if batch.life.is_brief() { Step::BriefDeath } else { Step::Death };
        if let Some((time, _)) = living.front() {
            self.queue.push(Reverse((*time, step, index)));
        }
    }
}

impl Life {
    /// When one of so many blocks is born.
    fn birth(&self, number: u64, of: u64) -> u64 {
        match *self {
            Self::To { birth, .. } => birth,
            Self::Spread { first, last, long } => {
                let room = u128::from(last.saturating_sub(first).saturating_sub(long));
                // In the middle of its part, so that those of several batches don't coincide.
                let halves = 2 * u128::from(number) + 1;
                first.saturating_add((room * halves / (2 * u128::from(of))) as u64)
            }
        }
    }

    /// When what is born now dies, if it is brief.
    fn death(&self, birth: u64) -> u64 {
        match *self {
            Self::To { death, .. } => death.unwrap_or(u64::MAX),
            Self::Spread { long, .. } => birth.saturating_add(long),
        }
    }

    fn is_brief(&self) -> bool {
        matches!(self, Self::Spread { .. })
    }
}

/// What one block of a batch stands for.
fn bytes(batch: &Batch) -> u128 {
    u128::from(batch.size) * u128::from(weight(batch.level))
}
