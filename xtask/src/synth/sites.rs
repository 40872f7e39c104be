//! Callsites: what sizes they allocate, and how long their blocks live.

use super::Options;
use super::random::{Random, Zipf};
use super::stacks::Shape;

/// How long the blocks of a callsite live, in microseconds where a time is given: about that long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Habit {
    /// From a microsecond to a second.
    Temporary(f64),
    /// From a second to five minutes.
    Session(f64),
    /// Until so many younger ones are there: a plateau.
    Cache(usize),
    /// Until the end of the load's period.
    Batch,
    /// For ever: a line.
    Leak,
}

/// The sizes of a callsite's blocks, in bytes.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    One(u64),
    /// Texts and the like: mostly the same few again, the first ones most often.
    Between(u64, [u64; USUAL]),
    /// Of a buffer that doubles; what is sampled of it is growth.
    Doubling,
}

const USUAL: usize = 4;

#[derive(Clone, Copy, Debug)]
pub struct Site {
    pub habit: Habit,
    /// Its blocks are freed by whoever is at work then, not by the thread that allocated them.
    pub is_handed_over: bool,
    sizes: Sizes,
}

/// The callsites of a program, the busiest first; the last one leaks. Each belongs to a task.
pub struct Sites {
    sites: Vec<Site>,
    busy: Zipf,
    /// The callsites of each task, the busiest first.
    tasks: Vec<Zipf>,
    /// What each thread is about.
    current: Vec<usize>,
    /// One birth in so many is of the leak.
    leak_every: u64,
}

/// Births of a thread until it is about another task, on average.
const TASK: u64 = 20;

const CLASSES: [u64; 12] = [16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 4096, 16_384];

/// Sampled blocks that leak, in a trace of whatever length.
const LEAKS: u64 = 20_000;

impl Sites {
    pub fn new(shape: Shape, options: &Options, random: &mut Random) -> Self {
        let (count, tasks) = (shape.sites(), shape.tasks());
        let sites = (0..count).map(|rank| Site {
            habit: if rank + 1 == count { Habit::Leak } else { habit(rank, random) },
            is_handed_over: rank % 10 == 4,
            sizes: sizes(random),
        });
        Self {
            sites: sites.collect(),
            busy: Zipf::new(0..count - 1),
            tasks: (0..tasks).map(|task| Zipf::new((task..count - 1).step_by(tasks))).collect(),
            current: vec![0; options.threads],
            leak_every: (options.events / LEAKS).max(500),
        }
    }

    /// Where a thread allocates next: mostly somewhere in the task that it is about.
    pub fn draw(&mut self, thread: usize, random: &mut Random) -> usize {
        if random.once_in(self.leak_every) {
            return self.sites.len() - 1;
        }
        let current = &mut self.current[thread];
        if random.once_in(TASK) {
            *current = self.busy.draw(random) % self.tasks.len();
        }
        *current + self.tasks.len() * self.tasks[*current].draw(random)
    }

    pub fn site(&self, number: usize) -> Site {
        self.sites[number]
    }
}

fn habit(rank: usize, random: &mut Random) -> Habit {
    match rank % 10 {
        3 => Habit::Session(random.log_uniform(1e6, 3e8)),
        5 => Habit::Cache(8 + 4_000 / (rank / 10 + 1)),
        8 => Habit::Batch,
        _ => Habit::Temporary(random.log_uniform(1.0, 1e6)),
    }
}

fn sizes(random: &mut Random) -> Sizes {
    match random.below(20) {
        0 => Sizes::One(1 << (20 + random.below(4))),
        1..=3 => Sizes::Doubling,
        4..=8 => {
            let smallest = *random.one_of(&CLASSES);
            Sizes::Between(smallest, std::array::from_fn(|_| between(smallest, random)))
        }
        _ => Sizes::One(*random.one_of(&CLASSES)),
    }
}

fn between(smallest: u64, random: &mut Random) -> u64 {
    smallest + random.below(7 * smallest)
}

impl Site {
    /// The size of a block.
    pub fn size(&self, random: &mut Random) -> u64 {
        match self.sizes {
            Sizes::One(size) => size,
            Sizes::Between(smallest, usual) => match random.below(8) {
                0 => between(smallest, random),
                draw => {
                    usual[usize::from(draw > 3) + usize::from(draw > 5) + usize::from(draw > 6)]
                }
            },
            Sizes::Doubling => 1 << (6 + random.below(17)),
        }
    }

    /// Whether its samples are what was added to blocks.
    pub fn grows(&self) -> bool {
        matches!(self.sizes, Sizes::Doubling)
    }
}
