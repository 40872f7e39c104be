//! The column of backtraces: each against the one before it.
//!
//! From the innermost frame of the previous backtrace outwards: does this one stay? Then the new
//! frames, outermost first, and the end as if it were one more frame. For each, the candidates that
//! followed in the same context before, of the longest context first: is it this one? Almost
//! always the first answer is yes, and is known beforehand.
//!
//! ```text
//! previous  main run request parse  string          main run request | reply  buffer END
//! kept?      -    -   yes     no      no     new                     order-3 order-3 order-1: candidates' contexts
//! ```
//!
//! Three opinions are mixed for each candidate: how often it followed the last three frames, how
//! often the last one, and how often the last two when the block was as long as this one.

use super::candidates::{Candidates, KEPT, NONE, hash};
use super::coder::Coder;
use super::error::Fault;
use super::mixer::Mixer;
use super::opinions::Opinions;
use super::probability::Probability;

/// Deepest backtrace; what is deeper is cut at its inner end.
pub(super) const MAX_DEPTH: usize = 1 << 19;

/// A frame's number plus one, or the end of a backtrace.
type Symbol = u32;
const END: Symbol = 0;

/// Contexts whose candidates are asked about, in this order.
const ORDERS: usize = 4;

/// Seeds of the hashes.
const SIZED: u32 = 0x51;
const ORDER_1: u32 = 0x11;
const KEPT_PLACE: u32 = 0x71;
const KEPT_SIZED: u32 = 0x72;
const KNOWN: u32 = 0x91;

/// What both sides know.
pub(super) struct Backtraces {
    /// The last backtrace, as symbols.
    stack: Vec<Symbol>,
    /// Frames that were used.
    known: u32,
    /// Frames that have been told, of which no more can be used.
    told: u32,
    /// New frames in this packet.
    pushed: usize,
    /// Made when there is something to learn.
    models: Option<Box<Models>>,
}

struct Models {
    opinions: Opinions,
    candidates: Candidates,
    kept: Mixer<2>,
    followed: Mixer<3>,
    is_new: [Probability; 2],
    is_end: Probability,
}

/// Contexts of the next frame.
struct Contexts {
    orders: [u32; ORDERS],
}

impl Contexts {
    /// Sized order 2, orders 3, 2 and 1.
    #[inline]
    fn of(stack: &[Symbol], size: u32) -> Self {
        let frame = |back: usize| stack.len().checked_sub(back).map_or(END, |at| stack[at]);
        let first = hash(ORDER_1, frame(1));
        let second = hash(first, frame(2));
        let third = hash(second, frame(3));
        Self { orders: [hash(second ^ SIZED, size), third, second, first] }
    }
}

impl Backtraces {
    /// At a checkpoint.
    pub(super) fn new() -> Self {
        Self { stack: Vec::new(), known: 0, told: 0, pushed: 0, models: None }
    }

    /// So many frames have been told.
    pub(super) fn tell(&mut self, told: u32) {
        self.told = told;
    }

    /// Exchanges the last backtrace for another one, which others will be coded against.
    pub(super) fn exchange(&mut self, stack: Vec<u32>) -> Vec<u32> {
        std::mem::replace(&mut self.stack, stack)
    }

    /// The last backtrace, to be exchanged.
    pub(super) fn stack(&self) -> &[u32] {
        &self.stack
    }

    /// How many new frames were coded since it was asked last.
    pub(super) fn take_pushed(&mut self) -> usize {
        std::mem::take(&mut self.pushed)
    }

    /// The numbers of the last backtrace's frames from `depth` on.
    pub(super) fn frames(&self, depth: usize) -> impl Iterator<Item = u32> {
        self.stack[depth..].iter().map(|symbol| symbol - 1)
    }

    /// Codes a backtrace, of which `common` leading frames are the last one's and then `frames`
    /// follow. `size` is that of the block. How many frames are kept is returned.
    ///
    /// # Errors
    /// Only when decoding: if there are more than `limit` new frames.
    pub(super) fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        size: u64,
        common: usize,
        frames: &[u32],
        limit: usize,
    ) -> Result<usize, Fault> {
        let mut models = self.models.take().unwrap_or_else(|| Box::new(Models::new()));
        let outcome = self.code_with(&mut models, coder, size, common, frames, limit);
        self.models = Some(models);
        outcome
    }

    #[inline]
    fn code_with<C: Coder>(
        &mut self,
        models: &mut Models,
        coder: &mut C,
        size: u64,
        common: usize,
        frames: &[u32],
        limit: usize,
    ) -> Result<usize, Fault> {
        let size = size.min(u32::MAX.into()) as u32;
        let old = self.stack.len();
        let common = models.code_kept(coder, &self.stack, size, common);
        let replaced = if common < old { self.stack[common] } else { NONE };
        self.stack.truncate(common);
        let mut symbols = frames.iter().map(|frame| frame + 1).chain([END]);
        let mut excluded = replaced;
        loop {
            let wanted = symbols.next().unwrap_or(END);
            let symbol = self.code_symbol(models, coder, size, wanted, excluded)?;
            if symbol == END {
                return Ok(common);
            }
            if self.stack.len() == MAX_DEPTH || self.pushed == limit {
                return Err(Fault::Unexpected("a shallower backtrace"));
            }
            self.stack.push(symbol);
            self.pushed += 1;
            excluded = NONE;
        }
    }

    /// The longest contexts' candidates first. Only the contexts that were asked learn.
    #[inline]
    fn code_symbol<C: Coder>(
        &mut self,
        models: &mut Models,
        coder: &mut C,
        size: u32,
        wanted: Symbol,
        excluded: Symbol,
    ) -> Result<Symbol, Fault> {
        let Contexts { orders } = Contexts::of(&self.stack, size);
        let circumstance = usize::from(excluded != NONE) * ORDERS * KEPT;
        let first = models.candidates.newest(Candidates::place(orders[0]));
        if first != NONE
            && first != excluded
            && models.code_candidate(coder, &orders, circumstance, first, wanted)
        {
            // It is the newest there already.
            return Ok(first);
        }
        let asked = Asked::these([excluded, first]);
        if let Some(found) = models.code_others(coder, &orders, circumstance, asked, wanted) {
            return Ok(found);
        }
        let symbol = self.code_unforeseen(models, coder, wanted)?;
        models.note(&orders, symbol);
        Ok(symbol)
    }

    /// A symbol that was no candidate.
    #[cold]
    fn code_unforeseen<C: Coder>(
        &mut self,
        models: &mut Models,
        coder: &mut C,
        wanted: Symbol,
    ) -> Result<Symbol, Fault> {
        let is_inner = usize::from(!self.stack.is_empty());
        if models.is_new[is_inner].code(coder, wanted > self.known) {
            if self.known == self.told {
                return Err(Fault::Unexpected("a frame that was told"));
            }
            self.known += 1;
            return Ok(self.known);
        }
        if models.is_end.code(coder, wanted == END) {
            return Ok(END);
        }
        models.code_known(coder, self.known, wanted)
    }
}

