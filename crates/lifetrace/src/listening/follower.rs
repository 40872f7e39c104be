//! A tracker, and what it remembers of each block.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use lifetrace_transport::message::SampleId;

use super::Event;
use crate::tracker::{Release, Tracker};

/// A tracker of any type.
pub(crate) trait Follower: Send + Sync {
    /// Tells it.
    fn take(&self, event: Event);

    /// Drops what it remembers.
    fn clear(&self);
}

/// No lock is held while the tracker runs. A sample's events come one after the other, as its block is one
/// thread's at a time.
struct Following<T: Tracker> {
    tracker: T,
    blocks: [Mutex<HashMap<u64, Remembered<T::Meta>>>; SHARDS],
}

struct Remembered<M> {
    meta: M,
    birth: Instant,
}

const SHARDS: usize = 16;

pub(crate) fn follow<T: Tracker>(tracker: T) -> Arc<dyn Follower> {
    Arc::new(Following { tracker, blocks: Default::default() })
}

impl<T: Tracker> Following<T> {
    fn shard(
        &self,
        SampleId(sample): SampleId,
    ) -> MutexGuard<'_, HashMap<u64, Remembered<T::Meta>>> {
        let shard = &self.blocks[sample as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, sample: SampleId) -> Option<Remembered<T::Meta>> {
        self.shard(sample).remove(&sample.0)
    }

    fn remember(&self, sample: SampleId, meta: Option<T::Meta>, birth: Instant) {
        if let Some(meta) = meta {
            self.shard(sample).insert(sample.0, Remembered { meta, birth });
        }
    }
}

impl<T: Tracker> Follower for Following<T> {
    fn take(&self, event: Event) {
        match event {
            Event::Born(sample, allocation) => {
                self.remember(sample, self.tracker.alloc(&allocation), allocation.time);
            }
            Event::Promoted(sample) => {
                if let Some(Remembered { meta, birth }) = self.forget(sample) {
                    self.remember(sample, self.tracker.promote(meta), birth);
                }
            }
            Event::Died(sample, time) => {
                if let Some(Remembered { meta, birth }) = self.forget(sample) {
                    let lived = time.saturating_duration_since(birth);
                    self.tracker.free(meta, &Release { time, lived });
                }
            }
        }
    }

    fn clear(&self) {
        for shard in &self.blocks {
            let blocks = std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
            drop(blocks);
        }
    }
}
