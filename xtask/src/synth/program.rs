//! A program at work: events in the order of time, written as they happen.
//!
//! Time is in microseconds since the start. What is to come of blocks that live is in a queue; its
//! length, and so memory, depends on how long blocks live, not on how long the trace is.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::Write;

use anyhow::Result;
use lifetrace_trace::chance::Chance;
use lifetrace_trace::event::{GROWTH, Source};
use lifetrace_trace::fact::{Cycle, Fact, Generation};
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp, Words,
};
use lifetrace_trace::lt::{NewBirth, Writer};

use super::Options;
use super::random::Random;
use super::sites::{Habit, Site, Sites};
use super::stacks::Stacks;
use super::telling::{self, Memory, RATE, START};

/// From one sampled birth to the next, on average: 1 GB/s at 512 KiB.
const GAP: f64 = 500.0;

/// Of the load: in its first half it is twice as high as in the second.
const PERIOD: u64 = 60_000_000;

const LOOK: u64 = 500_000;
const MINOR_CYCLE: u64 = 20_000;
const MAJOR_CYCLE: u64 = 2_000_000;

/// A thread is at work for so many births on average.
const TURN: u64 = 30;

/// Something that happens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Look,
    Cycle(bool),
    Promotion(Living),
    Death(Living),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Living {
    id: u64,
    /// Who frees it; none if whoever is at work then.
    thread: Option<u32>,
    /// Its own, and those of the blocks that it stands for.
    bytes: u64,
}

pub struct Program<'a, W> {
    writer: Writer<W>,
    options: &'a Options,
    random: Random,
    stacks: Stacks,
    sites: Sites,
    caches: Vec<VecDeque<Living>>,
    queue: BinaryHeap<Reverse<(u64, Due)>>,
    memory: Memory,
    live_bytes: u64,
    now: u64,
    thread: usize,
    cycles: [u64; 2],
    events: u64,
    backtrace: Vec<LocationCode>,
}

impl<'a, W: Write> Program<'a, W> {
    pub fn new(output: W, options: &'a Options) -> Result<Self> {
        let mut random = Random::new(options.seed);
        let mut writer = Writer::new(output, &telling::info(options))?;
        telling::preface(&mut writer, options)?;
        let (shape, sites) = (options.shape, options.shape.sites());
        let mut program = Self {
            writer,
            options,
            stacks: Stacks::new(shape, options.threads, &mut random),
            sites: Sites::new(shape, options, &mut random),
            caches: vec![VecDeque::new(); sites],
            queue: BinaryHeap::new(),
            memory: Memory::default(),
            live_bytes: 0,
            now: 0,
            thread: 0,
            cycles: [0; 2],
            events: 0,
            backtrace: Vec::new(),
            random,
        };
        program.plan(0, Due::Look);
        if options.gc {
            program.plan(MINOR_CYCLE, Due::Cycle(false));
            program.plan(MAJOR_CYCLE, Due::Cycle(true));
        }
        Ok(program)
    }

    /// Until there are as many events as were asked for. Gives back the output.
    pub fn run(mut self) -> Result<W> {
        self.work()?;
        self.writer.fact(self.time(), &telling::end())?;
        Ok(self.writer.finish()?)
    }

    pub fn work(&mut self) -> Result<()> {
        while self.events < self.options.events {
            let gap = self.random.exponential(GAP / self.load()).ceil() as u64;
            let next = self.now + gap;
            while let Some(due) = self.next_due(next) {
                self.happen(due)?;
            }
            self.now = next;
            if self.events < self.options.events {
                self.birth()?;
            }
        }
        Ok(())
    }

    fn next_due(&mut self, end: u64) -> Option<Due> {
        let is_due = |next: &Reverse<(u64, Due)>| next.0.0 <= end;
        if self.events >= self.options.events || !self.queue.peek().is_some_and(is_due) {
            return None;
        }
        let Reverse((time, due)) = self.queue.pop()?;
        self.now = time;
        Some(due)
    }

    fn happen(&mut self, due: Due) -> Result<()> {
        match due {
            Due::Look => {
                let fact = self.memory.look(self.live_bytes);
                self.writer.fact(self.time(), &fact)?;
                self.plan(self.now + LOOK, due);
            }
            Due::Cycle(is_major) => self.cycle(is_major)?,
            Due::Promotion(block) => {
                self.writer.promotion(self.time(), AllocationId(block.id))?;
                self.events += 1;
            }
            Due::Death(block) => self.death(block)?,
        }
        Ok(())
    }

    fn cycle(&mut self, is_major: bool) -> Result<()> {
        let generation = if is_major { Generation::Major } else { Generation::Minor };
        let number = &mut self.cycles[usize::from(is_major)];
        *number += 1;
        let number = *number;
        for begins in [true, false] {
            let cycle = Fact::Cycle(Cycle { generation, number, begins });
            self.writer.fact(self.time(), &cycle)?;
        }
        let period = if is_major { MAJOR_CYCLE } else { MINOR_CYCLE };
        self.plan(self.now + period, Due::Cycle(is_major));
        Ok(())
    }

