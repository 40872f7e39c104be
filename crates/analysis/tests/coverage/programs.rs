//! Random programs, what they truly allocate, and what is seen of it.
//!
//! Each has a dozen callsites, from such that have less than one sample on average to such that have
//! 60, with blocks of one size or of many, small, middling or surely sampled ones, and buffers that
//! grow by realloc. Three samplers see them: one hits words, one bytes, one objects; the second one's
//! rate changes at half time.

use lifetrace_analysis::estimate::Tally;
use lifetrace_analysis::{Amount, Profile};
use lifetrace_trace::event::{GROWTH, Source, TraceInfo};
use lifetrace_trace::fact::{Fact, SampledUnit, Sampler as SamplerFact};
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp,
};
use lifetrace_trace::record::{Birth, Record, RecordKind};

use super::random::{Random, Sampler};

pub const CALLSITES: usize = 12;

const WORD_RATE: f64 = 1.0 / 64.0;
const BYTE_RATES: [f64; 2] = [1.0 / 512.0, 1.0 / 256.0];
const OBJECT_RATE: f64 = 1.0 / 8.0;

/// How live memory moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Up, and when two thirds are done, down: one moment is the peak.
    Ramp,
    /// Blocks come and go: many moments are nearly as high.
    Plateau,
}

/// What the blocks of a callsite are like.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    One(u64),
    /// Not far apart.
    Between(u64, u64),
    /// Of all orders of magnitude.
    Any(u64, u64),
    /// Doubled up to so many bytes, a growth each.
    Grown(u64),
}

impl Kind {
    /// Whether all blocks are hit with about the same probability.
    pub fn is_even(self) -> bool {
        matches!(self, Self::One(_) | Self::Between(..))
    }

    /// Whoever samples objects has blocks of about one size, as Ruby has; else a few large ones would
    /// be nearly all of the total, and rest on one sample or two.
    fn draw(callsite: usize, random: &mut Random) -> Self {
        match random.below(6) {
            _ if callsite % 3 == 2 => Self::One(16 << random.below(4)),
            0 | 1 => Self::One(8 << random.below(4)),
            2 => Self::Between(16, 128),
            3 => Self::Any(64, 1024),
            4 => Self::One(256 << random.below(4)),
            _ => Self::Grown(1024 << random.below(3)),
        }
    }

    /// The pieces that are allocated for one block, the first one and what is added.
    fn pieces(self, random: &mut Random) -> Vec<u64> {
        match self {
            Self::One(size) => vec![size],
            Self::Between(low, high) => vec![low + random.below(high - low)],
            Self::Any(low, high) => vec![random.log_uniform(low as f64, high as f64) as u64],
            Self::Grown(last) => {
                let doubled = (5..).map(|bits| 1 << bits).take_while(|size| *size < last);
                std::iter::once(32).chain(doubled).collect()
            }
        }
    }
}

/// A piece of memory, from birth to death.
struct Piece {
    callsite: usize,
    bytes: u64,
    is_growth: bool,
    born: u64,
    dies: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Truth {
    pub bytes: f64,
    pub objects: f64,
    pub live: f64,
    pub at_peak: f64,
}

pub struct Seen {
    pub profile: Profile,
    /// Of bytes, at the moment when truly most lived.
    pub at_true_peak: Amount,
    pub callsites: Vec<[Amount; 2]>,
}

pub struct Program {
    pieces: Vec<Piece>,
    end: u64,
    pub kinds: Vec<Kind>,
    pub truth: Truth,
    pub callsites: Vec<Truth>,
    /// When most lives, and at each moment.
    peak_time: u64,
    live: Vec<f64>,
}

impl Program {
    pub fn new(random: &mut Random, course: Course) -> Self {
        let kinds: Vec<_> = (0..CALLSITES).map(|at| Kind::draw(at, random)).collect();
        let mut blocks = Vec::new();
        for (callsite, kind) in kinds.iter().enumerate() {
            blocks.extend(blocks_of(callsite, *kind, random));
        }
        for at in (1..blocks.len()).rev() {
            blocks.swap(at, random.below(at as u64 + 1) as usize);
        }
        let end = blocks.len() as u64;
        let mut pieces = Vec::new();
        for (born, (callsite, sizes)) in (0..).zip(blocks) {
            let dies = death(course, born, end, random);
            pieces.extend((0..).zip(sizes).map(|(at, bytes)| Piece {
                callsite,
                bytes,
                is_growth: at > 0,
                born,
                dies,
            }));
        }
        Self::with_truth(pieces, kinds, end)
    }

