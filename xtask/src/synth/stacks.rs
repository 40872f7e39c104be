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
const FUNCTIONS: u64 = 1_500;
const LINES: u64 = 4;

/// Places that a place calls; of these, one more often than the others.
const CALLEES: u64 = 4;

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
            Shape::Json => Self::Recursive(vec![Recursion::new(random); threads]),
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

/// A place that this one calls: the same few at each time.
fn callee(caller: LocationCode, random: &mut Random) -> LocationCode {
    let choice = if random.once_in(2) { 0 } else { random.below(CALLEES) };
    any_frame(&mut Random::new(caller.0 * CALLEES + choice))
}

/// Function and line of a frame.
pub fn function_and_line(code: LocationCode) -> (u64, u32) {
    let (function, line) = (code.0 / LINES, code.0 % LINES);
    (function, 10 + (function % 400) as u32 + 5 * line as u32)
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
            let caller = path.last().copied().unwrap_or(LocationCode(0));
            path.push(callee(caller, random));
        }
        paths.push(path);
    }
    paths
}

/// A recursive descent: a bottom, a cycle of functions again and again, and a callsite on top.
#[derive(Clone)]
pub struct Recursion {
    stack: Vec<LocationCode>,
    cycle: [LocationCode; 3],
    depth: usize,
    /// Which of its functions' lines are where: that of the input being read.
    input: u64,
}

/// Frames beneath the recursion.
const BOTTOM: usize = 9;
const DEEPEST: usize = 1_400;

/// Different inputs, and births of a thread until it has the next one.
const INPUTS: u64 = 16;
const INPUT_LASTS: u64 = 20_000;

impl Recursion {
    fn new(random: &mut Random) -> Self {
        let stack = (0..BOTTOM).map(|_| any_frame(random)).collect();
        let cycle = std::array::from_fn(|_| any_frame(random));
        Self { stack, cycle, depth: DEEPEST / 2, input: 0 }
    }

    fn step(&mut self, site: usize, random: &mut Random) -> &[LocationCode] {
        if random.once_in(INPUT_LASTS) {
            self.input = random.below(INPUTS);
            self.stack.truncate(BOTTOM);
        }
        let (down, up) = (random.below(24) as usize, random.below(24) as usize);
        self.depth = (self.depth + up).saturating_sub(down).clamp(1, DEEPEST);
        // Without the callsite of the last birth.
        let kept = (self.stack.len() - 1).min(BOTTOM + self.depth);
        self.stack.truncate(kept.max(BOTTOM));
        while self.stack.len() < BOTTOM + self.depth {
            self.stack.push(self.frame(self.stack.len()));
        }
        let site = site as u64;
        self.stack.push(LocationCode((site * 97 % FUNCTIONS) * LINES + site % LINES));
        &self.stack
    }

    /// The frame at this depth: once in 40, another line of the function than usual.
    fn frame(&self, depth: usize) -> LocationCode {
        let usual = self.cycle[depth % self.cycle.len()];
        let differs = Random::new((self.input << 32) | depth as u64).once_in(40);
        LocationCode(usual.0 ^ u64::from(differs))
    }
}
