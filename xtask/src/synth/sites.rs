//! Callsites: what sizes they allocate, and how long their blocks live.

use super::random::{Random, Zipf};

/// How long the blocks of a callsite live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// From a microsecond to a second.
    Temporary,
    /// From a second to five minutes.
    Session,
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
    Between(u64, u64),
    /// Of a buffer that doubles; what is sampled of it is growth.
    Doubling,
}

#[derive(Clone, Copy, Debug)]
pub struct Site {
    pub habit: Habit,
    sizes: Sizes,
}

/// The callsites of a program, the busiest first; the last one leaks.
pub struct Sites {
    sites: Vec<Site>,
    busy: Zipf,
    /// The last ones: a program does the same for a while.
    recent: [usize; RECENT],
    next_recent: usize,
    /// One birth in so many is of the leak.
    leak_every: u64,
}

const RECENT: usize = 24;

const CLASSES: [u64; 12] = [16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 4096, 16_384];

/// Sampled blocks that leak, in a trace of whatever length.
const LEAKS: u64 = 20_000;

impl Sites {
    pub fn new(count: usize, events: u64, random: &mut Random) -> Self {
        let sites = (0..count).map(|rank| Site {
            habit: if rank + 1 == count { Habit::Leak } else { habit(rank) },
            sizes: sizes(random),
        });
        Self {
            sites: sites.collect(),
            busy: Zipf::new(count - 1),
            recent: [0; RECENT],
            next_recent: 0,
            leak_every: (events / LEAKS).max(500),
        }
    }

    /// Who allocates next: in two of three cases, who has done so lately.
    pub fn draw(&mut self, random: &mut Random) -> usize {
        if !random.once_in(3) {
            return *random.one_of(&self.recent);
        }
        let drawn = match random.once_in(self.leak_every) {
            true => self.sites.len() - 1,
            false => self.busy.draw(random),
        };
        self.recent[self.next_recent] = drawn;
        self.next_recent = (self.next_recent + 1) % RECENT;
        drawn
    }

    pub fn site(&self, number: usize) -> Site {
        self.sites[number]
    }
}

fn habit(rank: usize) -> Habit {
    match rank % 10 {
        3 => Habit::Session,
        5 => Habit::Cache(8 + 4_000 / (rank / 10 + 1)),
        8 => Habit::Batch,
        _ => Habit::Temporary,
    }
}

fn sizes(random: &mut Random) -> Sizes {
    match random.below(20) {
        0 => Sizes::One(1 << (20 + random.below(4))),
        1..=3 => Sizes::Doubling,
        4..=8 => {
            let smallest = *random.one_of(&CLASSES);
            Sizes::Between(smallest, 8 * smallest)
        }
        _ => Sizes::One(*random.one_of(&CLASSES)),
    }
}

impl Site {
    /// The size of a block.
    pub fn size(&self, random: &mut Random) -> u64 {
        match self.sizes {
            Sizes::One(size) => size,
            Sizes::Between(low, high) => low + random.below(high - low),
            Sizes::Doubling => 1 << (6 + random.below(17)),
        }
    }

    /// Whether its samples are what was added to blocks.
    pub fn grows(&self) -> bool {
        matches!(self.sizes, Sizes::Doubling)
    }
}
