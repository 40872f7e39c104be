//! What a collector says while it runs, for a journal: little, and nothing twice.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::Receiver;

use lifetrace_human::{bytes, count};
use lifetrace_recorder::{Event, FolderFigures, Refusal};

use crate::terminal;

/// More processes than these are not told apart.
const MOST_KNOWN: usize = 4096;

/// Among processes: all those that cannot be seen.
const UNSEEN: u32 = 0;

/// Who tells, and what has been told.
pub(super) struct Teller {
    events: Receiver<Event>,
    /// Processes of which something has been said: they come again and again.
    known: HashSet<u32>,
    figures: FolderFigures,
}

impl Teller {
    pub(super) fn new(events: Receiver<Event>) -> Teller {
        Teller { events, known: HashSet::new(), figures: FolderFigures::default() }
    }

    /// Tells what has happened since it told last.
    pub(super) fn tell(&mut self, now: FolderFigures, folder: &Path) {
        while let Ok(event) = self.events.try_recv() {
            self.tell_of(&event);
        }
        let before = std::mem::replace(&mut self.figures, now);
        let folder = folder.display();
        if now.unwritable > 0 && before.unwritable == 0 {
            terminal::complain(format_args!(
                "{folder}: nothing can be written, the disk is full; programs go on, and so does recording when there is room"
            ));
        }
        if now.unwritable == 0 && before.unwritable > 0 {
            let missed = now.unrecorded;
            terminal::complain(format_args!(
                "{folder}: can be written to again; {} events were not recorded so far",
                count(missed as f64)
            ));
        }
    }

    fn tell_of(&mut self, event: &Event) {
        match event {
            Event::Stranger { pid, user } => self.tell_once(
                *pid,
                format_args!("is of user {user}, whose processes are not recorded (--allow)"),
            ),
            Event::Unseen { user } => {
                if self.known.insert(UNSEEN) {
                    terminal::complain(format_args!(
                        "a program of user {user} has asked to be recorded that runs in a PID namespace which cannot be \
                         seen from here: it runs on, and is not recorded. A collector in a container sees the programs of \
                         others with `--pid host`"
                    ));
                }
            }
            Event::OtherVersion { pid, version } => self.tell_once(
                *pid,
                format_args!(
                    "has a library of another version (its protocol is {version}): it runs on, and is not recorded; \
                     put this version's library down with `lifetrace library --install`, and start it anew"
                ),
            ),
            Event::Refused(Refusal { pid, program, reason }) => {
                self.tell_once(*pid, format_args!("({program}) is not recorded: {reason}"));
            }
        }
    }

    /// A process that is not recorded comes again and again.
    fn tell_once(&mut self, pid: u32, what: std::fmt::Arguments<'_>) {
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        if self.known.insert(pid) {
            terminal::complain(format_args!("process {pid} {what}"));
        }
    }
}

/// What has come of it.
pub(super) fn sum_up(figures: FolderFigures, folder: &Path) {
    let FolderFigures { finished, bytes: written, removed, unrecorded, .. } = figures;
    let mut text = format!(
        "{}: {} finished, {}",
        folder.display(),
        counted(finished, "trace"),
        bytes(written as f64)
    );
    if removed > 0 {
        text += &format!("; {} removed by --keep", counted(removed, "file"));
    }
    if unrecorded > 0 {
        text += &format!("; {} events lost to a full disk", count(unrecorded as f64));
    }
    terminal::complain(text);
}

fn counted(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{} {thing}s", count(number as f64)),
    }
}
