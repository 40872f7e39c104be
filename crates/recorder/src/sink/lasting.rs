//! What each file of a succession begins with: facts that hold until others take their place.
//!
//! A program may load and unload, and start threads, without end: of these the newest are kept.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use lifetrace_trace::fact::{Fact, Label, Module, Parent, Process, Sampler, ThreadName};
use lifetrace_trace::ids::{SamplerId, ThreadId, Timestamp};

/// About 150 bytes each.
const MOST_MODULES: usize = 2048;

/// About 60 bytes each.
const MOST_THREADS: usize = 2048;

/// What a trace has told that still holds.
#[derive(Debug, Default)]
pub(super) struct Lasting {
    process: Option<Process>,
    parent: Option<Parent>,
    labels: Vec<Label>,
    samplers: BTreeMap<SamplerId, Sampler>,
    modules: VecDeque<Module>,
    threads: BTreeMap<ThreadId, ThreadName>,
    notices: Vec<Arc<str>>,
    /// A moment, and what the wall clock showed then.
    clock: Option<(Timestamp, Timestamp)>,
}

impl Lasting {
    /// Keeps a fact, if it lasts.
    pub(super) fn take(&mut self, time: Timestamp, fact: &Fact) {
        match fact {
            Fact::Process(process) => self.process = Some(process.clone()),
            Fact::Parent(parent) => self.parent = Some(parent.clone()),
            Fact::Label(label) => {
                self.labels.retain(|known| known.key != label.key);
                self.labels.push(label.clone());
            }
            Fact::Sampler(sampler) => drop(self.samplers.insert(sampler.id, sampler.clone())),
            Fact::Module(module) => {
                self.modules.push_back(module.clone());
                if self.modules.len() > MOST_MODULES {
                    self.modules.pop_front();
                }
            }
            Fact::ThreadName(name) => self.take_name(name),
            Fact::Notice(code) if !self.notices.contains(code) => self.notices.push(code.clone()),
            Fact::WallClock(shown) => self.clock = Some((time, *shown)),
            _ => {}
        }
    }

    /// Threads are numbered as they come; the first one is mostly the program's main thread, and stays.
    fn take_name(&mut self, name: &ThreadName) {
        self.threads.insert(name.thread, name.clone());
        if self.threads.len() > MOST_THREADS
            && let Some(&oldest) = self.threads.keys().nth(1)
        {
            self.threads.remove(&oldest);
        }
    }

    /// What is to be told before blocks are, at `time`.
    pub(super) fn first(&self, time: Timestamp) -> impl Iterator<Item = Fact> {
        let shown = self.clock.map(|(then, shown)| {
            Fact::WallClock(Timestamp(shown.0.saturating_add(time.0.saturating_sub(then.0))))
        });
        let process = self.process.iter().cloned().map(Fact::Process);
        let parent = self.parent.iter().cloned().map(Fact::Parent);
        let labels = self.labels.iter().cloned().map(Fact::Label);
        let modules = self.modules.iter().cloned().map(Fact::Module);
        process.chain(parent).chain(labels).chain(modules).chain(shown)
    }

    /// What is to be told when it has been told of blocks that live: how blocks are sampled from now on.
    pub(super) fn then(&self) -> impl Iterator<Item = Fact> {
        let samplers = self.samplers.values().cloned().map(Fact::Sampler);
        let threads = self.threads.values().cloned().map(Fact::ThreadName);
        let notices = self.notices.iter().cloned().map(Fact::Notice);
        samplers.chain(threads).chain(notices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_bounded_and_the_newest_stays() {
        let mut lasting = Lasting::default();
        for number in 0..3 * MOST_THREADS as u32 {
            let thread = ThreadName { thread: ThreadId(number), os_id: 7, name: "worker".into() };
            lasting.take(Timestamp(0), &Fact::ThreadName(thread));
            let path = format!("/lib/{number}.so").into();
            let module = Module { number, start: 0, end: 1, bias: 0, build_id: Vec::new(), path };
            lasting.take(Timestamp(0), &Fact::Module(module));
            lasting.take(Timestamp(0), &Fact::Notice("own-allocator".into()));
        }
        let last = 3 * MOST_THREADS as u32 - 1;
        let names: Vec<u32> = lasting.threads.keys().map(|thread| thread.0).collect();
        assert_eq!((names.len(), names[0], names[MOST_THREADS - 1]), (MOST_THREADS, 0, last));
        let modules: Vec<u32> = lasting.modules.iter().map(|module| module.number).collect();
        assert_eq!((modules.len(), modules[MOST_MODULES - 1]), (MOST_MODULES, last));
        assert_eq!(lasting.notices.len(), 1);
    }

    #[test]
    fn the_wall_clock_goes_on_with_time() {
        let mut lasting = Lasting::default();
        lasting.take(Timestamp(100), &Fact::WallClock(Timestamp(5_000)));
        let told: Vec<Fact> = lasting.first(Timestamp(140)).collect();
        assert_eq!(told, [Fact::WallClock(Timestamp(5_040))]);
    }
}
