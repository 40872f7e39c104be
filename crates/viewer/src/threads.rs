//! The threads of a trace, as rows.

use lifetrace_trace::fact::ThreadName;
use lifetrace_trace::ids::ThreadId;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Threads that were met.
#[derive(Debug, Default)]
pub struct Threads {
    rows: FxHashMap<ThreadId, u32>,
    known: Vec<ThreadFields>,
}

/// A row of `facts.threads`.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadFields {
    number: u32,
    name: Option<String>,
    kernel: Option<u32>,
}

impl Threads {
    /// The row of a thread.
    pub fn row(&mut self, thread: ThreadId) -> u32 {
        *self.rows.entry(thread).or_insert_with(|| {
            self.known.push(ThreadFields { number: thread.0, name: None, kernel: None });
            self.known.len() as u32 - 1
        })
    }

    /// What it is called, from now on. A name that is taken away stays, as filters have it.
    pub fn name(&mut self, told: &ThreadName) {
        let row = self.row(told.thread) as usize;
        let known = &mut self.known[row];
        known.kernel = Some(told.os_id);
        if !told.name.is_empty() {
            known.name = Some(told.name.to_string());
        }
    }

    /// All rows.
    pub fn into_fields(self) -> Vec<ThreadFields> {
        self.known
    }
}