    fn death(&mut self, block: Living) -> Result<()> {
        let thread = block.thread.unwrap_or(self.thread as u32);
        self.writer.switch(ThreadId(thread), DomainId(0));
        self.writer.collection(self.time(), AllocationId(block.id))?;
        self.live_bytes = self.live_bytes.saturating_sub(block.bytes);
        self.events += 1;
        Ok(())
    }

    fn birth(&mut self) -> Result<()> {
        if self.random.once_in(TURN) {
            self.thread = self.random.below(self.options.threads as u64) as usize;
        }
        let number = self.sites.draw(self.thread, &mut self.random);
        let site = self.sites.site(number);
        let size = site.size(&mut self.random);
        let is_growth = site.grows() && !self.options.gc;
        self.backtrace.clear();
        let stack = self.stacks.backtrace(self.thread, number, &mut self.random);
        self.backtrace.extend_from_slice(stack);
        self.backtrace.extend(is_growth.then_some(GROWTH));
        let id = self.write_birth(size)?;
        let bytes = stands_for(size);
        self.live_bytes += bytes;
        self.events += 1;
        let thread = (!site.is_handed_over).then_some(self.thread as u32);
        self.schedule(number, site, Living { id: id.0, thread, bytes })
    }

    fn write_birth(&mut self, size: u64) -> Result<AllocationId> {
        let is_managed = self.options.gc;
        let birth = NewBirth {
            size: match is_managed {
                true => Size::Words(Words(size / 8)),
                false => Size::Bytes(Bytes(size)),
            },
            samples: 1 + further_hits(size, &mut self.random),
            source: if is_managed { Source::Minor } else { Source::External },
            sampler: SamplerId(0),
            is_truncated: false,
            backtrace: &self.backtrace,
            common_prefix: 0,
            id: None,
        };
        self.writer.switch(ThreadId(self.thread as u32), DomainId(0));
        Ok(self.writer.birth(self.time(), &birth, &mut telling::locate)?)
    }

    /// Plans the rest of a block's life.
    fn schedule(&mut self, number: usize, site: Site, block: Living) -> Result<()> {
        let death = match site.habit {
            Habit::Temporary(time) | Habit::Session(time) => {
                self.now + self.random.exponential(time) as u64
            }
            Habit::Batch => self.now.next_multiple_of(PERIOD) + self.random.below(1_000_000),
            Habit::Leak => u64::MAX,
            Habit::Cache(capacity) => {
                self.caches[number].push_back(block);
                let is_full = self.caches[number].len() > capacity;
                let evicted = is_full.then(|| self.caches[number].pop_front()).flatten();
                evicted.into_iter().for_each(|oldest| self.plan(self.now, Due::Death(oldest)));
                u64::MAX
            }
        };
        let death = if self.options.gc { self.collected(death, block) } else { death };
        if death < u64::MAX {
            self.plan(death, Due::Death(block));
        }
        Ok(())
    }

    /// When a block that is garbage from `death` on is found dead; it is promoted if that is later
    /// than the next minor cycle.
    fn collected(&mut self, death: u64, block: Living) -> u64 {
        let minor = (self.now + 1).next_multiple_of(MINOR_CYCLE);
        if death <= minor {
            return minor;
        }
        self.plan(minor, Due::Promotion(block));
        death.checked_next_multiple_of(MAJOR_CYCLE).unwrap_or(u64::MAX)
    }

    fn plan(&mut self, time: u64, due: Due) {
        self.queue.push(Reverse((time, due)));
    }

    fn load(&self) -> f64 {
        if self.now % PERIOD < PERIOD / 2 { 4.0 / 3.0 } else { 2.0 / 3.0 }
    }

    fn time(&self) -> Timestamp {
        Timestamp(START.0 + self.now)
    }

    /// How many blocks are known to be going to be told of again.
    #[cfg(test)]
    pub fn pending(&self) -> usize {
        self.queue.len() + self.caches.iter().map(VecDeque::len).sum::<usize>()
    }
}

/// Hits of a block after its first one: its other words, approximately.
fn further_hits(size: u64, random: &mut Random) -> u64 {
    let (mut hits, mut words) = (0, size as f64 / 8.0);
    while words * RATE > 1e-6 {
        words -= random.exponential(1.0 / RATE);
        hits += u64::from(words > 0.0);
    }
    hits
}

/// Estimated bytes.
fn stands_for(size: u64) -> u64 {
    let words = size.div_ceil(8).max(1) as f64;
    (size as f64 / Chance::per_unit(RATE).any_of(words)) as u64
}
