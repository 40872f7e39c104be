//! All that roots hold, each block once, in the order in which they are found: breadth first.
//!
//! What differs between runtimes (what a word refers to, what a block is) is its agent's; here is what has been met and
//! what waits. Where memory is short the walk is given up, and says so.

use lifetrace_transport::stream::{Ending, Field, Form, Head, Item, Summary};

use super::budget::Budget;
use super::marks::{Marks, NoMemory};
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
    kinds: Kinds,
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
            kinds: Kinds { places: &mut [], count: 0 },
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
        let to = self.reference(block);
        self.output.put(&Item::Root { category: self.category, slot, to });
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

    /// Begins to tell of a block: its fields, and [`end_of_fields`](Self::end_of_fields), follow. The first of a kind has
    /// that kind's name asked for.
    #[inline]
    pub fn begin<'n>(&mut self, block: &Block, name: impl FnOnce() -> &'n [u8]) {
        let kind = match self.kinds.find(block.form, block.word) {
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
        match self.kinds.add(self.budget, form, word) {
            Some(kind) => {
                self.output.put(&Item::Kind { form, word, name });
                kind
            }
            None => self.give_up(),
        }
    }
}

/// The numbers of kinds, by a hash of what tells them apart.
#[derive(Debug)]
struct Kinds {
    /// Three words each: the form and one, the word, the number.
    places: &'static mut [u64],
    count: u64,
}

const PLACE: usize = 3;
const FIRST_PLACES: usize = 512;

impl Kinds {
    #[inline]
    fn find(&self, form: Form, word: u64) -> Option<u64> {
        let at = self.place(form, word)?;
        (self.places[at] != 0).then(|| self.places[at + 2])
    }

    /// Where a kind is, or would be; `None` if there are no places.
    #[inline]
    fn place(&self, form: Form, word: u64) -> Option<usize> {
        let form = form as u64 + 1;
        let mask = (self.places.len() / PLACE).checked_sub(1)?;
        let mut at =
            ((word ^ form << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            match self.places[PLACE * at..] {
                [0, ..] => return Some(PLACE * at),
                [its_form, its_word, ..] if (its_form, its_word) == (form, word) => {
                    return Some(PLACE * at);
                }
                _ => at = (at + 1) & mask,
            }
        }
    }

    fn add(&mut self, budget: &Budget, form: Form, word: u64) -> Option<u64> {
        if 2 * PLACE * self.count as usize >= self.places.len() {
            self.grow(budget)?;
        }
        let number = self.count;
        self.count += 1;
        self.put(form, [form as u64 + 1, word, number])
    }

    fn put(&mut self, form: Form, place: [u64; PLACE]) -> Option<u64> {
        let at = self.place(form, place[1])?;
        self.places[at..at + PLACE].copy_from_slice(&place);
        Some(place[2])
    }

    fn grow(&mut self, budget: &Budget) -> Option<()> {
        let count = (2 * self.places.len() / PLACE).max(FIRST_PLACES);
        let larger = budget.words(PLACE * count)?;
        let smaller = core::mem::replace(&mut self.places, larger);
        for place in smaller.as_chunks().0.iter().filter(|place| place[0] != 0) {
            let form = *Form::ALL.get(place[0] as usize - 1)?;
            self.put(form, *place)?;
        }
        budget.give_back(smaller);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_again() {
        let budget = Budget::of(1 << 24);
        let mut kinds = Kinds { places: &mut [], count: 0 };
        let forms = [Form::Fields, Form::Closure, Form::Custom];
        let all = || (0..3_000u64).flat_map(|word| forms.map(|form| (form, word * 16)));
        for (number, (form, word)) in all().enumerate() {
            assert_eq!(kinds.find(form, word), None);
            assert_eq!(kinds.add(&budget, form, word), Some(number as u64));
        }
        for (number, (form, word)) in all().enumerate() {
            assert_eq!(kinds.find(form, word), Some(number as u64));
        }
    }
}