    fn with_truth(pieces: Vec<Piece>, kinds: Vec<Kind>, end: u64) -> Self {
        let mut changes = vec![0.0; end as usize + 1];
        for piece in &pieces {
            changes[piece.born as usize] += piece.bytes as f64;
            changes[piece.dies.min(end) as usize] -= piece.bytes as f64;
        }
        let running = changes.iter().scan(0.0, |live, change| {
            *live += change;
            Some(*live)
        });
        let live: Vec<f64> = running.take(end as usize).collect();
        let peak_time = (0..end).max_by(|a, b| live[*a as usize].total_cmp(&live[*b as usize]));
        let mut program = Self {
            pieces,
            end,
            callsites: vec![Truth::default(); kinds.len()],
            kinds,
            truth: Truth::default(),
            peak_time: peak_time.unwrap(),
            live,
        };
        program.count();
        program
    }

    fn count(&mut self) {
        for piece in &self.pieces {
            let bytes = piece.bytes as f64;
            let at_peak = piece.born <= self.peak_time && self.peak_time < piece.dies;
            for truth in [&mut self.truth, &mut self.callsites[piece.callsite]] {
                truth.bytes += bytes;
                truth.objects += f64::from(u8::from(!piece.is_growth));
                truth.live += if piece.dies > self.end { bytes } else { 0.0 };
                truth.at_peak += if at_peak { bytes } else { 0.0 };
            }
        }
    }

    /// What truly lived at that moment.
    pub fn live_at(&self, time: Timestamp) -> f64 {
        self.live[time.0 as usize]
    }

    /// What is in a trace of it.
    pub fn watch(&self, seed: u64) -> Seen {
        let mut watcher = Watcher::new(seed);
        let mut deaths: Vec<Vec<u64>> = vec![Vec::new(); self.end as usize + 1];
        let mut next = self.pieces.iter().enumerate().peekable();
        let mut at_true_peak = Amount::default();
        for time in 0..self.end {
            if time == self.end / 2 {
                watcher.set_byte_rate(time, BYTE_RATES[1]);
            }
            deaths[time as usize]
                .iter()
                .for_each(|id| watcher.tell(time, RecordKind::Collection(AllocationId(*id)), &[]));
            while let Some((id, piece)) = next.next_if(|(_, piece)| piece.born == time) {
                let is_seen = watcher.birth(id as u64, piece);
                if is_seen && piece.dies < self.end {
                    deaths[piece.dies as usize].push(id as u64);
                }
            }
            if time == self.peak_time {
                at_true_peak = watcher.profile.summary().live;
            }
        }
        let callsites = watcher.by_callsite(self.kinds.len());
        Seen { profile: watcher.profile, at_true_peak, callsites }
    }
}

/// So many that they have a random number of samples on average, most callsites few.
fn blocks_of(callsite: usize, kind: Kind, random: &mut Random) -> Vec<(usize, Vec<u64>)> {
    let (mut expected, wanted) = (0.0, random.log_uniform(0.3, 60.0));
    let mut blocks = Vec::new();
    while expected < wanted {
        let pieces = kind.pieces(random);
        let missed = |bytes: &u64| match callsite % 3 {
            0 => (1.0 - WORD_RATE).powf((bytes / 8) as f64),
            1 => (1.0 - BYTE_RATES[0]).powf(*bytes as f64),
            _ => 1.0 - OBJECT_RATE,
        };
        expected += pieces.iter().map(|bytes| 1.0 - missed(bytes)).sum::<f64>();
        blocks.push((callsite, pieces));
    }
    blocks
}

/// After the end, if it is not freed.
fn death(course: Course, born: u64, end: u64, random: &mut Random) -> u64 {
    let (fast, never) = ((end / 50).max(1), end + 1);
    match course {
        Course::Plateau => match random.below(8) {
            0 => born + 1 + random.below(fast),
            _ => born + 1 + end / 5,
        },
        Course::Ramp => match random.below(4) {
            0 => born + 1 + random.below(fast),
            1 => never,
            _ if born < end * 2 / 3 => end * 2 / 3 + random.below(fast),
            _ => born + 1 + random.below(fast),
        },
    }
}

/// Samples what it hears of.
struct Watcher {
    profile: Profile,
    words: Sampler,
    bytes: Sampler,
    objects: Sampler,
}

impl Watcher {
    fn new(seed: u64) -> Self {
        let info = TraceInfo {
            sample_rate: WORD_RATE,
            word_bits: 64,
            executable_name: String::new(),
            host_name: String::new(),
            runtime_params: String::new(),
            pid: 1,
            start_time: Timestamp(0),
            initial_domain: DomainId(0),
            context: None,
        };
        let mut watcher = Self {
            profile: Profile::new(&info).unwrap(),
            words: Sampler::new(!seed, WORD_RATE),
            bytes: Sampler::new(!seed ^ 0xB17E, BYTE_RATES[0]),
            objects: Sampler::new(!seed ^ 0x0B1EC7, OBJECT_RATE),
        };
        watcher.say(0, 0, SampledUnit::Word, WORD_RATE);
        watcher.say(0, 1, SampledUnit::Byte, BYTE_RATES[0]);
        watcher.say(0, 2, SampledUnit::Object, OBJECT_RATE);
        watcher
    }

