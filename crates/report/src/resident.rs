//! How much of a process's memory is explained by what lives, what the rest may be, and whether that grows.
//!
//! Of all that lives: where a filter leaves blocks out, nothing is said.

use std::time::Duration;

use lifetrace_analysis::Metric;
use lifetrace_analysis::resident::{Growth, Moment};
use lifetrace_human as human;
use lifetrace_study::Reading;
use lifetrace_study::Study;
use lifetrace_study::accounts::Accounts;
use lifetrace_study::notices;
use lifetrace_study::runtimes::PYTHON_SMALL_UNHEARD;
use serde::{Serialize, Serializer};

use crate::fields::number;

/// So much memory that is no block a program may have without a word about it, in bytes; and as long as this
/// part of its memory is explained.
const USUAL: f64 = (32 << 20) as f64;
const EXPLAINED: f64 = 0.5;

/// Less memory than this is not worth a cause of its own, in bytes.
const LEAST: u64 = 1 << 20;

/// Causes that hold for every process.
const ALWAYS: &str = "what the program maps itself, stacks, code and data of files";

/// Causes that hold for every process of which it was heard what it maps.
const ALWAYS_BESIDE_MAPPINGS: &str = "stacks, code and data of files";

/// The last look at the process's memory was at the end if at most this part of the trace comes after it, and no more
/// than a second; or as little as ten milliseconds.
const END: f64 = 0.1;
const MOST_OF_END: Duration = Duration::from_secs(1);
const LEAST_OF_END: Duration = Duration::from_millis(10);

/// A process's memory at a moment.
pub struct Resident<'a> {
    reading: &'a Reading,
    moment: Moment,
    when: When,
    growth: Option<Growth>,
}

/// At which moment of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Peak,
    /// When somebody looked last, so long before the trace ends.
    Last(Duration),
}

#[derive(Serialize)]
struct Fields {
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

impl Serialize for Resident<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields().serialize(serializer)
    }
}

impl<'a> Resident<'a> {
    /// At the end. `None` where the trace does not tell, or not all blocks are looked at.
    pub fn of(study: &'a Study) -> Option<Self> {
        let is_told = study.choice.filter.is_empty() && study.origin().tells(Metric::Live);
        is_told.then(|| Self::of_all(&study.reading)).flatten()
    }

    /// At the end of a trace of which all blocks are looked at. `None` where the trace does not tell.
    pub fn of_all(reading: &'a Reading) -> Option<Self> {
        let moment = *reading.resident.last().filter(|it| it.resident > 0)?;
        let before = reading.profile.summary().duration.saturating_sub(moment.time);
        Some(Self { reading, moment, when: When::Last(before), growth: reading.resident.growth() })
    }

    /// When most lived: as the system counted it the last time before, and all of the peak.
    pub fn at_peak(study: &'a Study) -> Option<Self> {
        let is_told = study.origin().tells(Metric::Peak);
        let end = Self::of(study).filter(|_| is_told)?;
        let peak = study.reading.profile.summary().peak;
        let before = *study.reading.resident.at(peak.time).filter(|it| it.resident > 0)?;
        let moment = Moment { live: peak.amount.bytes, ..before };
        Some(Self { moment, when: When::Peak, ..end })
    }

    /// What was counted at that moment.
    pub fn moment(&self) -> &Moment {
        &self.moment
    }

    /// Whether there is more and more memory beside what lives.
    pub fn grows(&self) -> bool {
        self.growth.is_some()
    }

    /// How many bytes an hour that is.
    pub fn per_hour(&self) -> Option<f64> {
        self.growth.map(|growth| growth.per_hour)
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
        let Moment { resident, live, .. } = self.moment;
        let resident = resident as f64;
        let lives = match (self.when == When::Peak, self.began_late()) {
            (false, false) => "lives",
            (true, false) => "lived",
            (false, true) => "was allocated since it is recorded, and lives",
            (true, true) => "was allocated since it is recorded, and lived",
        };
        let when = self.when();
        if self.has("unheard-memory") || self.has("own-allocator") {
            return self.unknown(&when);
        }
        let (share, live) = (self.share(), human::estimate(&live));
        let of_it = match self.moment.live.interval().low {
            least if least > resident => {
                format!(
                    "{live} {lives}, and is not resident in part: never written to, or swapped out"
                )
            }
            _ if share > 1.0 => format!("{live} {lives}, which is about all of it"),
            _ => format!("of which {live} ({}) {lives}", human::percent(share)),
        };
        let first = format!("Resident {when}: {}, {of_it}.", human::bytes(resident));
        if is_much(&self.moment) && !self.grows() {
            format!("{first} The rest may be {}.", self.causes())
        } else {
            first
        }
    }

