//! All that is wrong with a trace, and how that is told: a few damages, the number of the others, and
//! one remedy.

use std::io::Read;
use std::path::{Path, PathBuf};

use lifetrace_trace::lt;

use crate::damage::{Damage, Extent, Problem};

/// So many damages are told, others counted.
const TOLD: usize = 10;

/// All that is wrong with a trace that has been read, in the order of the file.
#[derive(Debug, Default)]
pub struct Damages {
    /// The first of them.
    pub listed: Vec<Damage>,
    /// How many there are.
    pub count: u64,
    /// The trace, if nobody has finished it: who wrote it was killed, had no room, or is still writing.
    pub unfinished: Option<PathBuf>,
}

impl Damages {
    /// Of a trace that has been read as far as possible: by `reader` if it is in our format; `stop` is
    /// what ended the reading, if not the trace's end.
    pub fn new<R: Read>(
        path: &Path,
        reader: Option<&lt::Reader<R>>,
        stop: Option<Problem>,
    ) -> Self {
        let stop = stop.map(|problem| Damage::new(path, problem));
        let Some(reader) = reader else {
            let count = u64::from(stop.is_some());
            return Self { listed: Vec::from_iter(stop), count, unfinished: None };
        };
        let stretches = reader.damages();
        // Damage at the end says enough.
        let is_told = stop.is_some()
            || stretches.last().is_some_and(|it| it.offset + it.bytes >= reader.position());
        let unfinished = (!reader.is_complete() && !is_told).then(|| path.to_owned());
        let count = reader.damage_count() + u64::from(stop.is_some());
        let stretches = stretches.iter().map(|stretch| Damage::new(path, *stretch));
        Self { listed: stretches.chain(stop).collect(), count, unfinished }
    }

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
        let told = self.told();
        let mut messages = match told {
            [only] if self.count == 1 => vec![only.message(Extent::Events)],
            _ => self.lines(),
        };
        if let ([_, .., last], Some(message)) = (told, messages.last_mut()) {
            message.push_str("\n  all events outside of these are used; ");
            message.push_str(&last.remedy());
        }
        messages.extend(self.early_end());
        messages
    }

    /// What was wrong, without what to do about it.
    pub fn list(&self) -> Vec<String> {
        let mut list = self.lines();
        list.extend(self.early_end());
        list
    }

    fn told(&self) -> &[Damage] {
        &self.listed[..self.listed.len().min(TOLD)]
    }

    /// The first few, and how many there are beside.
    fn lines(&self) -> Vec<String> {
        let told = self.told();
        let more = self.count - told.len() as u64;
        let more = (more > 0).then(|| format!("and {more} more such stretches"));
        told.iter().map(Damage::to_string).chain(more).collect()
    }

    fn early_end(&self) -> Option<String> {
        let path = self.unfinished.as_ref()?;
        Some(format!(
            "{}: was not finished: its recorder was killed, had no room to write more, or is still writing; \
             all until it last wrote is there",
            path.display()
        ))
    }
}

#[cfg(test)]
mod tests {
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
        assert!(!stretches(5000).list().concat().contains("--repair"));
        assert_eq!(stretches(5000).list().len(), TOLD + 1);
    }

    #[test]
    fn what_was_not_finished_is_no_damage() {
        let damages = Damages { unfinished: Some("t.lt".into()), ..Damages::default() };
        assert!(damages.is_empty());
        assert!(damages.messages()[0].starts_with("t.lt: was not finished"));
    }
}
