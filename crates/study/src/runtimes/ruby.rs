//! Ruby.

use std::collections::BTreeMap;
use std::sync::Arc;

use lifetrace_human as human;

use super::Runtime;
use crate::facts::Counted;

pub(super) const RUBY: Runtime = Runtime {
    name: "ruby",
    notice,
    young: "it has not survived three collections yet, so some of it may be dead",
    counted,
    young_heap: None,
};

/// From when sampling began to the program's end, or, if it was killed, to a collection before that.
fn counted(counts: &BTreeMap<Arc<str>, Counted>) -> Option<String> {
    let objects = |name: &str| {
        let counted = counts.get(name)?;
        Some(human::count(counted.last.checked_sub(counted.first)? as f64))
    };
    let (allocated, freed) = (objects("total_allocated_objects")?, objects("total_freed_objects")?);
    let live = counts.get("heap_live_slots").map(|counted| human::count(counted.last as f64));
    let live = live.map(|live| format!("; then there were {live}")).unwrap_or_default();
    Some(format!(
        "Ruby's own GC.stat counted {allocated} objects allocated and {freed} freed between the first and the \
         last time that it was asked{live}"
    ))
}

fn notice(code: &str) -> Option<&'static str> {
    Some(match code {
        "ruby-unknown" => {
            "has a Ruby of a version whose objects are not sampled yet (those of 3.1 to 3.4 are): they are not in \
             the trace"
        }
        "ruby-ractors" => {
            "has made a ractor, which its Ruby does not survive, or hides, while objects are sampled: \
             from then on they are not in the trace"
        }
        "ruby-unwatched" => {
            "has a Ruby whose start could not be seen, as the kernel does not let the program's code be \
             changed: its objects are not in the trace"
        }
        "ruby-collections-hidden" => {
            "has collected garbage where that was hidden from its agent (within the hook of another tool): \
             objects that died then may seem to live, or to have died later"
        }
        "ruby-snapshot-without-walk" => {
            "does not export what a walk over its heap needs: a snapshot that was wanted was not taken"
        }
        "ruby-snapshot-without-child" => {
            "could not be forked: a snapshot of its heap that was wanted was not taken"
        }
        "ruby-snapshot-with-ractors" => {
            "has made a ractor, and from then on there is no place where its whole heap stands still: a snapshot that \
             was wanted was not taken"
        }
        "ruby-hidden" => "has a Ruby that it does not export: its objects are not in the trace",
        "no-ruby" => "has no Ruby: nothing was sampled (--sources native samples malloc)",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ruby_counts_is_a_sentence() {
        let counted = |first, last| Counted { first, last };
        let mut counts = BTreeMap::from([
            ("total_allocated_objects".into(), counted(1_000, 31_500)),
            ("total_freed_objects".into(), counted(10, 20_010)),
        ]);
        let text = "Ruby's own GC.stat counted 30,500 objects allocated and 20,000 freed between the first and \
                    the last time that it was asked";
        assert_eq!(super::counted(&counts).as_deref(), Some(text));
        counts.insert("heap_live_slots".into(), counted(5, 11_490));
        assert!(super::counted(&counts).unwrap().ends_with("was asked; then there were 11,490"));
        counts.remove("total_freed_objects");
        assert_eq!(super::counted(&counts), None);
    }
}