impl Models {
    fn new() -> Self {
        Self {
            opinions: Opinions::new(),
            candidates: Candidates::new(),
            kept: Mixer::new(3, 1 << 15),
            followed: Mixer::new(2 * ORDERS * KEPT, 26_214),
            is_new: [Probability::EVEN; 2],
            is_end: Probability::EVEN,
        }
    }

    fn code_kept<C: Coder>(
        &mut self,
        coder: &mut C,
        stack: &[Symbol],
        size: u32,
        common: usize,
    ) -> usize {
        let innermost = stack.last().copied().unwrap_or(END);
        let mut inner = END;
        for depth in (1..=stack.len()).rev() {
            let frame = stack[depth - 1];
            let place = hash(hash(KEPT_PLACE, frame), inner);
            let sized = hash(hash(place ^ KEPT_SIZED, innermost), size);
            let circumstance = (stack.len() - depth).min(2);
            let contexts = [place, sized];
            let Models { opinions, kept, .. } = self;
            if opinions.code(kept, circumstance, coder, contexts, depth == common) {
                return depth;
            }
            inner = frame;
        }
        0
    }

    /// A frame's number, highest bit first, in as many bits as the known ones need.
    fn code_known<C: Coder>(
        &mut self,
        coder: &mut C,
        known: u32,
        wanted: Symbol,
    ) -> Result<Symbol, Fault> {
        let bits = 32 - known.leading_zeros();
        let mut node = 1;
        for bit in (0..bits).rev() {
            let opinion = self.opinions.of(hash(hash(KNOWN, bits), node));
            let answer = opinion.code(coder, wanted >> bit & 1 == 1);
            node = node << 1 | u32::from(answer);
        }
        let symbol = node - (1 << bits);
        if symbol == END || symbol > known {
            return Err(Fault::Unexpected("a frame that was told"));
        }
        Ok(symbol)
    }

    /// All candidates that have not been asked about; none if it is none of them.
    fn code_others<C: Coder>(
        &mut self,
        coder: &mut C,
        orders: &[u32; ORDERS],
        circumstance: usize,
        mut asked: Asked,
        wanted: Symbol,
    ) -> Option<Symbol> {
        for order in 0..ORDERS {
            let candidates = self.candidates.get(Candidates::place(orders[order]));
            for (rank, candidate) in candidates.into_iter().enumerate() {
                if candidate == NONE {
                    break;
                }
                let circumstance = circumstance + order * KEPT + rank;
                if asked.is_new(candidate)
                    && self.code_candidate(coder, orders, circumstance, candidate, wanted)
                {
                    self.note(&orders[..=order], candidate);
                    return Some(candidate);
                }
            }
        }
        None
    }

    #[inline(always)]
    fn code_candidate<C: Coder>(
        &mut self,
        coder: &mut C,
        orders: &[u32; ORDERS],
        circumstance: usize,
        candidate: Symbol,
        wanted: Symbol,
    ) -> bool {
        let [sized, third, _, first] = *orders;
        let contexts = [sized, third, first].map(|context| hash(context, candidate));
        let Models { opinions, followed, .. } = self;
        opinions.code(followed, circumstance, coder, contexts, candidate == wanted)
    }

    #[inline]
    fn note(&mut self, contexts: &[u32], symbol: Symbol) {
        for &context in contexts {
            self.candidates.add(Candidates::place(context), symbol);
        }
    }
}

/// Candidates that have been asked about.
struct Asked {
    symbols: [Symbol; ORDERS * KEPT + 1],
    count: usize,
}

impl Asked {
    /// [`NONE`] is never asked about.
    fn these(symbols: [Symbol; 2]) -> Self {
        let mut all = [NONE; ORDERS * KEPT + 1];
        all[..2].copy_from_slice(&symbols);
        Self { symbols: all, count: 2 }
    }

    #[inline]
    fn is_new(&mut self, symbol: Symbol) -> bool {
        if self.symbols[..self.count].contains(&symbol) {
            return false;
        }
        self.symbols[self.count] = symbol;
        self.count += 1;
        true
    }
}
