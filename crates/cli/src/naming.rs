//! Names that promise what a verb does not write are refused before anything else is done.

use std::path::Path;

use anyhow::bail;

/// What suffixes promise: the format that `export` calls so, where it has one.
const EXPORTS: [(&str, &str); 9] = [
    ("pb", "pprof"),
    ("pb.gz", "pprof"),
    ("pprof", "pprof"),
    ("svg", "svg"),
    ("csv", "callsites-csv"),
    ("folded", "collapsed"),
    ("collapsed", "collapsed"),
    ("heaptrack", "heaptrack"),
    ("speedscope.json", "speedscope"),
];

/// Longer ones are no suffixes, but a part of the name.
const LONGEST: usize = 12;

/// What writes traces, and in which formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verb {
    pub name: &'static str,
    /// Also in Memtrace's.
    pub writes_memtrace: bool,
    /// Whether `--format` says what any name stands for.
    pub has_format: bool,
    /// Before the name of its output, when one types it.
    pub option: &'static str,
}

/// Refuses the name of an output.
///
/// # Errors
/// If no trace is called like this. A name that is `decided` (`--format` is given) may be any.
pub fn refuse(verb: Verb, output: &Path, decided: bool) -> anyhow::Result<()> {
    let Some(suffix) = suffix(output).filter(|_| !decided && !is_special(output)) else {
        return Ok(());
    };
    let is_trace = suffix == "lt" || suffix == "ctf" && verb.writes_memtrace;
    if is_trace {
        return Ok(());
    }
    let (name, verb_name, option) = (output.to_string_lossy(), verb.name, verb.option);
    let stem = name.strip_suffix(&format!(".{suffix}")).unwrap_or(&name);
    let or_memtrace = if verb.writes_memtrace { ", or .ctf in Memtrace's format" } else { "" };
    if let Some((_, format)) = EXPORTS.iter().find(|(promise, _)| *promise == suffix) {
        bail!(
            "{option}{name}: {verb_name} writes traces (.lt{or_memtrace}), nothing else\n  \
             {verb_name} to {stem}.lt, then: lifetrace export -F {format} {stem}.lt -o {name}"
        );
    }
    if suffix == "ctf" {
        bail!(
            "{option}{name}: {verb_name} writes traces of our own format (.lt), nothing else\n  \
             {verb_name} to {stem}.lt, then: lifetrace convert {stem}.lt {name}"
        );
    }
    let by_format = if verb.has_format { ", and so does --format lt with any name" } else { "" };
    bail!(
        "{option}{name}: a trace's suffix is .lt{or_memtrace}, and not .{suffix}\n  \
         {option}{stem}.lt works{by_format}; lifetrace export makes other files of a trace"
    )
}

/// What could be the name of a format, but is none of traces.
fn suffix(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let known = EXPORTS.iter().filter(|(suffix, _)| name.ends_with(&format!(".{suffix}")));
    if let Some((longest, _)) = known.max_by_key(|(suffix, _)| suffix.len()) {
        return Some((*longest).to_owned());
    }
    let suffix = Path::new(name).extension()?.to_str()?;
    let is_word = suffix.starts_with(|first: char| first.is_ascii_alphabetic())
        && suffix.len() <= LONGEST
        && suffix.chars().all(|it| it.is_ascii_alphanumeric());
    is_word.then(|| suffix.to_owned())
}

/// Pipes and devices may be called anything.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: Verb =
        Verb { name: "record", writes_memtrace: true, has_format: true, option: "-o " };
    const IMPORT: Verb =
        Verb { name: "import", writes_memtrace: false, has_format: false, option: "-o " };

    fn advice(verb: Verb, name: &str) -> String {
        let refused = refuse(verb, name.as_ref(), false);
        refused.err().map_or_else(String::new, |error| error.to_string())
    }

    fn said(name: &str) -> String {
        advice(RECORD, name)
    }

    #[test]
    fn names_of_traces_are_taken() {
        for name in [
            "x.lt",
            "x.ctf",
            "x",
            "a/x",
            "x.%p",
            "x.%e.%p",
            "run.7",
            "/dev/null",
            "./-",
            "v1.2-3",
            ".",
        ] {
            assert_eq!(said(name), "", "{name}");
        }
    }

    #[test]
    fn other_promises_are_refused() {
        let pprof = said("a/x.pb.gz");
        assert!(pprof.contains("lifetrace export -F pprof a/x.lt -o a/x.pb.gz"), "{pprof}");
        assert!(said("x.speedscope.json").contains("-F speedscope x.lt"));
        for name in ["x.json", "x.%p.txt", "x.gz", "x.lt.zst", "x.ctf.old"] {
            assert!(said(name).contains(".lt works"), "{name}: {}", said(name));
        }
        assert!(refuse(RECORD, "x.json".as_ref(), true).is_ok());
    }

    #[test]
    fn what_writes_one_format_says_so() {
        assert_eq!(advice(IMPORT, "x.lt"), "");
        let memtrace = advice(IMPORT, "a/x.ctf");
        assert!(memtrace.contains("lifetrace convert a/x.lt a/x.ctf"), "{memtrace}");
        let text = advice(IMPORT, "x.txt");
        assert!(text.contains(".lt works;") && !text.contains("--format"), "{text}");
        assert!(advice(IMPORT, "x.svg").contains("import to x.lt, then: lifetrace export -F svg"));
    }
}
