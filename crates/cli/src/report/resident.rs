//! How much of a process's memory is explained by what lives, what the rest may be, and whether that grows.
//!
//! Of all that lives: where a filter leaves blocks out, nothing is said.

use lifetrace_analysis::Metric;
use lifetrace_analysis::resident::{Growth, Moment};
use serde::Serialize;

use super::json::number;
use crate::accounts::Accounts;
use crate::human;
use crate::study::Study;

/// So much memory that is no block a program may have without a word about it, in bytes; and as long as this
/// part of its memory is explained.
const USUAL: f64 = (32 << 20) as f64;
const EXPLAINED: f64 = 0.5;

/// Less memory than this is not worth a cause of its own, in bytes.
const LEAST: u64 = 1 << 20;

/// Causes that hold for every process.
const ALWAYS: &str = "what the program maps itself, stacks, code and data of files";

/// A process's memory.
pub struct Resident<'a> {
    study: &'a Study,
    last: Moment,
    growth: Option<Growth>,
}

#[derive(Serialize)]
pub struct Fields {
    bytes: u64,
    time_us: u64,
    #[serde(serialize_with = "number")]
    live_bytes: f64,
    #[serde(serialize_with = "number")]
    live_share: f64,
    growth_beside: Option<GrowthFields>,
}

#[derive(Serialize)]
struct GrowthFields {
    since_us: u64,
    #[serde(serialize_with = "number")]
    bytes: f64,
    #[serde(serialize_with = "number")]
    bytes_per_hour: f64,
}

impl<'a> Resident<'a> {
    /// `None` where the trace does not tell, or not all blocks are looked at.
    pub fn of(study: &'a Study) -> Option<Self> {
        let resident = &study.reading.resident;
        let is_told = study.choice.filter.is_empty() && study.origin().tells(Metric::Live);
        let last = resident.last().filter(|it| is_told && it.resident > 0);
        Some(Self { study, last: *last?, growth: resident.growth() })
    }

    /// Whether there is more and more memory beside what lives.
    pub fn grows(&self) -> bool {
        self.growth.is_some()
    }

    /// That there is, and how fast.
    pub fn growing(&self) -> Option<String> {
        let Growth { since, bytes, per_hour } = self.growth?;
        Some(format!(
            "The process grows beside what was sampled: by {} since {} after the start, which is {}/h. It may be {}.",
            human::bytes(bytes),
            human::duration(since),
            human::bytes(per_hour),
            self.causes(),
        ))
    }

    /// How much of the memory lives, and what the rest may be if it is much.
    pub fn explained(&self) -> String {
        let Moment { resident, live, .. } = self.last;
        let resident = resident as f64;
        let first = format!(
            "Resident at the end: {}, of which {} ({}) lives.",
            human::bytes(resident),
            human::estimate(&live),
            human::percent(self.share()),
        );
        let is_much = self.last.rest() > USUAL && self.share() < EXPLAINED;
        if is_much && !self.grows() {
            format!("{first} The rest may be {}.", self.causes())
        } else {
            first
        }
    }

    /// For programs.
    pub fn fields(&self) -> Fields {
        let growth = |it: Growth| GrowthFields {
            since_us: it.since.as_micros() as u64,
            bytes: it.bytes,
            bytes_per_hour: it.per_hour,
        };
        Fields {
            bytes: self.last.resident,
            time_us: self.last.time.as_micros() as u64,
            live_bytes: self.last.live.value,
            live_share: self.share(),
            growth_beside: self.growth.map(growth),
        }
    }

    fn share(&self) -> f64 {
        self.last.live.value / self.last.resident as f64
    }

    /// What memory may be that is no block of those that were sampled, the likeliest first.
    fn causes(&self) -> String {
        let samplers = || self.study.reading.facts.samplers.values();
        let hears_malloc = samplers().any(|it| &*it.name == "malloc");
        let live = self.last.live.value as u64;
        let free_heap = self.last.heap.filter(|heap| *heap >= live.saturating_add(LEAST));
        let free = self.last.allocator.map(|(held, in_use)| held.saturating_sub(in_use));
        let bytes = |bytes: u64| human::bytes(bytes as f64);
        let causes = [
            (!hears_malloc && samplers().next().is_some()).then(|| {
                "memory from malloc, which was not sampled (record --sources all does)".to_owned()
            }),
            free_heap.map(|heap| {
                format!("garbage and free memory of the collected heap, which has {}", bytes(heap))
            }),
            match free {
                Some(free) => (free >= LEAST)
                    .then(|| format!("memory that the allocator keeps free, {}", bytes(free))),
                None => hears_malloc.then(|| {
                    "memory that the allocator keeps free (fragmentation, for one)".to_owned()
                }),
            },
            Some(ALWAYS.to_owned()),
        ];
        causes.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}
