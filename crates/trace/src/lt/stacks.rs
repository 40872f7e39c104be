//! The last backtraces of those who do not act at the moment, so that each is coded against one of the
//! same thread. One that is not kept begins with what the thread before has: threads have roots in
//! common, and often more.

use super::backtraces::Backtraces;
use super::events::{ACTORS, Actor};

/// So many of the outermost frames are kept.
const KEPT: usize = 4096;

/// Backtraces, the most recently left first.
#[derive(Debug, Default)]
pub(super) struct Stacks(Vec<(Actor, Vec<u32>)>);

impl Stacks {
    /// From here on `to` acts, no longer `from`.
    pub(super) fn switch(&mut self, backtraces: &mut Backtraces, from: Actor, to: Actor) {
        if from == to {
            return;
        }
        let found = self.0.iter().position(|(actor, _)| *actor == to);
        let mut left = match found {
            Some(index) => backtraces.exchange(self.0.remove(index).1),
            None => backtraces.stack().to_vec(),
        };
        left.truncate(KEPT);
        left.shrink_to(KEPT);
        self.0.truncate(ACTORS - 1);
        self.0.insert(0, (from, left));
    }
}
