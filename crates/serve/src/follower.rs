//! A process that is followed: its trace is read while it grows, one file after the other.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use lifetrace_analysis::{Amount, Sampling};
use lifetrace_live::book::Book;
use lifetrace_recorder::{FolderTrace, ListedSession};
use lifetrace_study::accounts::Accounts;
use lifetrace_study::choice::Choice;
use lifetrace_study::notices;
use lifetrace_trace::ids::Timestamp;

use crate::chain;
use crate::ledger::{Known, Ledger, Values};

/// A process that is followed.
pub struct Follower {
    session: ListedSession,
    ledger: Ledger,
    before: Before,
    current: Option<Current>,
    /// What the next file is to go on from.
    last: Option<FolderTrace>,
    /// Since when all that is allocated is known.
    since: Option<Timestamp>,
    /// How many files are missing in between, or before the first one.
    gaps: u64,
    /// There is nothing more to come.
    is_over: bool,
    is_behind: bool,
    /// The last time that somebody asked.
    asked: Instant,
    /// When somebody asked first.
    begun: Instant,
}

/// What files that have ended amount to.
#[derive(Default)]
struct Before {
    allocated: Amount,
    lost: BTreeMap<Arc<str>, u64>,
}

/// The file that is being read.
struct Current {
    book: Book,
    known: Known,
    file: FolderTrace,
    is_checked: bool,
}

/// What is known of a process.
#[derive(Clone, Debug)]
pub struct Holding {
    /// What it has allocated since [`since`](Self::since).
    pub allocated: Amount,
    /// What lives now.
    pub live: Amount,
    /// Events that are not in its trace, by reason.
    pub lost: BTreeMap<Arc<str>, u64>,
    /// How it is sampled.
    pub sampling: Sampling,
    /// When the first file begins of which this is.
    pub since: Timestamp,
    /// Up to when that is known.
    pub now: Timestamp,
    /// How many files are missing: what was allocated in their time is not known.
    pub gaps: u64,
}

impl Follower {
    /// Of a process of which nothing has been read.
    pub fn new(session: ListedSession) -> Self {
        Self {
            session,
            ledger: Ledger::default(),
            before: Before::default(),
            current: None,
            last: None,
            since: None,
            gaps: 0,
            is_over: false,
            is_behind: true,
            asked: Instant::now(),
            begun: Instant::now(),
        }
    }

    /// What the recorder says of it.
    pub fn session(&self) -> &ListedSession {
        &self.session
    }

    /// Whether a session is this one: numbers of processes come back.
    pub fn is_of(&self, session: &ListedSession) -> bool {
        (self.session.pid, self.session.since) == (session.pid, session.since)
    }

    /// Takes note of what the recorder says now; nothing if it does not know the session any more.
    pub fn note(&mut self, session: Option<&ListedSession>) {
        match session {
            Some(session) => self.session = session.clone(),
            None => self.is_over = true,
        }
    }

    /// Somebody asks for it.
    pub fn touch(&mut self) {
        self.asked = Instant::now();
    }

    /// When it was begun to be followed: no other one was begun then.
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// For how long nobody has asked.
    pub fn idle(&self) -> Duration {
        self.asked.elapsed()
    }

    /// Whether its recording has ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether there is more to read than has been read.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Reads on until there is nothing more for now, or it is so late; `folder` is what is in the folder of traces now.
    ///
    /// # Errors
    /// If its files cannot be read.
    pub fn advance(&mut self, folder: &[FolderTrace], until: Instant) -> anyhow::Result<()> {
        self.is_behind = false;
        let files = self.files(folder);
        self.is_behind = !self.read(&files, until)?;
        Ok(())
    }

    /// Whether there is nothing more for now.
    fn read(&mut self, files: &[FolderTrace], until: Instant) -> anyhow::Result<bool> {
        loop {
            if self.current.is_none() && !self.open_next(files)? {
                return Ok(true);
            }
            let Some(current) = &mut self.current else { return Ok(true) };
            let is_all = current.book.advance(until);
            self.gaps += current.check(self.last.as_ref())?;
            if !is_all {
                return Ok(false);
            }
            if !self.end_file(files) {
                return Ok(true);
            }
        }
    }

