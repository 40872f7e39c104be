//! All that roots hold, each block once, in the order in which they are found: breadth first.
//!
//! What differs between runtimes (what a word refers to, what a block is) is its agent's; here is what has been met and
//! what waits. Where memory is short the walk is given up, and says so.

use lifetrace_transport::stream::{Ending, Field, Form, FramePlace, Head, Item, Summary};

use super::budget::Budget;
use super::marks::{Marks, NoMemory};
use super::numbers::Numbers;
use super::output::Output;
use super::queue::Queue;
use crate::sys;

/// A walk.
#[derive(Debug)]
pub struct Walk<'a> {
    budget: &'a Budget,
    output: Output<'a>,
    marks: Marks<'a>,
    queue: Queue<'a>,
    kinds: Numbers,
    /// By the code that they return to.
    frames: Numbers,
    categories: u64,
    category: u64,
    /// Fields without a reference that were not told of yet.
    values: u64,
    blocks: u64,
    bytes: u64,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// What references lead to.
    pub address: u64,
    /// Its sort.
    pub form: Form,
    /// What tells its kind apart from others of its sort.
    pub word: u64,
    /// With its header.
    pub bytes: u64,
    /// What belongs to it and is elsewhere, in bytes.
    pub outside: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(budget: &'a Budget, output: Output<'a>) -> Walk<'a> {
        Walk {
            budget,
            output,
            marks: Marks::new(budget),
            queue: Queue::new(budget),
            kinds: Numbers::new(),
            frames: Numbers::new(),
            categories: 0,
            category: 0,
            values: 0,
            blocks: 0,
            bytes: 0,
        }
    }

    /// For sets of the caller's.
    pub fn budget(&self) -> &'a Budget {
        self.budget
    }

    /// The roots that follow are called so.
    pub fn category(&mut self, name: &[u8]) {
        self.output.put(&Item::Category(name));
        self.category = self.categories;
        self.categories += 1;
    }

    /// A root, in that place, holds a block.
    pub fn root(&mut self, slot: u64, block: u64) {
        self.root_of_frame(None, slot, block);
    }

    /// A root, in that place, which belongs to a [`frame`](Self::frame), holds a block.
    pub fn root_of_frame(&mut self, frame: Option<u64>, slot: u64, block: u64) {
        let to = self.reference(block);
        self.output.put(&Item::Root { category: self.category, frame, slot, to });
    }

    /// The number of the frame that returns to some code. What is known of that is asked for once.
    pub fn frame<'n>(&mut self, code: u64, place: impl FnOnce() -> FramePlace<'n>) -> u64 {
        if let Some(number) = self.frames.find(0, code) {
            return number;
        }
        match self.frames.add(self.budget, 0, code) {
            Some(number) => {
                self.output.put(&Item::Frame(place()));
                number
            }
            None => self.give_up(),
        }
    }

    /// Where a sampled block is.
    pub fn sample(&mut self, id: u64, address: u64) {
        self.output.put(&Item::Sample { id, address });
    }

    /// The next block that was referred to and has not been told of.
    #[inline]
    pub fn next_block(&mut self) -> Option<u64> {
        self.queue.pop()
    }

    /// The block that comes so many after the next, if so many are known.
    #[inline]
    pub fn peek(&self, after: usize) -> Option<u64> {
        self.queue.peek(after)
    }

    /// Has the processor fetch what is needed to refer to a block soon.
    #[inline]
    pub fn prefetch(&self, block: u64) {
        self.marks.prefetch(block);
    }

    /// Begins to tell of a block: its fields, and [`end_of_fields`](Self::end_of_fields), follow. The first of a kind has
    /// that kind's name asked for.
    #[inline]
    pub fn begin<'n>(&mut self, block: &Block, name: impl FnOnce() -> &'n [u8]) {
        let kind = match self.kinds.find(block.form as u64, block.word) {
            Some(kind) => kind,
            None => self.new_kind(block, name()),
        };
        self.blocks += 1;
        self.bytes += block.bytes;
        let Block { address, bytes, outside, .. } = *block;
        self.output.block(&Head { kind, address, bytes, outside });
    }

    /// Whether a block has been told of, or referred to.
    pub fn has_met(&self, block: u64) -> bool {
        self.marks.contains(block)
    }

    /// The next field refers to a block that no root holds, or to one that has been told of.
    #[inline]
    pub fn refer_unheld(&mut self, block: u64) {
        self.tell_values();
        self.output.field(Field::To(block));
    }

    /// The next field refers to a block.
    #[inline]
    pub fn refer_to(&mut self, block: u64) {
        self.tell_values();
        let field = self.reference(block);
        self.output.field(field);
    }

    /// The next field leads out of the heap.
    #[inline]
    pub fn refer_outside(&mut self) {
        self.tell_values();
        self.output.field(Field::Outside);
    }

    /// The next field is a value.
    #[inline]
    pub fn value(&mut self) {
        self.values += 1;
    }

    /// After a block's last field.
    #[inline]
    pub fn end_of_fields(&mut self) {
        // What is at the end goes without saying.
        self.values = 0;
        self.output.end_of_fields();
    }

    /// There is no memory for what the caller wants.
    pub fn give_up(&mut self) -> ! {
        self.output.put(&self.summary(Ending::Memory));
        self.output.close()
    }

    pub(super) fn end(mut self, ending: Ending) -> ! {
        self.output.put(&self.summary(ending));
        self.output.close()
    }

    fn summary(&self, ending: Ending) -> Item<'static> {
        Item::End(Summary {
            ending,
            blocks: self.blocks,
            bytes: self.bytes,
            cpu_nanos: sys::processor_nanos(),
            memory: self.budget.most(),
        })
    }

    #[inline]
    fn reference(&mut self, block: u64) -> Field {
        match self.marks.insert(block) {
            Ok(false) => Field::To(block),
            Ok(true) if self.queue.push(block).is_ok() => Field::Next,
            Ok(true) | Err(NoMemory) => self.give_up(),
        }
    }

    #[inline]
    fn tell_values(&mut self) {
        if self.values > 0 {
            self.output.field(Field::Values(core::mem::take(&mut self.values)));
        }
    }

    #[cold]
    fn new_kind(&mut self, block: &Block, name: &[u8]) -> u64 {
        let Block { form, word, .. } = *block;
        match self.kinds.add(self.budget, form as u64, word) {
            Some(kind) => {
                self.output.put(&Item::Kind { form, word, name });
                kind
            }
            None => self.give_up(),
        }
    }
}
