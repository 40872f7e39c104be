//! The column of backtraces: each against the one before it.
//!
//! What stays of the previous one ([`kept`](super::kept)), then the new frames, outermost first, and the end as
//! if it were one more frame. For each, the candidates that followed in the same context before, of
//! the longest context first: is it this one? Almost always the first answer is yes, and is known
//! beforehand. Where that goes on for long, several are told at once ([`runs`](super::runs)).
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
use super::contexts::{self, END, ORDERS, Symbol, last_three};
use super::kept::Kept;
use super::mixer::Mixer;
use super::opinions::Opinions;
use super::probability::Probability;
use super::runs::{HistoryIndex, Runs};
use crate::framing::fault::Fault;

/// Deepest backtrace; what is deeper is cut at its inner end.
pub(super) const MAX_DEPTH: usize = 1 << 19;

/// Seed of a hash.
const KNOWN: u32 = 0x91;

const TOO_DEEP: Fault = Fault::Unexpected("a shallower backtrace");

/// After so many symbols as foreseen, a run is expected.
const TRUST: usize = 8;

/// So many frames' contexts are fetched together.
const FETCHED: usize = 16;

/// What both sides know.
pub(super) struct Backtraces {
    /// Whether there are runs and cuts: since version 2.
    has_runs: bool,
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
    kept: Kept,
    runs: Option<Runs>,
    followed: Mixer<3>,
    is_new: [Probability; 2],
    is_end: Probability,
}

/// What the next symbol should be, by the history.
#[derive(Clone, Copy, Debug, Default)]
struct Foresight {
    /// Its place.
    place: Option<HistoryIndex>,
    /// How often it was so, one after the other.
    streak: usize,
}

impl Backtraces {
    /// At a checkpoint.
    pub(super) fn new(has_runs: bool) -> Self {
        Self { has_runs, stack: Vec::new(), known: 0, told: 0, pushed: 0, models: None }
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
    /// Only when decoding: if there are more than `limit` new frames, or what is told cannot be.
    pub(super) fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        size: u64,
        common: usize,
        frames: &[u32],
        limit: usize,
    ) -> Result<usize, Fault> {
        let mut models = self.models.take().unwrap_or_else(|| Box::new(Models::new(self.has_runs)));
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
        let Models { kept, opinions, .. } = &mut *models;
        if C::KNOWS_ANSWERS {
            Kept::fetch(opinions, &self.stack, size, common);
        }
        let common = kept.code(opinions, coder, &self.stack, size, common)?;
        let mut excluded = self.stack.get(common).copied().unwrap_or(NONE);
        self.stack.truncate(common);
        models.fetch(&self.stack, size, frames);
        let (mut frames, mut foresight) = (frames, Foresight::default());
        models.foresee(&self.stack, &mut foresight, None);
        loop {
            if let Some(from) = foresight.trusted() {
                let Some(count) = self.code_run(models, coder, from, frames, limit)? else {
                    return Ok(common);
                };
                frames = frames.get(count..).unwrap_or_default();
                excluded = models.foreseen(from.after(count));
                foresight = Foresight::default();
            }
            let wanted = frames.split_off_first().map_or(END, |frame| frame + 1);
            let symbol = self.code_symbol(models, coder, size, wanted, excluded)?;
            models.add(symbol);
            if symbol == END {
                return Ok(common);
            }
            self.push(symbol, limit)?;
            models.foresee(&self.stack, &mut foresight, Some(symbol));
            excluded = NONE;
        }
    }