    /// Opens the file that goes on where the last one ended; false if there is none yet.
    fn open_next(&mut self, files: &[FolderTrace]) -> anyhow::Result<bool> {
        let file = match &self.last {
            Some(last) => files.iter().find(|it| it.is_after(last)).cloned(),
            None => chain::last_of(files)?.into_iter().next().map(|link| link.file),
        };
        let Some(file) = file else { return Ok(false) };
        let Some(book) = open(&file)? else { return Ok(false) };
        if self.since.is_none() {
            self.since = Some(book.reading().trace.info().start_time);
        }
        self.current = Some(Current { book, known: Known::default(), file, is_checked: false });
        Ok(true)
    }

    /// Those of the session, and of no earlier process of its number.
    fn files(&self, folder: &[FolderTrace]) -> Vec<FolderTrace> {
        /// The file is begun a moment before the session is entered, in microseconds.
        const SLACK: u64 = 2_000_000;
        let pid = self.session.pid;
        let since = Timestamp(self.session.since.0.saturating_sub(SLACK));
        let is_its = |it: &&FolderTrace| it.pid == pid && it.begins_since(since);
        folder.iter().filter(is_its).cloned().collect()
    }

    /// Goes on to the next file, if there is one; true if there is more to read.
    fn end_file(&mut self, files: &[FolderTrace]) -> bool {
        let Some(current) = &mut self.current else { return false };
        let next = files.iter().find(|it| it.is_after(&current.file));
        // Until that has told what lives at its beginning, this one says what lives.
        let is_followed = next.is_some_and(chain::goes_on);
        if (is_followed || self.is_over) && !current.book.is_finished() {
            // Something may have been written since; now there is nothing more to come.
            current.book.close();
            return true;
        }
        if is_followed {
            self.keep();
        }
        is_followed
    }

    /// What a file amounts to that has ended.
    fn keep(&mut self) {
        let Some(mut current) = self.current.take() else { return };
        let reading = current.book.reading();
        self.before.allocated += &current.book.summary().allocated;
        for (reason, count) in &reading.facts.lost {
            *self.before.lost.entry(Arc::clone(reason)).or_default() += count;
        }
        self.ledger.close(reading, &mut current.known);
        self.last = Some(current.file);
    }

    /// What it has; nothing as long as nothing is known.
    pub fn holding(&self) -> Option<Holding> {
        let (book, since) = (&self.current.as_ref()?.book, self.since?);
        let summary = book.summary();
        let mut allocated = self.before.allocated;
        allocated += &summary.allocated;
        let mut lost = self.before.lost.clone();
        for (reason, count) in &book.reading().facts.lost {
            *lost.entry(Arc::clone(reason)).or_default() += count;
        }
        Some(Holding {
            allocated,
            live: summary.live,
            lost,
            sampling: summary.sampling,
            since,
            now: book.now(),
            gaps: self.gaps,
        })
    }

    /// What each backtrace of the [ledger](Self::ledger) has.
    pub fn values(&mut self) -> Vec<Values> {
        match &mut self.current {
            Some(current) => self.ledger.values(current.book.reading(), &mut current.known),
            None => Vec::new(),
        }
    }

    /// Its backtraces.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

impl Current {
    /// How many times files are missing between this one and the last one, once that is known.
    ///
    /// # Errors
    /// If it is of another program.
    fn check(&mut self, last: Option<&FolderTrace>) -> anyhow::Result<u64> {
        let reading = self.book.reading();
        if self.is_checked || reading.profile.replay().births() == 0 {
            return Ok(0);
        }
        self.is_checked = true;
        let told = notices::predecessor(reading.facts.notices.iter().map(|code| &**code));
        ensure!(last.is_none() || told.is_some(), "it executes another program now");
        Ok(u64::from(told != last.map(FolderTrace::name)))
    }
}

/// Nothing if not even its beginning is there yet.
fn open(file: &FolderTrace) -> anyhow::Result<Option<Book>> {
    let choice = Choice::default();
    let place: PathBuf = file.place();
    // It may just have been renamed, or removed.
    let opened = Book::open(&place, &choice, None);
    let opened = opened.or_else(|_| Book::open(&file.path, &choice, None));
    opened.or_else(|error| if file.is_gone() { Ok(None) } else { Err(error) })
}
