//! Names that promise what `record` does not write are refused before the program starts.

use std::ffi::OsStr;
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

/// # Errors
/// If no trace is called like this. A name that is `decided` (`--format` is given) may be any but `-`.
pub fn refuse(output: &OsStr, decided: bool) -> anyhow::Result<()> {
    let name = output.to_string_lossy();
    if name == "-" {
        bail!(
            "-o -: traces go to files, one for each process, and standard output is the command's\n  \
             name a file, such as -o trace.lt; a file called so is -o ./-"
        );
    }
    let path = Path::new(output);
    let Some(suffix) = suffix(path).filter(|_| !decided && !is_special(path)) else {
        return Ok(());
    };
    let stem = name.strip_suffix(&format!(".{suffix}")).unwrap_or(&name);
    if let Some((_, format)) = EXPORTS.iter().find(|(promise, _)| *promise == suffix) {
        bail!(
            "-o {name}: record writes traces (.lt, or .ctf in Memtrace's format), nothing else\n  \
             record to {stem}.lt, then: lifetrace export -F {format} {stem}.lt -o {name}"
        );
    }
    bail!(
        "-o {name}: a trace's suffix is .lt, or .ctf in Memtrace's format, and not .{suffix}\n  \
         -o {stem}.lt works, and so does --format lt with any name; lifetrace export makes other \
         files of a trace"
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
    (is_word && !matches!(suffix, "lt" | "ctf")).then(|| suffix.to_owned())
}

/// Pipes and devices may be called anything.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str) -> String {
        refuse(name.as_ref(), false).err().map_or_else(String::new, |error| error.to_string())
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
        assert!(said("-").contains("-o ./-"));
        let pprof = said("a/x.pb.gz");
        assert!(pprof.contains("lifetrace export -F pprof a/x.lt -o a/x.pb.gz"), "{pprof}");
        assert!(said("x.speedscope.json").contains("-F speedscope x.lt"));
        for name in ["x.json", "x.%p.txt", "x.gz", "x.lt.zst", "x.ctf.old"] {
            assert!(said(name).contains(".lt works"), "{name}: {}", said(name));
        }
        assert!(refuse("x.json".as_ref(), true).is_ok() && refuse("-".as_ref(), true).is_err());
    }
}