    /// Codes how many symbols are those from that place of the history on, and takes them. `None`: the last
    /// one is the end.
    fn code_run<C: Coder>(
        &mut self,
        models: &mut Models,
        coder: &mut C,
        from: HistoryIndex,
        frames: &[u32],
        limit: usize,
    ) -> Result<Option<usize>, Fault> {
        let Some(runs) = &mut models.runs else { return Ok(Some(0)) };
        let count = runs.code(coder, from, frames);
        let room = limit.saturating_sub(self.pushed).min(MAX_DEPTH - self.stack.len());
        let most = count.min(room);
        let copied = runs.copy(from, most, &mut self.stack);
        self.pushed += copied;
        if copied == count {
            return Ok(Some(count));
        }
        if runs.at(from.after(copied)) != END {
            return Err(TOO_DEEP);
        }
        runs.add(END);
        let is_last = copied + 1 == count;
        is_last.then_some(None).ok_or(Fault::Unexpected("a shorter run"))
    }

    #[inline]
    fn push(&mut self, symbol: Symbol, limit: usize) -> Result<(), Fault> {
        if self.stack.len() == MAX_DEPTH || self.pushed == limit {
            return Err(TOO_DEEP);
        }
        self.stack.push(symbol);
        self.pushed += 1;
        Ok(())
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
        let orders = contexts::orders(last_three(&self.stack), size);
        let circumstance = usize::from(excluded != NONE) * ORDERS * KEPT;
        let first = models.candidates.newest(Candidates::key(orders[0]));
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

impl Foresight {
    fn trusted(self) -> Option<HistoryIndex> {
        self.place.filter(|_| self.streak == TRUST)
    }
}

impl Models {
    fn new(has_runs: bool) -> Self {
        Self {
            opinions: Opinions::new(),
            candidates: Candidates::new(),
            kept: Kept::new(has_runs),
            runs: has_runs.then(Runs::new),
            followed: Mixer::new(2 * ORDERS * KEPT, 26_214),
            is_new: [Probability::EVEN; 2],
            is_end: Probability::EVEN,
        }
    }

    /// Has the processor fetch what these frames will be looked for in, all at once: later it could only be fetched
    /// piece by piece, as one answer leads to the next question.
    fn fetch(&self, stack: &[Symbol], size: u32, frames: &[u32]) {
        let mut last = last_three(stack);
        let mut fetched = 0;
        for frame in frames.iter().take(FETCHED) {
            let (orders, symbol) = (contexts::orders(last, size), frame + 1);
            for order in orders {
                fetched ^= self.candidates.newest(Candidates::key(order));
            }
            for context in contexts::of_candidate(&orders, symbol) {
                fetched ^= u32::from(self.opinions.value(context));
            }
            fetched ^= self.runs.as_ref().map_or(0, |runs| runs.fetch(contexts::third(last)));
            last = [last[1], last[2], symbol];
        }
        std::hint::black_box(fetched);
    }

    /// What comes after this stack, whose last symbol came now if there is one.
    #[inline]
    fn foresee(&mut self, stack: &[Symbol], foresight: &mut Foresight, now: Option<Symbol>) {
        let Some(runs) = &mut self.runs else { return };
        let found = runs.look(contexts::third(last_three(stack)));
        *foresight = match foresight.place.filter(|&place| now == Some(runs.at(place))) {
            Some(place) => Foresight { place: Some(place.after(1)), streak: foresight.streak + 1 },
            None => Foresight { place: found, streak: 0 },
        };
    }

    fn foreseen(&self, place: HistoryIndex) -> Symbol {
        self.runs.as_ref().map_or(NONE, |runs| runs.at(place))
    }

    #[inline]
    fn add(&mut self, symbol: Symbol) {
        if let Some(runs) = &mut self.runs {
            runs.add(symbol);
        }
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
            let candidates = self.candidates.get(Candidates::key(orders[order]));
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
        let contexts = contexts::of_candidate(orders, candidate);
        let Models { opinions, followed, .. } = self;
        opinions.code(followed, circumstance, coder, contexts, candidate == wanted)
    }

    #[inline]
    fn note(&mut self, contexts: &[u32], symbol: Symbol) {
        for &context in contexts {
            self.candidates.add(Candidates::key(context), symbol);
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
