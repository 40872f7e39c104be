//! `lifetrace check` of a snapshot.

use std::fs::File;
use std::path::Path;

use lifetrace_human as human;
use lifetrace_trace::lth::{Error, Totals};
use serde::Serialize;

use super::reading::Reading;
use crate::terminal;

/// What was found. Its fields are those of `--json`.
#[derive(Serialize)]
pub(in super::super) struct Verdict {
    file: String,
    ok: bool,
    /// Why it could not be read at all.
    error: Option<String>,
    /// Whether it was finished, and all of the heap is in it.
    complete: Option<bool>,
    #[serde(flatten)]
    counted: Option<Counted>,
    /// What of it could not be read.
    damages: Vec<String>,
    /// What cannot be, though all of it can be read.
    contradictions: Vec<String>,
}

#[derive(Serialize)]
struct Counted {
    blocks: u64,
    roots: u64,
    kinds: u64,
    sites: u64,
    samples: u64,
}

impl Counted {
    fn of(Totals { kinds, roots, blocks, sites, samples }: Totals) -> Counted {
        Counted { blocks, roots, kinds, sites, samples }
    }
}

impl Verdict {
    /// Reads all of a snapshot, and tells what is wrong with it.
    pub(in super::super) fn of(path: &Path, file: File) -> Verdict {
        let reading = match Reading::of(file) {
            Ok(reading) => reading,
            Err(error) => return Verdict::unreadable(path, &error),
        };
        let file = path.display().to_string();
        let damages: Vec<String> = reading.damages.iter().map(ToString::to_string).collect();
        let lack = reading.lack();
        let wrong = damages.iter().chain(&lack).chain(&reading.contradictions);
        wrong.for_each(|what| terminal::complain(format_args!("{file}: {what}")));
        let ok = damages.is_empty() && lack.is_none() && reading.contradictions.is_empty();
        let (complete, contradictions) = (Some(lack.is_none()), reading.contradictions);
        let counted = Some(Counted::of(reading.counted));
        Verdict { file, ok, error: None, complete, counted, damages, contradictions }
    }

    fn unreadable(path: &Path, error: &Error) -> Verdict {
        let file = path.display().to_string();
        let error = format!("{file}: {error}");
        terminal::complain(&error);
        Verdict {
            file,
            ok: false,
            error: Some(error),
            complete: None,
            counted: None,
            damages: Vec::new(),
            contradictions: Vec::new(),
        }
    }

    pub(in super::super) fn is_ok(&self) -> bool {
        self.ok
    }

    /// The line about a snapshot that is whole.
    pub(in super::super) fn text(&self) -> String {
        let Some(Counted { blocks, roots, samples, .. }) = &self.counted else {
            return String::new();
        };
        let [blocks, roots, samples] =
            [blocks, roots, samples].map(|count| human::count(*count as f64));
        format!("{}: ok: {blocks} blocks, {roots} roots, {samples} samples\n", self.file)
    }
}
