//! Pages of the book that the command carries, for machines without a browser: `lifetrace help filters`.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A page of the book.
pub struct Topic {
    pub name: &'static str,
    /// What is explained there.
    pub about: &'static str,
    /// In Markdown.
    pub text: &'static str,
}

/// A table of topics, each with the file of its page in `docs/` and what that explains.
macro_rules! topics {
    ($($name:literal $page:literal $about:literal)*) => {
        /// In the order in which one is likely to need them.
        pub const TOPICS: &[Topic] = &[$(Topic {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../docs/", $page)),
        }),*];

        const PAGES: &[(&str, &str)] = &[$(($page, $name)),*];
    };
}

topics! {
    "tutorial" "tutorial.md" "a leak in a server, from the first command to the line that is mended"
    "questions" "index.md" "which page answers which question"
    "reports" "reports.md" "what each view answers, and how to read it; conditions for CI"
    "sampling" "sampling.md" "what the numbers mean, how far to trust them, which interval to choose"
    "filters" "filters.md" "some blocks only: `--filter 'size > 1KiB not freed'`"
    "containers" "howto/container.md" "programs in containers, recorded from inside or outside"
    "memory" "howto/out-of-memory.md" "a program that was killed because memory was full"
    "builds" "howto/ci-gate.md" "fail a build when memory grows"
    "versions" "howto/compare-versions.md" "compare two versions of a program"
    "rates" "howto/which-rate.md" "how densely to sample"
    "symbols" "howto/symbols.md" "where names and lines of functions come from; debuginfod"
    "limits" "limits.md" "what cannot be recorded, and what to do instead"
    "costs" "costs.md" "what it costs, with the commands that measure it"
    "attaching" "attach.md" "what is done to a process that runs, and which are refused"
    "collecting" "collector.md" "a standing recorder for services and containers, over HTTP, too"
    "lost" "lost.md" "blocks to which nothing points any more"
    "mappings" "mappings.md" "what programs map themselves: `--sources mmap`"
    "snapshots" "snapshots.md" "the whole heap of an OCaml or Ruby program at a moment"
    "heaps" "heap.md" "what may be asked of a snapshot: what holds what"
    "watching" "live.md" "the page of `lifetrace live`"
    "viewer" "viewer.md" "the page of `lifetrace view`"
    "exporting" "exports.md" "what each format keeps of a trace, and what it loses"
    "importing" "import.md" "what is read of heaptrack, DHAT, massif, pprof, jemalloc, memray, V8"
    "json" "json.md" "the fields of `--json`"
    "lines" "dump.md" "the lines that `lifetrace dump` writes"
    "fleet" "dataset.md" "the traces of many processes as one dataset"
    "agents" "agents.md" "what happens inside of a program, and its hazards"
    "ocaml" "agents-ocaml.md" "how OCaml programs are recorded, and the limits"
    "ruby" "agents-ruby.md" "how Ruby programs are recorded, and the limits"
    "python" "agents-python.md" "how Python programs are recorded, and the limits"
    "format" "format.md" "every bit of a trace"
    "promises" "formats.md" "which formats will be read how long, and what versions mean"
    "words" "glossary.md" "what the words mean, once each"
}

/// The names of all, and what they are about.
pub fn list() -> String {
    let mut list = "\nTopics (`lifetrace help TOPIC`):\n".to_owned();
    for Topic { name, about, .. } in TOPICS {
        let _ = writeln!(list, "  {name:<11}  {about}");
    }
    list
}

/// Of a file; no two pages have the same one.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A page whose links are words: those to other topics say how to see them.
pub fn without_links(page: &str) -> String {
    static LINK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"!?\[([^\]]*)\]\(([^)#]*)[^)]*\)").expect("it is well-formed")
    });
    let words = |link: &Captures<'_>| {
        let (text, target) = (&link[1], name(&link[2]));
        match PAGES.iter().find(|(page, _)| name(page) == target) {
            Some((_, topic)) if name(text) == target => format!("`lifetrace help {topic}`"),
            Some((_, topic)) => format!("{text} (`lifetrace help {topic}`)"),
            None => text.to_owned(),
        }
    };
    LINK.replace_all(page, words).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_words() {
        let check = |page, expected| assert_eq!(without_links(page), expected);
        check("see [filters.md](filters.md)", "see `lifetrace help filters`");
        check("[one](../lost.md#here) of [two](x.md)", "one (`lifetrace help lost`) of two");
        check("[above](#above), ![a picture](images/x.png)", "above, a picture");
        check("a[1](2) and [plain]", "a1 and [plain]");
    }
}