    fn set_byte_rate(&mut self, time: u64, rate: f64) {
        self.bytes = Sampler::new(self.bytes.hits(1) ^ time ^ 0x5EED, rate);
        self.say(time, 1, SampledUnit::Byte, rate);
    }

    fn say(&mut self, time: u64, id: u8, unit: SampledUnit, rate: f64) {
        let fact = SamplerFact { id: SamplerId(id), name: "".into(), unit, rate };
        self.tell(time, RecordKind::from(Fact::Sampler(fact)), &[]);
    }

    fn tell(&mut self, time: u64, kind: RecordKind, backtrace: &[LocationCode]) {
        let (thread, domain) = (ThreadId(0), DomainId(0));
        self.profile.take(&Record { time: Timestamp(time), thread, domain, kind }, backtrace);
    }

    /// Whether it is in the trace.
    fn birth(&mut self, id: u64, piece: &Piece) -> bool {
        let sampler = (piece.callsite % 3) as u8;
        let samples = match sampler {
            0 => self.words.hits(piece.bytes.div_ceil(8)),
            1 => self.bytes.hits(piece.bytes),
            _ => self.objects.hits(1),
        };
        if samples == 0 {
            return false;
        }
        let birth = Birth {
            id: AllocationId(id),
            size: Size::Bytes(Bytes(piece.bytes)),
            samples,
            source: Source::External,
            sampler: SamplerId(sampler),
            is_truncated: false,
            is_growth: piece.is_growth,
            common_prefix: 0,
        };
        let backtrace = [LocationCode(piece.callsite as u64), GROWTH];
        let depth = 1 + usize::from(piece.is_growth);
        self.tell(piece.born, RecordKind::Birth(birth), &backtrace[..depth]);
        true
    }

    /// What each callsite has allocated, and had live at the peak.
    fn by_callsite(&self, count: usize) -> Vec<[Amount; 2]> {
        let mut tallies = vec![[Tally::default(); 2]; count];
        for (node, balance) in self.profile.balances() {
            let outermost = self.profile.tree().frames(node).last().unwrap();
            let [allocated, peak] = &mut tallies[outermost.0 as usize];
            *allocated += &balance.allocated;
            *peak += &balance.peak;
        }
        tallies.iter().map(|both| both.map(|tally| tally.amount())).collect()
    }
}
