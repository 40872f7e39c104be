//! What traces in a folder are called: `lifetrace.PROGRAM.PID.START.lt`.

use std::path::{Path, PathBuf};

use lifetrace_trace::ids::Timestamp;

use crate::template::Template;

const PREFIX: &str = "lifetrace.";
const SUFFIX: &str = ".lt";
const SNAPSHOT_SUFFIX: &str = ".lth";
const PART: &str = ".part";

/// Bytes of a time in a name: `20261127T165500Z`.
const TIME: usize = 16;

/// Names for a file that begins then, the usual one first; the others have numbers.
pub(super) fn names(program: &str, pid: u32, start: Timestamp) -> impl Iterator<Item = String> {
    let template = format!("{PREFIX}%e.%p.{}{SUFFIX}", time(start));
    let plain = Template::parse(template.as_ref()).map(|it| it.expand(program, &pid.to_string()));
    let plain = plain.unwrap_or_default().to_string_lossy().into_owned();
    (1u64..).map(move |number| match number {
        1 => plain.clone(),
        _ => format!("{}.{number}{SUFFIX}", plain.trim_end_matches(SUFFIX)),
    })
}

/// Where a file is while it is being written.
pub(super) fn part(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}{PART}"))
}

/// What a file is to be called when it is finished, by its name while it is being written.
pub(super) fn of_part(name: &str) -> Option<&str> {
    let name = name.strip_prefix('.')?.strip_suffix(PART)?;
    is_trace(name).then_some(name)
}

/// Whether we give such names to traces.
pub(super) fn is_trace(name: &str) -> bool {
    process_and_start(name).is_some()
}

/// Whether we give such names, to traces or to snapshots that lie beside them: nothing else is ever removed.
pub(super) fn is_ours(name: &str) -> bool {
    is_trace(name) || is_snapshot(name)
}

/// A snapshot has the name of its process's trace, with its number in place of the suffix.
fn is_snapshot(name: &str) -> bool {
    let rest = name.strip_suffix(SNAPSHOT_SUFFIX).and_then(|name| name.rsplit_once('.'));
    rest.is_some_and(|(trace, number)| is_number(number) && is_trace(&format!("{trace}{SUFFIX}")))
}

/// What a trace's name says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub program: &'a str,
    pub pid: u32,
    /// When it begins, to the second: later times compare as greater.
    pub start: &'a str,
    /// Of several that begin in the same second, the first is 1.
    pub number: u32,
}

/// What a name of ours says; nothing if it is none.
pub(super) fn understand(name: &str) -> Option<Named<'_>> {
    let rest = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (before, last) = rest.rsplit_once('.')?;
    let (before, start, number) = match is_time(last) {
        true => (before, last, 1),
        false => {
            let (before, start) = before.rsplit_once('.')?;
            (before, start, last.parse().ok().filter(|_| is_number(last))?)
        }
    };
    let (program, pid) = before.rsplit_once('.')?;
    let pid = pid.parse().ok().filter(|_| is_number(pid))?;
    is_time(start).then_some(Named { program, pid, start, number })
}

/// The process that a trace is of, and when it begins, by its name: later times compare as greater.
pub(super) fn process_and_start(name: &str) -> Option<(u32, &str)> {
    understand(name).map(|it| (it.pid, it.start))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_time(word: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| match at {
        8 => byte == b'T',
        15 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    };
    word.len() == TIME && word.bytes().enumerate().all(fits)
}

/// In UTC, to the second.
pub(super) fn time(time: Timestamp) -> String {
    let seconds = time.0 / 1_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Year, month and day of a day since 1970: eras of 400 years begin with a March (H. Hinnant, "chrono-compatible low-level
/// date algorithms").
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_709_251_199, "20240229T235959Z"),
            (1_764_262_500, "20251127T165500Z"),
            (4_107_542_399, "21000228T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(time(Timestamp(seconds * 1_000_000)), expected);
        }
    }

    #[test]
    fn our_names_are_known_and_no_others() {
        let mut given = names("redis-server", 812, Timestamp(0));
        let [first, second] = [given.next().unwrap(), given.next().unwrap()];
        assert_eq!(first, "lifetrace.redis-server.812.19700101T000000Z.lt");
        assert_eq!(second, "lifetrace.redis-server.812.19700101T000000Z.2.lt");
        assert_eq!(process_and_start(&second), Some((812, "19700101T000000Z")));
        let long = names(&"x".repeat(300), 1, Timestamp(0)).next().unwrap();
        for name in [&*first, &second, &long, "lifetrace.a.b.c.7.20261127T165500Z.lt"] {
            assert!(is_trace(name), "{name}");
            let hidden = part(Path::new(name));
            assert_eq!(of_part(hidden.to_str().unwrap()), Some(name));
        }
        for name in [
            "lifetrace.redis.812.lt",
            "lifetrace.812.20261127T165500Z.lt",
            "lifetrace.redis.812.20261127T165500.lt",
            "lifetrace.redis.812.20261127T165500Z.x.lt",
            "mine.redis.812.20261127T165500Z.lt",
            "lifetrace.redis.812.20261127T165500Z.lth",
        ] {
            assert!(!is_trace(name), "{name}");
        }
        assert_eq!(of_part(".lifetrace.lock"), None);
        for name in ["a.812.20261127T165500Z.1.lth", "a.b.812.20261127T165500Z.2.31.lth"] {
            assert!(is_ours(&format!("lifetrace.{name}")), "{name}");
        }
        for name in ["a.812.20261127T165500Z.lth", "a.812.1.lth", "a.812.20261127T165500Z.x.lth"] {
            assert!(!is_ours(&format!("lifetrace.{name}")), "{name}");
        }
    }
}
