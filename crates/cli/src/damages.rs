//! All that is wrong with a trace, and how that is told: a few damages, the number of the others, and
//! one remedy.

use std::path::PathBuf;

use crate::damage::{Damage, Extent};

/// So many damages are told, others counted.
const TOLD: usize = 10;

/// All that is wrong with a trace that has been read, in the order of the file.
#[derive(Debug, Default)]
pub struct Damages {
    /// The first of them.
    pub listed: Vec<Damage>,
    /// How many there are.
    pub count: u64,
    /// The trace, if nobody has finished it: who wrote it was killed, or is still writing.
    pub unfinished: Option<PathBuf>,
}

impl Damages {
    /// Whether something could not be read.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first one.
    pub fn into_first(self) -> Option<Damage> {
        self.listed.into_iter().next()
    }

    /// What to tell people, a message each: the first few, what to do, and whether the trace ends early.
    pub fn messages(&self) -> Vec<String> {
        let told = &self.listed[..self.listed.len().min(TOLD)];
        let mut messages: Vec<String> = match told {
            [only] => vec![only.message(Extent::Events)],
            _ => told.iter().map(Damage::to_string).collect(),
        };
        let more = self.count - told.len() as u64;
        if more > 0 {
            messages.push(format!("and {more} more such stretches"));
        }
        if let ([_, .., last], Some(message)) = (told, messages.last_mut()) {
            message.push_str("\n  all events outside of these are used; ");
            message.push_str(&last.remedy());
        }
        messages.extend(self.unfinished.as_ref().map(|path| {
            format!(
                "{}: was not finished: its recorder was killed, or is still writing; \
                 all until it last wrote is there",
                path.display()
            )
        }));
        messages
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lifetrace_trace::lt;

    use super::*;

    fn stretches(count: u64) -> Damages {
        let stretch = |number| lt::Damage {
            offset: 100 * number,
            bytes: 7,
            births: Some(number),
            cause: lt::Cause::Bytes,
        };
        let listed =
            (0..count.min(1000)).map(|number| Damage::new(Path::new("t.lt"), stretch(number)));
        Damages { listed: listed.collect(), count, unfinished: None }
    }

    #[test]
    fn one_stretch_and_its_remedy_are_one_message() {
        let expected = "t.lt: byte 0: 7 bytes lost, damaged; 0 allocations missing\n  \
             all events outside of that are used; \
             to write what is left to a new file: lifetrace check --repair -o OUT t.lt";
        assert_eq!(stretches(1).messages(), [expected]);
    }

    #[test]
    fn many_stretches_are_counted_and_have_one_remedy() {
        let messages = stretches(5000).messages();
        assert_eq!(messages.len(), TOLD + 1);
        assert!(messages[TOLD].starts_with("and 4990 more such stretches\n  all events outside"));
        assert_eq!(messages.concat().matches("--repair").count(), 1);
        let messages = stretches(2).messages();
        assert_eq!(messages.len(), 2);
        assert!(messages[1].contains("byte 100") && messages[1].contains("--repair"));
    }

    #[test]
    fn what_was_not_finished_is_no_damage() {
        let damages = Damages { unfinished: Some("t.lt".into()), ..Damages::default() };
        assert!(damages.is_empty());
        assert!(damages.messages()[0].starts_with("t.lt: was not finished"));
    }
}
