//! One thread that follows processes, and does so for whoever asks.
//!
//! Only what is asked for is followed, and only as long as it is: a process of which nobody has asked for ten minutes is
//! forgotten. In between its files are read on, so that the next answer is quick and no file is removed unread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use lifetrace_recorder::{Collector, FolderTrace, ListedSession, traces_in};

use crate::follower::Follower;
use crate::unknown::Unknown;

/// What waits to be done.
const MOST_JOBS: usize = 64;

/// Processes that are followed at a time: each takes some megabytes.
const MOST_FOLLOWED: usize = 128;

/// A process is forgotten of which nobody asks for so long; one that has ended, sooner.
const FORGOTTEN: Duration = Duration::from_secs(600);
const FORGOTTEN_ENDED: Duration = Duration::from_secs(30);

/// So often what grows is read on where nobody asks.
const ROUND: Duration = Duration::from_secs(5);

/// So long it is read at a time, and so long somebody waits for it.
const SLICE: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(2);

/// Where one asks what is known of processes.
pub struct Desk(SyncSender<Job>);

type Job = Box<dyn FnOnce(&mut Followers) + Send>;

/// The processes that are followed.
pub struct Followers {
    collector: Arc<Collector>,
    folder: PathBuf,
    all: Vec<Follower>,
}

impl Desk {
    /// Of a collector that writes into this folder.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn new(collector: Arc<Collector>, folder: PathBuf) -> std::io::Result<Self> {
        let (sender, jobs) = sync_channel(MOST_JOBS);
        let work = move || {
            let followers = Followers { collector, folder, all: Vec::new() };
            followers.work(&jobs);
        };
        thread::Builder::new().name("http-desk".to_owned()).spawn(work)?;
        Ok(Self(sender))
    }

    /// Has something done with the processes; nothing if there is too much to do, or that has failed.
    pub fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Followers) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, answer) = sync_channel(1);
        let job = move |followers: &mut Followers| {
            // Whoever asked may have gone.
            let _ = sender.send(job(followers));
        };
        self.0.try_send(Box::new(job)).ok()?;
        answer.recv().ok()
    }
}

impl Followers {
    fn work(mut self, jobs: &Receiver<Job>) {
        loop {
            match jobs.recv_timeout(self.pause()) {
                Ok(job) => {
                    // What a fault has left half done is begun anew.
                    if catch_unwind(AssertUnwindSafe(|| job(&mut self))).is_err() {
                        self.all.clear();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    if catch_unwind(AssertUnwindSafe(|| self.go_on())).is_err() {
                        self.all.clear();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Until when nothing needs to be done unless somebody asks.
    fn pause(&self) -> Duration {
        match self.all.iter().any(Follower::is_behind) {
            true => Duration::ZERO,
            false if self.all.is_empty() => Duration::from_secs(3600),
            false => ROUND,
        }
    }

    /// Reads on, and forgets what nobody asks for.
    fn go_on(&mut self) {
        let sessions = self.collector.recorded(false).sessions;
        self.note(&sessions);
        let traces = traces_in(&self.folder);
        for follower in &mut self.all {
            // What cannot be read is told to whoever asks.
            let _ = follower.advance(&traces, Instant::now() + SLICE);
        }
    }

    fn note(&mut self, sessions: &[ListedSession]) {
        for follower in &mut self.all {
            let session = sessions.iter().find(|session| follower.is_of(session));
            follower.note(session);
        }
        self.all.retain(|it| it.idle() < if it.is_over() { FORGOTTEN_ENDED } else { FORGOTTEN });
    }

    /// What is being recorded; traces are written sooner for a moment.
    pub fn sessions(&mut self) -> Vec<ListedSession> {
        let mut sessions = self.collector.recorded(true).sessions;
        self.note(&sessions);
        // Of a process that has executed another program the last one counts.
        sessions.sort_by_key(|session| (session.pid, std::cmp::Reverse(session.since)));
        sessions.dedup_by_key(|session| session.pid);
        sessions
    }

    /// A process that is being recorded, read up to now.
    ///
    /// # Errors
    /// [`Unknown`].
    pub fn follow(&mut self, pid: u32) -> Result<&mut Follower, Unknown> {
        let sessions = self.sessions();
        let session = sessions.iter().rfind(|it| it.pid == pid).ok_or(Unknown::NotRecorded)?;
        let traces = traces_in(&self.folder);
        self.read(session, &traces, PATIENCE)
    }

    /// A process that was followed a moment ago, read up to now, or to its end.
    ///
    /// # Errors
    /// [`Unknown`].
    pub fn follow_on(&mut self, session: &ListedSession) -> Result<&mut Follower, Unknown> {
        self.sessions();
        if self.all.iter().all(|it| !it.is_of(session)) {
            return Err(Unknown::NotRecorded);
        }
        let traces = traces_in(&self.folder);
        self.read(session, &traces, PATIENCE)
    }

    /// Of all processes what is known of them, as far as they can be followed.
    pub fn look(&mut self) -> Vec<(ListedSession, Result<&Follower, Unknown>)> {
        let sessions = self.sessions();
        let (traces, until) = (traces_in(&self.folder), Instant::now() + PATIENCE);
        let outcomes: Vec<_> = sessions
            .iter()
            .map(|session| {
                let left = until.saturating_duration_since(Instant::now());
                self.read(session, &traces, left).map(drop)
            })
            .collect();
        let pairs = sessions.into_iter().zip(outcomes);
        pairs
            .map(|(session, outcome)| {
                let known = self.all.iter().find(|it| it.is_of(&session));
                let known = outcome.and_then(|()| known.ok_or(Unknown::NotRecorded));
                (session, known)
            })
            .collect()
    }

    fn read(
        &mut self,
        session: &ListedSession,
        traces: &[FolderTrace],
        patience: Duration,
    ) -> Result<&mut Follower, Unknown> {
        let at = match self.all.iter().position(|it| it.is_of(session)) {
            Some(at) => at,
            None if self.all.len() >= MOST_FOLLOWED => return Err(Unknown::TooMany(MOST_FOLLOWED)),
            None => {
                self.all.push(Follower::new(session.clone()));
                self.all.len() - 1
            }
        };
        let follower = &mut self.all[at];
        follower.touch();
        let read = follower.advance(traces, Instant::now() + patience);
        read.map_err(|error| Unknown::Unreadable(format!("{error:#}")))?;
        if follower.is_behind() || follower.holding().is_none() {
            return Err(Unknown::Behind);
        }
        Ok(follower)
    }
}
