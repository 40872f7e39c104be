//! What a managed runtime has counted itself, beside what is estimated.

use lifetrace_analysis::nursery::minor_heap_words;
use lifetrace_human as human;
use lifetrace_study::Study;
use lifetrace_study::runtimes::{self, Runtime, YoungHeap};
use lifetrace_trace::fact::Collector;

use crate::young::Young;

/// What the young heap has room for: as the runtime said last, else by its parameters.
pub fn young_heap_words(study: &Study) -> Option<u64> {
    let reading = &study.reading;
    let told = reading.facts.collector.as_ref().and_then(|it| it.young_heap_words);
    told.or_else(|| minor_heap_words(&reading.trace.info().runtime_params))
}

/// How the trace's runtime is told the size of its young heap.
pub fn setting(study: &Study) -> Option<&'static YoungHeap> {
    runtime(study)?.young_heap.as_ref()
}

/// What can be said of the young heap.
pub fn young(study: &Study) -> Young {
    Young { room: young_heap(study), fate: runtime(study).map(|runtime| runtime.young) }
}

fn runtime(study: &Study) -> Option<&'static Runtime> {
    let process = study.reading.facts.process.as_ref();
    runtimes::of_trace(process.map(|process| &*process.runtime))
}

/// What the young heap has room for, in bytes.
pub fn young_heap(study: &Study) -> Option<u64> {
    Some(young_heap_words(study)?.saturating_mul(word_bytes(study)))
}

fn word_bytes(study: &Study) -> u64 {
    u64::from(study.reading.trace.info().word_bits) / 8
}

/// A sentence about all of the program, whatever the filter; nothing where the trace does not tell.
pub fn exact_totals(study: &Study) -> Option<String> {
    let facts = &study.reading.facts;
    let of_heap = facts.collector.as_ref().and_then(|it| sentence(it, word_bytes(study)));
    of_heap.or_else(|| (runtime(study)?.counted)(&facts.runtime_counts))
}

fn sentence(collector: &Collector, word_bytes: u64) -> Option<String> {
    let bytes = |words: u64| human::bytes(words.saturating_mul(word_bytes) as f64);
    let minor = collector.minor_words?;
    if collector.is_behind && collector.minor_collections == Some(0) {
        return None;
    }
    let mut parts = vec![format!("{} allocated in the minor heap", bytes(minor))];
    if let Some(promoted) = collector.promoted_words {
        parts.push(format!("{} promoted", bytes(promoted)));
        let direct = collector.major_words.map(|major| major.saturating_sub(promoted));
        parts.extend(direct.map(|words| format!("{} allocated in the major heap", bytes(words))));
    }
    let until = if collector.is_behind { " up to the last minor collection" } else { "" };
    let parts = parts.join(", ");
    Some(if collector.has_samplers_share {
        format!(
            "By the runtime's own count, in which its sampler's blocks for this recording are: \
             {parts}{until} (headers included)"
        )
    } else {
        format!("Exactly {parts}{until}, as the runtime counts (headers included)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Collector = Collector {
        minor_words: Some(1 << 20),
        promoted_words: Some(1000),
        major_words: Some(1500),
        minor_collections: Some(4),
        major_collections: None,
        compactions: None,
        heap_words: None,
        top_heap_words: None,
        young_heap_words: None,
        is_behind: false,
        has_samplers_share: false,
    };

    #[test]
    fn the_runtimes_own_count() {
        let text = "Exactly 8 MiB allocated in the minor heap, 7.81 KiB promoted, 3.91 KiB allocated in the \
                    major heap, as the runtime counts (headers included)";
        assert_eq!(sentence(&ALL, 8).as_deref(), Some(text));
        let few = Collector { promoted_words: None, ..ALL };
        let text =
            "Exactly 4 MiB allocated in the minor heap, as the runtime counts (headers included)";
        assert_eq!(sentence(&few, 4).as_deref(), Some(text));
        assert_eq!(sentence(&Collector::default(), 8), None);
    }

    #[test]
    fn what_is_not_all_or_not_the_programs_alone_says_so() {
        let few = Collector { promoted_words: None, is_behind: true, ..ALL };
        let text = "Exactly 8 MiB allocated in the minor heap up to the last minor collection, as the runtime \
                    counts (headers included)";
        assert_eq!(sentence(&few, 8).as_deref(), Some(text));
        let none = Collector { minor_collections: Some(0), ..few };
        assert_eq!(sentence(&none, 8), None);
        let shared = Collector { promoted_words: None, has_samplers_share: true, ..ALL };
        let text = "By the runtime's own count, in which its sampler's blocks for this recording are: 8 MiB \
                    allocated in the minor heap (headers included)";
        assert_eq!(sentence(&shared, 8).as_deref(), Some(text));
    }
}
