//! What a program has mapped by itself at the end of its trace: sums that the recorder has kept, all exact.

use std::collections::BTreeMap;
use std::sync::Arc;

use lifetrace_human as human;
use lifetrace_study::Study;
use lifetrace_study::facts::Counted;
use lifetrace_study::notices;
use serde::Serialize;

/// Of whole mappings, or what is left of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Pieces {
    bytes: u64,
    pieces: u64,
    /// What of that is in memory, where the system was asked.
    resident_bytes: Option<u64>,
}

/// What nobody was heard to map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Unheard {
    bytes: u64,
    resident_bytes: u64,
}

/// What is mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mapped {
    /// By the program, for itself.
    program: Pieces,
    /// By allocators and runtimes whose blocks are not in the trace.
    arenas: Pieces,
    /// By those whose blocks are: not in the totals.
    backing: Pieces,
    /// Addresses without memory.
    reserved_bytes: u64,
    /// Anonymous memory beside, where the system was asked.
    unheard: Option<Unheard>,
    /// The process ran already when its recording began.
    #[serde(skip)]
    began_late: bool,
}

impl Mapped {
    /// `None` where mappings were not heard, or not all of the trace is looked at.
    pub fn of(study: &Study) -> Option<Mapped> {
        let is_all = study.choice.filter.is_empty();
        let facts = &study.reading.facts;
        let counted = is_all.then(|| Mapped::counted(&facts.runtime_counts)).flatten()?;
        let began_late = facts.notices.iter().any(|it| it.starts_with(notices::BEGAN_LATE));
        Some(Mapped { began_late, ..counted })
    }

    fn counted(counts: &BTreeMap<Arc<str>, Counted>) -> Option<Mapped> {
        let last = |name: &str| counts.get(name).map(|count| count.last);
        let pieces = |of: &str| {
            Some(Pieces {
                bytes: last(&format!("{of}_bytes"))?,
                pieces: last(&format!("{of}_pieces"))?,
                resident_bytes: last(&format!("{of}_resident_bytes")),
            })
        };
        let unheard = last("unheard_bytes").zip(last("unheard_resident_bytes"));
        Some(Mapped {
            program: pieces("mapped")?,
            arenas: pieces("arena")?,
            backing: pieces("backing")?,
            reserved_bytes: last("reserved_bytes")?,
            unheard: unheard.map(|(bytes, resident_bytes)| Unheard { bytes, resident_bytes }),
            began_late: false,
        })
    }

    /// For a page.
    pub fn sentences(&self) -> String {
        let Mapped { program, arenas, backing, reserved_bytes, unheard, began_late } = self;
        let since = if *began_late { ", of what was mapped since it is recorded" } else { "" };
        let mut text = format!(
            "Mapped at the end{since}, exactly: {} by the program",
            program.text("mapping")
        );
        text += &program.resident();
        if arenas.bytes > 0 {
            let resident = arenas.resident();
            text += &format!(", {} of allocators and runtimes{resident}", arenas.text("arena"));
        }
        text += ".";
        if backing.bytes > 0 {
            let arenas = backing.text("arena");
            text += &format!(" Not counted, since blocks of theirs are: {arenas} more.");
        }
        if *reserved_bytes > 0 {
            let bytes = human::bytes(*reserved_bytes as f64);
            text += &format!(" Addresses without memory are reserved: {bytes}.");
        }
        text + &unheard.map(|it| it.sentence(*began_late)).unwrap_or_default()
    }
}

impl Pieces {
    fn text(self, what: &str) -> String {
        if self.bytes == 0 {
            return "nothing".to_owned();
        }
        let plural = if self.pieces == 1 { "" } else { "s" };
        let count = human::count(self.pieces as f64);
        format!("{} in {count} {what}{plural}", human::bytes(self.bytes as f64))
    }

    /// What of it is in memory.
    fn resident(self) -> String {
        match self.resident_bytes {
            Some(resident) if self.bytes > 0 => format!(" ({} resident)", amount(resident)),
            _ => String::new(),
        }
    }
}

impl Unheard {
    fn sentence(self, began_late: bool) -> String {
        if self.bytes == 0 {
            return String::new();
        }
        let before = if began_late { "before the recording, " } else { "" };
        format!(
            " Mapped by nobody that was heard: {} ({} resident): {before}by the C library itself (for malloc, and for stacks \
             of threads), by the dynamic linker, by system calls of the program's own, or by the agent.",
            human::bytes(self.bytes as f64),
            amount(self.resident_bytes)
        )
    }
}

fn amount(bytes: u64) -> String {
    if bytes == 0 { "nothing".to_owned() } else { human::bytes(bytes as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 12] = [
        "mapped_bytes",
        "mapped_pieces",
        "arena_bytes",
        "arena_pieces",
        "backing_bytes",
        "backing_pieces",
        "reserved_bytes",
        "mapped_resident_bytes",
        "arena_resident_bytes",
        "backing_resident_bytes",
        "unheard_bytes",
        "unheard_resident_bytes",
    ];

    fn mapped(values: &[u64]) -> Mapped {
        let counts = NAMES.into_iter().zip(values);
        let counts = counts.map(|(name, it)| (name.into(), Counted { first: *it, last: *it }));
        Mapped::counted(&counts.collect()).unwrap()
    }

    #[test]
    fn what_is_mapped_is_told_apart() {
        let check = |values: [u64; 7], expected: &str| {
            assert_eq!(mapped(&values).sentences(), expected);
        };
        check([0; 7], "Mapped at the end, exactly: nothing by the program.");
        check(
            [4096, 1, 8192, 2, 0, 0, 0],
            "Mapped at the end, exactly: 4 KiB in 1 mapping by the program, 8 KiB in 2 arenas \
             of allocators and runtimes.",
        );
        check(
            [0, 0, 0, 0, 1 << 20, 1, 1 << 30],
            "Mapped at the end, exactly: nothing by the program. Not counted, since blocks of theirs \
             are: 1 MiB in 1 arena more. Addresses without memory are reserved: \
             1 GiB.",
        );
    }

    #[test]
    fn what_the_system_says_is_told_beside() {
        let all = mapped(&[8 << 20, 2, 8192, 1, 0, 0, 0, 2 << 20, 0, 0, 3 << 20, 1 << 20]);
        let text = all.sentences();
        let mapped = "Mapped at the end, exactly: 8 MiB in 2 mappings by the program (2 MiB resident), 8 KiB in 1 arena of \
                      allocators and runtimes (nothing resident). ";
        assert!(text.starts_with(mapped), "{text}");
        let unheard = "Mapped by nobody that was heard: 3 MiB (1 MiB resident): by the C library itself (for malloc,";
        assert!(text.contains(unheard), "{text}");
        let late = Mapped { began_late: true, ..all }.sentences();
        assert!(
            late.starts_with(
                "Mapped at the end, of what was mapped since it is recorded, exactly: 8 MiB"
            ),
            "{late}"
        );
        assert!(
            late.contains("(1 MiB resident): before the recording, by the C library"),
            "{late}"
        );
        let json = serde_json::to_value(all).unwrap();
        assert_eq!(json["program"]["resident_bytes"], 2 << 20);
        assert_eq!(json["unheard"]["bytes"], 3 << 20);
    }

    #[test]
    fn a_trace_without_mappings_says_nothing() {
        assert_eq!(Mapped::counted(&BTreeMap::new()), None);
    }
}
