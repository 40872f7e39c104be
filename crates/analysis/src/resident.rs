//! What a process had in memory, as the system counts it, beside what is known to live.
//!
//! Blocks that live are a part of resident memory: the rest is free memory that allocators and collectors keep,
//! code and data of files, stacks, memory that the program maps itself, and blocks that were not sampled. Where
//! the rest grows, a page about blocks alone would call a program healthy that is about to be killed.

use std::time::Duration;

use crate::estimate::Estimate;

/// More moments than this are not kept: then every other one goes.
const MOST: usize = 4096;

/// Of the time, what is left out as the program begins; what follows is looked at in [`PARTS`].
const START: f64 = 0.25;
const PARTS: usize = 4;

/// In less time, or by less memory, nothing is said to grow.
const SHORTEST: Duration = Duration::from_secs(10);
const LEAST_BYTES: f64 = (8 << 20) as f64;
const LEAST_SHARE: f64 = 0.1;

/// Standard deviations of what is estimated to live that a growth has to exceed.
const SIGMAS: f64 = 4.0;

/// What was counted at one moment, and what is estimated to have lived then.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// Since the start.
    pub time: Duration,
    /// Bytes of resident memory.
    pub resident: u64,
    /// Bytes of blocks.
    pub live: Estimate,
    /// Bytes that a managed heap has from the system, the last time that was told.
    pub heap: Option<u64>,
    /// Bytes that the allocator has from the system, and how many of them it has handed out.
    pub allocator: Option<(u64, u64)>,
}

/// How a process's memory went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resident {
    moments: Vec<Moment>,
    /// Of so many moments one is kept.
    stride: usize,
    skipped: usize,
    last: Option<Moment>,
}

/// Memory beside what lives that has become more, all the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// From then on.
    pub since: Duration,
    /// How much more there is.
    pub bytes: f64,
    /// How fast.
    pub per_hour: f64,
}

impl Moment {
    /// Bytes beside what lives; negative where much of what lives was never touched.
    pub fn rest(&self) -> f64 {
        self.resident as f64 - self.live.value
    }
}

impl Resident {
    /// Takes note of a moment; they come in the order of time.
    pub fn push(&mut self, moment: Moment) {
        self.last = Some(moment);
        self.skipped += 1;
        if self.skipped < self.stride {
            return;
        }
        self.skipped = 0;
        self.moments.push(moment);
        if self.moments.len() > MOST {
            let mut number = 0;
            self.moments.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.stride = 2 * self.stride.max(1);
        }
    }

    /// The last time that somebody looked.
    pub fn last(&self) -> Option<&Moment> {
        self.last.as_ref()
    }

    /// The last that is known at a time.
    pub fn at(&self, time: Duration) -> Option<&Moment> {
        let after = self.moments.partition_point(|moment| moment.time <= time);
        after.checked_sub(1).map(|at| &self.moments[at])
    }

    /// How memory beside what lives has grown; `None` unless it did all the time, and by much.
    pub fn growth(&self) -> Option<Growth> {
        let end = self.last?.time;
        if end < SHORTEST {
            return None;
        }
        let levels: Option<Vec<f64>> = (0..PARTS).map(|part| self.level(part, end)).collect();
        let levels = levels?;
        let risen = levels[PARTS - 1] - levels[0];
        let noise = self.last?.live.variance.max(self.at(end.mul_f64(START))?.live.variance).sqrt();
        let is_steady = levels.windows(2).all(|pair| {
            let step = pair[1] - pair[0];
            step > 0.25 * risen / (PARTS - 1) as f64
        });
        let least = LEAST_BYTES.max(LEAST_SHARE * levels[0]).max(SIGMAS * noise);
        // From the middle of the first part to that of the last one.
        let between = end.mul_f64((1.0 - START) * (PARTS - 1) as f64 / PARTS as f64);
        let per_second = risen / between.as_secs_f64();
        let since = end.mul_f64(START);
        let growth = Growth {
            since,
            bytes: per_second * (end - since).as_secs_f64(),
            per_hour: per_second * 3600.0,
        };
        (is_steady && risen >= least).then_some(growth)
    }

    /// The median of what there is beside what lives, in a part of the time. Nothing grows where a block is written to
    /// that lives already: less than nothing is nothing.
    fn level(&self, part: usize, end: Duration) -> Option<f64> {
        let bound = |part: usize| end.mul_f64(START + (1.0 - START) * part as f64 / PARTS as f64);
        let is_in = |it: &&Moment| bound(part) <= it.time && it.time <= bound(part + 1);
        let rest = |moment: &Moment| moment.rest().max(0.0);
        let mut rests: Vec<f64> = self.moments.iter().filter(is_in).map(rest).collect();
        rests.sort_unstable_by(f64::total_cmp);
        rests.get(rests.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = (1 << 20) as f64;

    /// A moment each 100 ms, of so many MiB at a second.
    fn resident(seconds: u64, megabytes: impl Fn(f64) -> (f64, f64)) -> Resident {
        let mut resident = Resident::default();
        for tenth in 0..=10 * seconds {
            let (all, live) = megabytes(tenth as f64 / 10.0);
            resident.push(Moment {
                time: Duration::from_millis(100 * tenth),
                resident: (all * MIB) as u64,
                live: Estimate::new(live * MIB, (0.1 * MIB).powi(2)),
                ..Moment::default()
            });
        }
        resident
    }

    #[test]
    fn what_grows_beside_what_lives() {
        let growth = resident(12, |at| (10.0 + 25.0 * at, 1.0)).growth().unwrap();
        assert_eq!(growth.since, Duration::from_secs(3));
        let per_hour = 25.0 * 3600.0 * MIB;
        assert!((growth.per_hour / per_hour - 1.0).abs() < 0.02, "{growth:?}");
        assert!((growth.bytes / (25.0 * 9.0 * MIB) - 1.0).abs() < 0.03, "{growth:?}");
    }

    #[test]
    fn what_does_not_grow() {
        for megabytes in [
            |_| (300.0, 1.0),
            // What lives grows.
            |at: f64| (10.0 + 25.0 * at, 2.0 + 25.0 * at),
            // Once, and then no more.
            |at: f64| (if at < 6.0 { 10.0 } else { 200.0 }, 1.0),
            // Up and down.
            |at: f64| (50.0 + 40.0 * (at as u64 % 3) as f64, 1.0),
            // By little.
            |at: f64| (300.0 + at, 1.0),
            // What lives is written to.
            |at: f64| (10.0 + 25.0 * at, 1000.0),
        ] as [fn(f64) -> (f64, f64); 6]
        {
            let found = resident(12, megabytes).growth();
            assert_eq!(found, None);
        }
        assert_eq!(resident(9, |at| (10.0 + 25.0 * at, 1.0)).growth(), None, "too short");
        assert_eq!(Resident::default().growth(), None);
    }

    #[test]
    fn long_traces_keep_few_moments() {
        let resident = resident(3600, |at| (at, 0.0));
        assert!(resident.moments.len() <= MOST && resident.moments.len() > MOST / 4);
        assert_eq!(resident.last().unwrap().time, Duration::from_secs(3600));
        let half = resident.at(Duration::from_secs(1800)).unwrap();
        assert!((half.resident as f64 / MIB - 1800.0).abs() < 2.0);
        assert_eq!(resident.at(Duration::ZERO).map(|it| it.resident), None);
        assert!(resident.growth().is_some());
    }
}
