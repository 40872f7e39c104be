//! The processes that are being recorded, each with its book; and what is looked at of them.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use lifetrace_analysis::filter::Filter;
use lifetrace_analysis::lifetimes::Lifetime;
use lifetrace_report::{Known, Subject};
use lifetrace_study::Reading;
use lifetrace_study::accounts::Accounts;
use lifetrace_study::choice::Choice;
use lifetrace_trace::ids::Timestamp;

use crate::book::{self, Book, Mark};
use crate::branches::{self, Branch};
use crate::lives::Lives;
use crate::process::{Aspect, ProcessKey, Screen, Session, Sessions, Stage};
use crate::rows::{self, Amounts, Holding};
use crate::sites::{SiteName, SiteTable};

/// A trace has a beginning within this time.
const BEGINNING: Duration = Duration::from_secs(10);

/// With more processes than these, those are dropped that have ended and in which nothing was sampled.
const MANY: usize = 10;

/// Processes that have ended are kept up to this number.
const MOST_ENDED: usize = 100;

/// All that is known.
pub struct Board {
    choice: Choice,
    processes: Vec<Process>,
    begun: u64,
    /// How many are not shown: they came and went unseen, or there were too many.
    unseen: u64,
    next: ProcessKey,
}

/// A process and its trace.
struct Process {
    key: ProcessKey,
    session: Session,
    state: State,
    has_ended: bool,
    sites: SiteTable,
    /// Since when changes are to be known.
    mark: Option<Mark>,
    lives: Option<Lives>,
}

enum State {
    /// The trace has no beginning yet; since then.
    Waiting(Instant),
    Open(Box<Book>),
    /// It cannot be read.
    Failed(String),
}

/// A process, to be shown.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What it is called here.
    pub key: ProcessKey,
    /// What its recorder says of it.
    pub session: Session,
    /// How far one is with it.
    pub stage: Stage,
    /// What it has, once that is known.
    pub has: Option<Holding>,
    /// How it is sampled, once that is known.
    pub sampling: Option<lifetrace_analysis::Sampling>,
    /// Bytes of resident memory.
    pub resident: Option<u64>,
    /// Page faults a second.
    pub faults: Option<f64>,
    /// Events that are not in the trace.
    pub lost: u64,
    /// How long it has been recorded.
    pub age: Duration,
    /// How long ago the moment was marked, if one was.
    pub mark_age: Option<Duration>,
    /// What one should know before trusting the numbers.
    pub notes: Vec<String>,
}

/// What is to be shown beside the processes.
#[derive(Clone, Debug)]
pub enum Detail {
    /// Nothing.
    None,
    /// Of a process, its callsites.
    Callsites(Box<Amounts>),
    /// Of a callsite, how the program came to it.
    Tree(Vec<Branch>),
    /// Of a callsite, how long its blocks live; how much of the trace has been read for that, between 0 and 1.
    Lifetimes(Box<Lifetime>, f64),
}

/// All that a page shows.
#[derive(Clone, Debug)]
pub struct View {
    /// The processes, in the order in which they were met.
    pub processes: Vec<Shown>,
    /// How many processes are not among them.
    pub unseen: u64,
    /// What is looked at.
    pub detail: Detail,
    /// What of the blocks is looked at, if not all.
    pub filter: Option<String>,
}

impl Board {
    /// Of which nothing is known. `choice` is what is looked at.
    ///
    /// # Errors
    /// If it cannot be judged while a program runs.
    pub fn new(choice: Choice) -> anyhow::Result<Self> {
        book::check(&choice.filter).map_err(anyhow::Error::msg)?;
        Ok(Self { choice, processes: Vec::new(), begun: 0, unseen: 0, next: ProcessKey::default() })
    }

    /// Takes note of what is being recorded now.
    pub fn take(&mut self, sessions: Sessions) {
        for process in &mut self.processes {
            match sessions.all.iter().find(|session| session.is(&process.session)) {
                Some(session) => {
                    // Its recorder may have begun another file.
                    let goes_on = session.trace != process.session.trace;
                    process.session = session.clone();
                    if goes_on {
                        // What died between the mark and the file's beginning is not in that.
                        process.mark = None;
                        process.begin_again();
                    }
                }
                None => process.end(),
            }
        }
        for session in sessions.all {
            if self.processes.iter().all(|known| !known.session.is(&session)) {
                self.processes.push(Process::new(self.next.take(), session));
                self.begun += 1;
            }
        }
        self.forget(sessions.begun);
    }

    /// Nothing is recorded any more.
    pub fn end(&mut self) {
        self.processes.iter_mut().for_each(Process::end);
    }

