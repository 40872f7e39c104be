//! What a managed runtime has counted itself, beside what is estimated.

use lifetrace_trace::fact::Collector;

use crate::human;
use crate::study::Study;

/// A sentence about all of the program, whatever the filter; nothing where the trace does not tell.
pub fn exact_totals(study: &Study) -> Option<String> {
    let word_bytes = u64::from(study.reading.trace.info().word_bits) / 8;
    sentence(study.reading.facts.collector.as_ref()?, word_bytes)
}

fn sentence(collector: &Collector, word_bytes: u64) -> Option<String> {
    let bytes = |words: u64| human::bytes(words.saturating_mul(word_bytes) as f64);
    let minor = collector.minor_words?;
    let mut parts = vec![format!("{} allocated in the minor heap", bytes(minor))];
    if let Some(promoted) = collector.promoted_words {
        parts.push(format!("{} promoted", bytes(promoted)));
        let direct = collector.major_words.map(|major| major.saturating_sub(promoted));
        parts.extend(direct.map(|words| format!("{} allocated in the major heap", bytes(words))));
    }
    Some(format!("Exactly {}, as the runtime counts (headers included)", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtimes_own_count() {
        let all = Collector {
            minor_words: Some(1 << 20),
            promoted_words: Some(1000),
            major_words: Some(1500),
            ..Collector::default()
        };
        let text = "Exactly 8 MiB allocated in the minor heap, 7.81 KiB promoted, 3.91 KiB allocated in the \
                    major heap, as the runtime counts (headers included)";
        assert_eq!(sentence(&all, 8).as_deref(), Some(text));
        let few = Collector { promoted_words: None, ..all };
        let text =
            "Exactly 4 MiB allocated in the minor heap, as the runtime counts (headers included)";
        assert_eq!(sentence(&few, 4).as_deref(), Some(text));
        assert_eq!(sentence(&Collector::default(), 8), None);
    }
}
