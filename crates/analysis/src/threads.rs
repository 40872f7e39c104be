//! Who allocates, and who frees what others allocated.

use std::collections::BTreeMap;
use std::sync::Arc;

use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{ThreadId, Timestamp};

use crate::estimate::{Amount, Tally};
use crate::history::Block;
use crate::replay::{Death, Observer};

/// Observes threads.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    threads: BTreeMap<ThreadId, Sums>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    name: Option<Arc<str>>,
    os_id: Option<u32>,
    allocated: Tally,
    live: Tally,
    freed_by_others: Tally,
    freed_for_others: Tally,
}

/// What is known of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadReport {
    /// Its number in the trace.
    pub id: ThreadId,
    /// What it was called last, if anything.
    pub name: Option<Arc<str>>,
    /// The kernel's number for it.
    pub os_id: Option<u32>,
    /// What it allocated.
    pub allocated: Amount,
    /// What of it lives at the end.
    pub live: Amount,
    /// What of it other threads freed.
    pub freed_by_others: Amount,
    /// What it freed of what other threads allocated.
    pub freed_for_others: Amount,
}

impl Threads {
    /// All threads of which anything is known, those that allocated most first.
    pub fn report(&self) -> Vec<ThreadReport> {
        let mut threads: Vec<_> = self.threads.iter().map(|(&id, sums)| sums.report(id)).collect();
        let bytes = |thread: &ThreadReport| thread.allocated.bytes.value;
        threads.sort_by(|a, b| bytes(b).total_cmp(&bytes(a)));
        threads
    }

    fn of(&mut self, id: ThreadId) -> &mut Sums {
        self.threads.entry(id).or_default()
    }
}

impl Sums {
    fn report(&self, id: ThreadId) -> ThreadReport {
        ThreadReport {
            id,
            name: self.name.clone(),
            os_id: self.os_id,
            allocated: self.allocated.amount(),
            live: self.live.amount(),
            freed_by_others: self.freed_by_others.amount(),
            freed_for_others: self.freed_for_others.amount(),
        }
    }
}

impl Observer for Threads {
    fn born(&mut self, block: &Block) {
        let tally = block.tally();
        let sums = self.of(block.thread);
        sums.allocated += &tally;
        sums.live += &tally;
    }

    fn died(&mut self, block: &Block, death: Death) {
        let tally = block.tally();
        self.of(block.thread).live -= &tally;
        if death.thread != block.thread {
            self.of(block.thread).freed_by_others += &tally;
            self.of(death.thread).freed_for_others += &tally;
        }
    }

    fn fact(&mut self, _time: Timestamp, fact: &Fact) {
        if let Fact::ThreadName(fact) = fact {
            let sums = self.of(fact.thread);
            sums.name = Some(fact.name.clone()).filter(|name| !name.is_empty());
            sums.os_id = Some(fact.os_id);
        }
    }
}
