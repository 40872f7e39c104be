//! Backtraces, as real programs have them: they share most of their outer frames.

use std::ops::RangeInclusive;

use lifetrace_trace::ids::LocationCode;

use super::random::{Random, Zipf};

/// What the backtraces of a trace are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A recursion of 700 frames on average, which grows and shrinks by a few at a time; 40 callsites.
    Json,
    /// 300 backtraces of 15 to 30 frames, of 12 tasks.
    Server,
    /// 20,000 backtraces of 8 to 60 frames, of 140 tasks.
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

    /// Number of tasks that they belong to.
    pub fn tasks(self) -> usize {
        match self {
            Self::Json => 1,
            Self::Server => 12,
            Self::Mixed => 140,
        }
    }
}

/// Functions that there are, by number; each line of one is a code of its own.
const FUNCTIONS: u64 = 1_500;
const LINES: u64 = 4;

/// Places that a place calls; of these, one more often than the others.
const CALLEES: u64 = 4;

/// Functions beside these that allocate for others: strings, vectors, objects.
const ALLOCATORS: usize = 32;

/// From one callsite of a task to another: frames that are returned from, and that are called, about.
const FRAMES_LEFT: f64 = 3.0;
const FRAMES_ENTERED: f64 = 5.0;

/// Gives each callsite, in each thread, its backtrace.
pub enum Stacks {
    /// A callsite's backtrace never changes.
    Fixed(Vec<Vec<LocationCode>>),
    /// What is beneath the callsite moves.
    Recursive(Vec<Recursion>),
}

impl Stacks {
    pub fn new(shape: Shape, threads: usize, random: &mut Random) -> Self {
        match shape {
            Shape::Json => Self::Recursive(vec![Recursion::new(random); threads]),
            Shape::Server => Self::Fixed(paths(shape, 15..=30, random)),
            Shape::Mixed => Self::Fixed(paths(shape, 8..=60, random)),
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

/// A trunk, from which tasks branch off; and in each task, paths that branch off from earlier ones of it,
/// mostly near their inner ends. The innermost frame is a function that allocates for all.
fn paths(
    shape: Shape,
    depths: RangeInclusive<usize>,
    random: &mut Random,
) -> Vec<Vec<LocationCode>> {
    let (shortest, longest) = (*depths.start(), *depths.end());
    let mut trunk = Vec::new();
    grow(&mut trunk, shortest / 2, random);
    let roots: Vec<_> = (0..shape.tasks())
        .map(|_| {
            let mut root = trunk.clone();
            root.push(any_frame(random));
            grow(&mut root, shortest / 2 + 3, random);
            root
        })
        .collect();
    let allocators = Zipf::new(0..ALLOCATORS);
    let mut paths: Vec<Vec<LocationCode>> = Vec::with_capacity(shape.sites());
    for site in 0..shape.sites() {
        let task = site % roots.len();
        let siblings = site / roots.len();
        let root = &roots[task];
        let mut path = match siblings {
            0 => root.clone(),
            _ => paths[task + roots.len() * random.below(siblings as u64) as usize].clone(),
        };
        let left = 1 + random.exponential(FRAMES_LEFT) as usize;
        path.truncate(path.len().saturating_sub(left).clamp(root.len(), longest - 1));
        let depth = path.len() + random.exponential(FRAMES_ENTERED) as usize;
        grow(&mut path, depth.clamp(shortest - 1, longest - 1), random);
        path.push(LocationCode((FUNCTIONS + allocators.draw(random) as u64) * LINES));
        paths.push(path);
    }
    paths
}

/// Calls until the backtrace is so deep.
fn grow(path: &mut Vec<LocationCode>, depth: usize, random: &mut Random) {
    while path.len() < depth {
        let caller = path.last().copied().unwrap_or(LocationCode(0));
        path.push(callee(caller, random));
    }
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

/// From one birth to the next, up to so many frames are left, and up to so many entered.
const STRIDE: u64 = 64;

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
        let (down, up) = (random.below(STRIDE) as usize, random.below(STRIDE) as usize);
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
