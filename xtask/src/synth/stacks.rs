//! Backtraces, as real programs have them: they share most of their outer frames.

use lifetrace_trace::ids::LocationCode;

use super::random::Random;

/// What the backtraces of a trace are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A recursion of 700 frames on average, which grows and shrinks by a few at a time; 40 callsites.
    Json,
    /// 300 backtraces of 15 to 30 frames.
    Server,
    /// 20,000 backtraces of 8 to 60 frames.
    Mixed,
}

impl Shape {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "server" => Some(Self::Server),
            "mixed" => Some(Self::Mixed),
            _ => None,
        }
    }

    /// Number of callsites.
    pub fn sites(self) -> usize {
        match self {
            Self::Json => 40,
            Self::Server => 300,
            Self::Mixed => 20_000,
        }
    }
}

/// Functions that there are, by number; each line of one is a code of its own.
const FUNCTIONS: u64 = 4_000;
const LINES: u64 = 8;

/// Gives each callsite, in each thread, its backtrace.
pub enum Stacks {
    /// The same at each time.
    Fixed(Vec<Vec<LocationCode>>),
    /// What is beneath the callsite moves.
    Recursive(Vec<Recursion>),
}

impl Stacks {
    pub fn new(shape: Shape, threads: usize, random: &mut Random) -> Self {
        match shape {
            Shape::Json => Self::Recursive((0..threads).map(|_| Recursion::new(random)).collect()),
            Shape::Server => Self::Fixed(paths(shape.sites(), 15, 30, random)),
            Shape::Mixed => Self::Fixed(paths(shape.sites(), 8, 60, random)),
        }
    }

    /// The backtrace of a birth, outermost frame first.
    pub fn backtrace(
        &mut self,
        thread: usize,
        site: usize,
        random: &mut Random,
    ) -> &[LocationCode] {
        match self {
            Self::Fixed(paths) => &paths[site],
            Self::Recursive(recursions) => recursions[thread].step(site, random),
        }
    }
}

fn any_frame(random: &mut Random) -> LocationCode {
    LocationCode(random.below(FUNCTIONS * LINES))
}

/// Function and line of a frame.
pub fn function_and_line(code: LocationCode) -> (u64, u32) {
    let (function, line) = (code.0 / LINES, code.0 % LINES);
    (function, 10 + (function % 400) as u32 + 3 * line as u32)
}

/// Each branches off from an earlier one, so together they are a tree.
fn paths(count: usize, shortest: u64, longest: u64, random: &mut Random) -> Vec<Vec<LocationCode>> {
    let mut paths: Vec<Vec<LocationCode>> = Vec::with_capacity(count);
    for _ in 0..count {
        let depth = (shortest + random.below(longest - shortest + 1)) as usize;
        let mut path = match paths.is_empty() {
            true => Vec::new(),
            false => random.one_of(&paths).clone(),
        };
        path.truncate(1 + random.below(depth as u64 - 1) as usize);
        while path.len() < depth {
            path.push(any_frame(random));
        }
        paths.push(path);
    }
    paths
}

/// A recursive descent: a bottom, a cycle of functions again and again, and a callsite on top.
pub struct Recursion {
    stack: Vec<LocationCode>,
    cycle: [LocationCode; 3],
    depth: usize,
}

/// Frames beneath the recursion.
const BOTTOM: usize = 9;
const DEEPEST: usize = 1_400;

impl Recursion {
    fn new(random: &mut Random) -> Self {
        let stack = (0..BOTTOM).map(|_| any_frame(random)).collect();
        let cycle = std::array::from_fn(|_| any_frame(random));
        Self { stack, cycle, depth: DEEPEST / 2 }
    }

    fn step(&mut self, site: usize, random: &mut Random) -> &[LocationCode] {
        let (down, up) = (random.below(24) as usize, random.below(24) as usize);
        self.depth = (self.depth + up).saturating_sub(down).clamp(1, DEEPEST);
        self.stack.truncate(BOTTOM + self.depth.saturating_sub(1));
        while self.stack.len() < BOTTOM + self.depth {
            // Now and then another line of the same function, as a descent through various kinds has it.
            let frame = self.cycle[self.stack.len() % self.cycle.len()];
            let other_line = if random.once_in(40) { frame.0 ^ 1 } else { frame.0 };
            self.stack.push(LocationCode(other_line));
        }
        let site = site as u64;
        self.stack.push(LocationCode((site * 97 % FUNCTIONS) * LINES + site % LINES));
        &self.stack
    }
}