    /// Reads on in all traces, until there is nothing more for now, or so much time has passed; says whether there is nothing
    /// more.
    pub fn advance(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let choice = &self.choice;
        let mut is_all = true;
        for process in &mut self.processes {
            is_all &= process.advance(choice, until);
        }
        is_all
    }

    /// From now on changes are known since now.
    pub fn mark(&mut self) {
        for process in &mut self.processes {
            process.mark = process.book_mut().map(Book::mark);
        }
    }

    /// Nobody wants to know them any more.
    pub fn unmark(&mut self) {
        for process in &mut self.processes {
            process.mark = None;
            process.book_mut().into_iter().for_each(Book::unmark);
        }
    }

    /// Looks at other blocks: all traces are read again from their beginnings.
    ///
    /// # Errors
    /// In words, if that cannot be judged while a program runs; then all is as it was.
    pub fn choose(&mut self, filter: Filter) -> Result<(), String> {
        book::check(&filter)?;
        self.choice.filter = filter.with_machinery(self.choice.view.machinery.clone());
        self.processes.iter_mut().for_each(Process::begin_again);
        Ok(())
    }

    /// What is looked at.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// What a page shows.
    pub fn view(&mut self, screen: &Screen) -> View {
        let choice = &self.choice;
        let detail = match screen {
            Screen::Processes => Detail::None,
            Screen::Callsites(key) | Screen::Callsite(key, ..) => {
                let process = self.processes.iter_mut().find(|process| process.key == *key);
                process.map_or(Detail::None, |process| process.detail(screen, choice))
            }
        };
        for process in &mut self.processes {
            process.close_lives_unless(screen);
        }
        let filter = (!choice.filter.is_empty()).then(|| choice.filter.to_string());
        let processes = self.processes.iter().map(Process::shown).collect();
        View { processes, unseen: self.unseen, detail, filter }
    }

    /// The books that can be read, with what their recorder says of them.
    pub fn books(&mut self) -> impl Iterator<Item = (&Session, &Book, &SiteTable)> {
        self.processes.iter_mut().filter_map(|process| {
            let State::Open(book) = &mut process.state else { return None };
            process.sites.update(&**book);
            book.settle(&process.sites);
            Some((&process.session, &**book, &process.sites))
        })
    }

    /// Why traces cannot be read, if some cannot.
    pub fn failures(&self) -> impl Iterator<Item = (&Session, &str)> {
        self.processes.iter().filter_map(|process| match &process.state {
            State::Failed(why) => Some((&process.session, why.as_str())),
            _ => None,
        })
    }

    /// Where there are many, processes that have ended are dropped, first those in which nothing was sampled.
    fn forget(&mut self, begun: u64) {
        let is_empty = |process: &Process| {
            process.has_ended
                && process.book().is_none_or(|book| {
                    book.is_finished() && book.reading().profile.replay().births() == 0
                })
        };
        if self.processes.len() > MANY {
            self.processes.retain(|process| !is_empty(process));
        }
        let mut surplus = self.processes.iter().filter(|it| it.has_ended).count();
        self.processes.retain(|process| {
            let goes = process.has_ended && surplus > MOST_ENDED;
            surplus -= usize::from(process.has_ended);
            !goes
        });
        self.unseen = begun.max(self.begun) - self.processes.len() as u64;
    }
}

impl Process {
    fn new(key: ProcessKey, session: Session) -> Self {
        let state = match &session.trace {
            Some(_) => State::Waiting(Instant::now()),
            None => State::Failed("its recorder writes no trace".to_owned()),
        };
        let sites = SiteTable::default();
        Self { key, session, state, has_ended: false, sites, mark: None, lives: None }
    }

    fn end(&mut self) {
        self.has_ended = true;
        self.book_mut().into_iter().for_each(Book::close);
        self.lives.iter_mut().for_each(Lives::close);
    }

    fn book(&self) -> Option<&Book> {
        match &self.state {
            State::Open(book) => Some(book),
            _ => None,
        }
    }

    fn book_mut(&mut self) -> Option<&mut Book> {
        match &mut self.state {
            State::Open(book) => Some(book),
            _ => None,
        }
    }

    fn path(&self) -> PathBuf {
        self.session.trace.clone().unwrap_or_default()
    }

    fn begin_again(&mut self) {
        if self.session.trace.is_some() {
            (self.state, self.lives) = (State::Waiting(Instant::now()), None);
            self.sites = SiteTable::default();
        }
    }