    fn when(&self) -> String {
        let duration = self.reading.profile.summary().duration;
        match self.when {
            When::Peak => "at the peak".to_owned(),
            When::Last(before) if before <= end_of(duration) => "at the end".to_owned(),
            When::Last(before) => format!("{} before the end", human::duration(before)),
        }
    }

    /// Where not all is heard, what was not heard may be all of it.
    fn unknown(&self, when: &str) -> String {
        let (resident, live) = (self.moment.resident as f64, &self.moment.live);
        let first = format!(
            "Resident {when}: {}. How much of it is blocks that live is not known, as not all of them were heard: {} is.",
            human::bytes(resident),
            human::estimate(live)
        );
        let hears_mappings = self.reading.facts.samplers.values().any(|it| &*it.name == "mmap");
        match hears_mappings {
            true => first,
            false => {
                first
                    + " Recorded with --sources native,mmap, a program tells what it maps itself as well."
            }
        }
    }

    /// The sentence that a page needs which is about what lives: where there is more and more memory
    /// beside, or little of it is explained.
    pub fn unexplained(&self) -> Option<String> {
        self.growing().or_else(|| is_much(&self.moment).then(|| self.explained()))
    }

    fn fields(&self) -> Fields {
        let growth = |it: Growth| GrowthFields {
            since_us: it.since.as_micros() as u64,
            bytes: it.bytes,
            bytes_per_hour: it.per_hour,
        };
        Fields {
            bytes: self.moment.resident,
            time_us: self.moment.time.as_micros() as u64,
            live_bytes: self.moment.live.value,
            live_share: self.share(),
            growth_beside: self.growth.map(growth),
        }
    }

    fn share(&self) -> f64 {
        share(&self.moment)
    }

    /// Whether the process had blocks already when its recording began.
    fn began_late(&self) -> bool {
        self.has(notices::BEGAN_LATE)
    }

    /// Whether the trace has a notice that begins so.
    fn has(&self, notice: &str) -> bool {
        self.reading.facts.notices.iter().any(|it| it.starts_with(notice))
    }

    /// What memory may be that is no block of those that were sampled, the likeliest first.
    pub fn causes(&self) -> String {
        let samplers = || self.reading.facts.samplers.values();
        let hears_malloc = samplers().any(|it| &*it.name == "malloc");
        let always = match samplers().any(|it| &*it.name == "mmap") {
            true => ALWAYS_BESIDE_MAPPINGS,
            false => ALWAYS,
        };
        let live = self.moment.live.value as u64;
        let free_heap = self.moment.heap.filter(|heap| *heap >= live.saturating_add(LEAST));
        let free = self.moment.allocator.map(|(held, in_use)| held.saturating_sub(in_use));
        let bytes = |bytes: u64| human::bytes(bytes as f64);
        let causes = [
            self.began_late().then(|| "blocks from before the recording".to_owned()),
            (!hears_malloc && samplers().next().is_some()).then(|| {
                "memory from malloc, which was not sampled (record --sources all does)".to_owned()
            }),
            self.has(PYTHON_SMALL_UNHEARD)
                .then(|| "Python's objects of up to 512 bytes, which were not sampled".to_owned()),
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
            Some(always.to_owned()),
        ];
        causes.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

fn end_of(duration: Duration) -> Duration {
    duration.mul_f64(END).min(MOST_OF_END).max(LEAST_OF_END)
}

/// The part of the memory that lives.
pub fn share(moment: &Moment) -> f64 {
    moment.live.value / moment.resident as f64
}

/// Whether so much memory is no block that a reader should know.
pub fn is_much(moment: &Moment) -> bool {
    moment.rest() > USUAL && share(moment) < EXPLAINED
}
