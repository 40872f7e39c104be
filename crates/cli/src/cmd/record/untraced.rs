//! What is said of processes that were started and could not be traced.

use lifetrace_human as human;
use lifetrace_recorder::{Notice, Outcome, SessionEnd, Untraced, UntracedProgram};

/// Programs that are named; others are only counted.
const SHOWN: usize = 5;

/// One line, if any are known, or one must have been.
pub(super) fn told(outcome: &Outcome) -> Option<String> {
    let resident = outcome.resident_untraced.map(|bytes| human::bytes(bytes as f64));
    match (named(outcome), resident) {
        (Some(named), Some(resident)) => {
            Some(format!("{named}; up to {resident} was resident in something that was not traced"))
        }
        (None, Some(resident)) => Some(format!(
            "something that was started and not traced had up to {resident} resident; it was too short to \
             be seen (statically linked programs and such)"
        )),
        (named, None) => named,
    }
}

fn named(outcome: &Outcome) -> Option<String> {
    let mut programs = known(outcome);
    programs.sort_by_key(|it| std::cmp::Reverse(it.processes));
    let processes: u64 = programs.iter().map(|it| it.processes).sum();
    let named = programs.iter().take(SHOWN).map(words);
    let more = programs.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("and {more} other programs"));
    let all: Vec<_> = named.chain(more).collect();
    let were = match processes {
        0 => return None,
        1 => "1 process was".to_owned(),
        count => format!("{} processes were", human::count(count as f64)),
    };
    Some(format!("{were} not traced, as far as was seen: {}", all.join(", ")))
}

/// With those that traced processes have become before anything of them was sampled.
fn known(outcome: &Outcome) -> Vec<UntracedProgram> {
    let mut programs = outcome.untraced.clone();
    let launchers = outcome
        .sessions
        .iter()
        .filter(|session| session.samples == 0 && session.end == SessionEnd::Exec);
    for notice in launchers.flat_map(|session| &session.notices) {
        let Notice::Became { why, program } = notice else { continue };
        match programs.iter_mut().find(|it| it.program == *program && it.why == *why) {
            Some(known) => known.processes += 1,
            None => {
                let (program, why) = (program.clone(), *why);
                programs.push(UntracedProgram { program, why, processes: 1 });
            }
        }
    }
    programs
}

fn words(untraced: &UntracedProgram) -> String {
    let why = match untraced.why {
        Untraced::Environment => "LD_PRELOAD and LIFETRACE_SOCKET are not in its environment",
        Untraced::Static => "statically linked",
        Untraced::Privileged => "it has other rights, as setuid programs have",
        Untraced::Foreign => "of another C library or processor, or with a sanitizer",
    };
    let times = match untraced.processes {
        1 => String::new(),
        count => format!("{} times; ", human::count(count as f64)),
    };
    format!("{} ({times}{why})", human::printable(&untraced.program))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(programs: &[(&str, Untraced, u64)]) -> Outcome {
        let untraced = programs.iter().map(|&(program, why, processes)| UntracedProgram {
            program: program.into(),
            why,
            processes,
        });
        Outcome { untraced: untraced.collect(), ..Outcome::default() }
    }

    #[test]
    fn programs_are_named_with_reasons() {
        assert_eq!(told(&Outcome::default()), None);
        let one = told(&outcome(&[("/bin/a", Untraced::Static, 1)])).unwrap();
        assert!(one.starts_with("1 process was not traced, as far as was seen"), "{one}");
        assert!(one.ends_with(": /bin/a (statically linked)"), "{one}");
        let much = |programs| {
            told(&Outcome { resident_untraced: Some(50 << 20), ..outcome(programs) }).unwrap()
        };
        let known = much(&[("/bin/a", Untraced::Static, 1)]);
        assert!(
            known.ends_with("linked); up to 50 MiB was resident in something that was not traced")
        );
        assert!(
            much(&[]).starts_with("something that was started and not traced had up to 50 MiB")
        );
        let names: Vec<String> = (0..8).map(|number| format!("/bin/{number}")).collect();
        let many: Vec<_> =
            names.iter().map(|name| (name.as_str(), Untraced::Environment, 1)).collect();
        let many = [&[("/bin/b", Untraced::Privileged, 2000)], &many[..]].concat();
        let told = told(&outcome(&many)).unwrap();
        assert!(told.starts_with("2,008 processes were not traced"), "{told}");
        assert!(told.contains(": /bin/b (2,000 times; it has other rights"), "{told}");
        assert!(told.ends_with("and 4 other programs"), "{told}");
    }
}