    fn advance(&mut self, choice: &Choice, until: Instant) -> bool {
        self.open_if_there(choice);
        if let Some(lives) = &mut self.lives {
            lives.advance(until);
        }
        match &mut self.state {
            State::Open(book) => book.advance(until),
            State::Waiting(_) | State::Failed(_) => true,
        }
    }

    fn open_if_there(&mut self, choice: &Choice) {
        let State::Waiting(since) = self.state else { return };
        match Book::open(&self.path(), choice, self.mark) {
            Ok(Some(book)) if !self.session.is_of(book.reading().trace.info().pid) => {
                let why = "its trace is not there any more: the file is of another process";
                self.state = State::Failed(why.to_owned());
            }
            Ok(Some(mut book)) => {
                if self.has_ended {
                    book.close();
                }
                self.state = State::Open(Box::new(book));
            }
            Ok(None) if since.elapsed() < BEGINNING && !self.has_ended => {}
            Ok(None) => self.state = State::Failed("its trace has no beginning".to_owned()),
            Err(error) => self.state = State::Failed(format!("{error:#}")),
        }
    }

    fn detail(&mut self, screen: &Screen, choice: &Choice) -> Detail {
        let State::Open(book) = &mut self.state else { return Detail::None };
        self.sites.update(&**book);
        book.settle(&self.sites);
        match screen {
            Screen::Processes => Detail::None,
            Screen::Callsites(_) => Detail::Callsites(Box::new(rows::amounts(book, &self.sites))),
            Screen::Callsite(_, site, Aspect::Tree) => {
                Detail::Tree(branches::tree(book, &self.sites, site))
            }
            Screen::Callsite(_, site, Aspect::Lifetimes) => {
                let (site, choice) = (Rc::clone(site), choice.clone());
                self.lifetimes(&site, &choice)
            }
        }
    }

    fn lifetimes(&mut self, site: &SiteName, choice: &Choice) -> Detail {
        if self.lives.is_none() {
            // What cannot be read has nothing to tell.
            self.lives = Lives::open(&self.path(), choice).ok().flatten();
            if let (true, Some(lives)) = (self.has_ended, &mut self.lives) {
                lives.close();
            }
        }
        let Some(lives) = &self.lives else { return Detail::None };
        let share = match lives.is_behind() {
            true => part(lives.bytes_read(), self.length()),
            false => 1.0,
        };
        Detail::Lifetimes(Box::new(lives.of(&self.sites, site)), share)
    }

    fn close_lives_unless(&mut self, screen: &Screen) {
        let wants =
            matches!(screen, Screen::Callsite(key, _, Aspect::Lifetimes) if *key == self.key);
        if !wants {
            self.lives = None;
        }
    }

    fn length(&self) -> u64 {
        std::fs::metadata(self.path()).map_or(self.session.bytes, |metadata| metadata.len())
    }

    fn stage(&self) -> Stage {
        /// Less than that is read at once, in bytes.
        const LITTLE: u64 = 256 << 10;
        match &self.state {
            State::Failed(why) => Stage::Failed(why.clone()),
            State::Waiting(_) => Stage::Waiting,
            State::Open(book) => match (self.length(), book.bytes_read()) {
                (length, read) if length > read + LITTLE => Stage::Reading(part(read, length)),
                _ if self.has_ended => Stage::Ended(book.reading().facts.exit),
                _ => Stage::Running,
            },
        }
    }

    fn shown(&self) -> Shown {
        let book = self.book();
        let reading = book.map(Book::reading);
        let lost: u64 = reading.map_or(0, |reading| reading.facts.lost.values().sum());
        let age = |from: Timestamp, book: &Book| {
            Duration::from_micros(book.now().0.saturating_sub(from.0))
        };
        Shown {
            key: self.key,
            session: self.session.clone(),
            stage: self.stage(),
            has: book.map(rows::total),
            sampling: book.map(|book| book.summary().sampling),
            resident: book.and_then(|book| book.usage().resident()),
            faults: book.and_then(|book| book.usage().faults_per_second()),
            lost: lost.max(self.session.lost),
            age: book
                .map_or(Duration::ZERO, |book| age(book.reading().trace.info().start_time, book)),
            mark_age: book.zip(self.mark).map(|(book, mark)| age(mark.time, book)),
            notes: reading.map_or_else(Vec::new, notes),
        }
    }
}

/// As `report` has them.
fn notes(reading: &Reading) -> Vec<String> {
    Subject::new(Known::of(reading)).oddities().collect()
}

fn part(read: u64, length: u64) -> f64 {
    if length > 0 { (read as f64 / length as f64).min(1.0) } else { 1.0 }
}
