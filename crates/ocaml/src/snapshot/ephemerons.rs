//! Blocks that are followed only if others live. \[UNSAFE\]
//!
//! An ephemeron's data live if it lives itself and all its keys do. What lives is not known before all has been walked,
//! and its data may lead to further keys: so where there is any with data, the walk is made once without telling, as often
//! as it finds more, and then once more, telling of those data that live. (`runtime/weak.c`, `caml/weak.h`)

use lifetrace_agent::snapshot::budget::Budget;
use lifetrace_agent::snapshot::marks::{Marks, NoMemory};
use lifetrace_agent::snapshot::queue::Queue;

use super::heap::{Heap, Word};

/// The ephemerons and weak arrays of a heap, and, where it matters, what lives.
#[derive(Debug)]
pub(super) struct Ephemerons<'a> {
    all: Marks<'a>,
    /// Whether any has data.
    has_data: bool,
    live: Option<Marks<'a>>,
}

impl<'a> Ephemerons<'a> {
    /// Those of lists, of which these are the first ones; each leads to the next.
    ///
    /// # Errors
    /// [`NoMemory`].
    ///
    /// # Safety
    /// They are lists of the runtime's, in a heap that does not change.
    pub(super) unsafe fn of(
        lists: impl Iterator<Item = u64>,
        heap: &Heap,
        budget: &'a Budget,
    ) -> Result<Ephemerons<'a>, NoMemory> {
        let mut all = Marks::new(budget);
        let mut has_data = false;
        for first in lists {
            let mut block = first;
            // The list's end is null or a value.
            while block != 0 && block & 1 == 0 && all.insert(block)? {
                // SAFETY: by contract.
                unsafe {
                    has_data |= !heap.is_nothing(heap.ephemeron(block).0);
                    block = (block as *const u64).read();
                }
            }
        }
        Ok(Ephemerons { all, has_data, live: None })
    }

    /// Whether that is one.
    pub(super) fn contains(&self, block: u64) -> bool {
        self.all.contains(block)
    }

    /// Finds out what lives, if that matters: `roots` tells of all, and `references` of what a block refers to.
    ///
    /// # Errors
    /// [`NoMemory`].
    ///
    /// # Safety
    /// As [`of`](Self::of).
    pub(super) unsafe fn find_living(
        &mut self,
        heap: &Heap,
        budget: &'a Budget,
        roots: impl FnOnce(&mut dyn FnMut(u64)),
        mut references: impl FnMut(u64, &mut dyn FnMut(u64)),
    ) -> Result<(), NoMemory> {
        if !self.has_data {
            return Ok(());
        }
        let mut living =
            Living { live: Marks::new(budget), waiting: Queue::new(budget), full: false };
        let mut ephemerons = Queue::new(budget);
        roots(&mut |block| living.reach(block));
        loop {
            while let Some(block) = living.waiting.pop() {
                if self.all.contains(block) {
                    ephemerons.push(block)?;
                } else {
                    references(block, &mut |block| living.reach(block));
                }
            }
            // SAFETY: by contract.
            if living.full || !unsafe { living.follow(heap, &mut ephemerons)? } {
                break;
            }
        }
        self.live = Some(living.live);
        if living.full { Err(NoMemory) } else { Ok(()) }
    }

    /// The data of an ephemeron, if they are followed: what they are.
    ///
    /// # Safety
    /// It is one, in a heap that does not change.
    pub(super) unsafe fn data(&self, heap: &Heap, block: u64) -> Option<Word> {
        // SAFETY: by contract.
        unsafe {
            living_data(heap, block, |key| self.live.as_ref().is_some_and(|it| it.contains(key)))
        }
    }
}

struct Living<'a> {
    live: Marks<'a>,
    waiting: Queue<'a>,
    /// There is no memory for more.
    full: bool,
}

impl Living<'_> {
    fn reach(&mut self, block: u64) {
        let is_new = self.live.insert(block);
        self.full |= is_new.is_err() || (is_new == Ok(true) && self.waiting.push(block).is_err());
    }

    /// Reaches the data of those ephemerons whose keys live, and drops these; whether there were any.
    ///
    /// # Safety
    /// As [`Ephemerons::of`].
    unsafe fn follow(&mut self, heap: &Heap, ephemerons: &mut Queue<'_>) -> Result<bool, NoMemory> {
        let mut has_followed = false;
        for _ in 0..ephemerons.len() {
            let Some(block) = ephemerons.pop() else { break };
            // SAFETY: by contract.
            match unsafe { living_data(heap, block, |key| self.live.contains(key)) } {
                Some(data) => {
                    has_followed = true;
                    if let Word::Block(data) = data {
                        self.reach(data);
                    }
                }
                None => ephemerons.push(block)?,
            }
        }
        Ok(has_followed)
    }
}

/// What an ephemeron's data are, if it has any and all its keys live.
///
/// # Safety
/// As [`Ephemerons::of`].
unsafe fn living_data(heap: &Heap, block: u64, lives: impl Fn(u64) -> bool) -> Option<Word> {
    // SAFETY: by contract.
    unsafe {
        let (data, keys) = heap.ephemeron(block);
        let is_alive = |&key: &u64| match heap.word(key) {
            Word::Block(key) => lives(key),
            Word::Value | Word::Outside => true,
        };
        let is_followed = !heap.is_nothing(data) && keys.iter().all(is_alive);
        is_followed.then(|| heap.word(data))
    }
}
