//! The names that Go writes into its text: `# 0x4a1b2c main.f+0x4c /src/main.go:12`.

use lifetrace_trace::event::Location;

/// The address and what is there, of a comment without its mark.
pub fn named(comment: &str) -> Option<(u64, Location)> {
    let mut words =
        comment.trim_ascii().split('\t').map(str::trim_ascii).filter(|it| !it.is_empty());
    let address = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    let (function, place) = (words.next()?, words.next()?);
    let (function, _) = function.rsplit_once("+0x").unwrap_or((function, ""));
    let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
    let line = line.parse().unwrap_or(0);
    let (filename, defname) = (file.into(), function.into());
    Some((address, Location { filename, line, start_char: 0, end_char: 0, defname }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_comments() {
        let (address, it) = named("\t0x4a1b2c\tmain.(*T).f+0x4c\t\t/src/main.go:12").unwrap();
        assert_eq!(
            (address, &*it.defname, &*it.filename),
            (0x4a_1b2c, "main.(*T).f", "/src/main.go")
        );
        assert_eq!(it.line, 12);
        for other in ["", " runtime.MemStats", " Alloc = 12", "\t0x1\tf", "\t0x1"] {
            assert!(named(other).is_none(), "{other}");
        }
    }
}
