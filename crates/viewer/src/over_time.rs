//! What a trace tells of the whole process: its memory, its collector, its clock.

use std::collections::BTreeMap;

use lifetrace_trace::fact::{Cycle, Fact, Generation};
use lifetrace_trace::ids::Bytes;

use crate::section::Section;

/// More moments and collections than this are thinned.
const MOST: usize = 20_000;

/// Figures of the process over time. Times are microseconds since the start.
#[derive(Debug)]
pub struct OverTime {
    word_bytes: u64,
    heap_words: Option<u64>,
    moments: Vec<Moment>,
    cycles: Vec<Collection>,
    /// Collections that have begun, by generation: their number, and where they are in `cycles`.
    running: [Option<(u64, usize)>; 3],
    clock: Vec<(i64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Moment {
    time: f64,
    resident: f64,
    heap: f64,
    live: f64,
}

#[derive(Clone, Copy, Debug)]
struct Collection {
    begin: f64,
    end: f64,
    generation: u8,
}

impl OverTime {
    /// Nothing so far, of a machine with words of so many bytes.
    pub fn new(word_bytes: u64) -> Self {
        let (moments, cycles, clock) = (Vec::new(), Vec::new(), Vec::new());
        Self { word_bytes, heap_words: None, moments, cycles, running: [None; 3], clock }
    }

    /// Takes what the trace tells at a time, when so many bytes are estimated to live.
    pub fn take(&mut self, time: i64, fact: &Fact, live: f64) {
        match fact {
            Fact::Counters(counters) => {
                let bytes = |it: Option<Bytes>| it.map_or(f64::NAN, |it| it.0 as f64);
                let heap = self.heap_words.map(|words| words.saturating_mul(self.word_bytes));
                let heap = bytes(heap.map(Bytes));
                let resident = bytes(counters.resident);
                self.moments.push(Moment { time: time as f64, resident, heap, live });
            }
            Fact::Collector(collector) => {
                self.heap_words = collector.heap_words.or(self.heap_words);
            }
            Fact::Cycle(cycle) => self.cycle(time, cycle),
            Fact::WallClock(shows) => self.clock.push((time, shows.0)),
            _ => {}
        }
    }

    fn cycle(&mut self, time: i64, cycle: &Cycle) {
        let generation = match cycle.generation {
            Generation::Minor => 0,
            Generation::Major => 1,
            Generation::Compaction => 2,
        };
        let running = &mut self.running[usize::from(generation)];
        let time = time as f64;
        if cycle.begins {
            *running = Some((cycle.number, self.cycles.len()));
            self.cycles.push(Collection { begin: time, end: f64::NAN, generation });
        } else if let Some((_, at)) = running.take().filter(|(number, _)| *number == cycle.number) {
            self.cycles[at].end = time;
        } else {
            self.cycles.push(Collection { begin: f64::NAN, end: time, generation });
        }
    }

    /// What the wall clock showed, at which times.
    pub fn clock(&self) -> &[(i64, u64)] {
        &self.clock
    }

    /// As sections.
    pub fn write(self, sections: &mut BTreeMap<&'static str, Section>) {
        let moments = highest(self.moments, |it| it.resident);
        let cycles = highest(self.cycles, |it| it.end - it.begin);
        let of = |figure: fn(&Moment) -> f64| Section::F64(moments.iter().map(figure).collect());
        sections.insert("memory.time", of(|it| it.time));
        sections.insert("memory.resident", of(|it| it.resident));
        sections.insert("memory.heap", of(|it| it.heap));
        sections.insert("memory.live", of(|it| it.live));
        let of = |figure: fn(&Collection) -> f64| Section::F64(cycles.iter().map(figure).collect());
        sections.insert("cycle.begin", of(|it| it.begin));
        sections.insert("cycle.end", of(|it| it.end));
        let generations = cycles.iter().map(|it| it.generation).collect();
        sections.insert("cycle.generation", Section::U8(generations));
    }
}

/// Not more than [`MOST`]: of neighbours the one that is highest.
fn highest<T: Copy>(all: Vec<T>, height: impl Fn(&T) -> f64) -> Vec<T> {
    if all.len() <= MOST {
        return all;
    }
    let known = |it: &T| Some(height(it)).filter(|it| !it.is_nan()).unwrap_or(f64::NEG_INFINITY);
    let neighbours = all.chunks(all.len().div_ceil(MOST));
    neighbours
        .filter_map(|some| some.iter().max_by(|a, b| known(a).total_cmp(&known(b))).copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_neighbours_the_highest_stays() {
        let all: Vec<f64> =
            (0..50_001).map(|it| if it == 777 { 1e9 } else { f64::from(it % 7) }).collect();
        let some = highest(all, |it| *it);
        assert!(some.len() <= MOST && some.len() > MOST / 2, "{}", some.len());
        assert!(some.contains(&1e9));
        assert_eq!(highest(vec![f64::NAN, 1.0], |it| *it).len(), 2);
    }

    #[test]
    fn collections_have_two_ends() {
        let mut it = OverTime::new(8);
        let cycle =
            |number, begins| Fact::Cycle(Cycle { generation: Generation::Minor, number, begins });
        for (time, number, begins) in [(1, 1, true), (2, 1, false), (3, 2, false), (5, 3, true)] {
            it.take(time, &cycle(number, begins), 0.0);
        }
        let ends: Vec<_> = it.cycles.iter().map(|it| format!("{} {}", it.begin, it.end)).collect();
        assert_eq!(ends, ["1 2", "NaN 3", "5 NaN"]);
    }
}
