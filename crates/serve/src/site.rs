//! From a request to its answer.

use std::sync::Arc;

use lifetrace_recorder::{Collector, Folder};
use rustix::process::setpriority_process;

use crate::chain;
use crate::desk::Desk;
use crate::figures::{Counts, Own};
use crate::follower::{Follower, Holding};
use crate::guard;
use crate::http::{Refused, Request, Response, Site};
use crate::pull::Pull;
use crate::route::{self, Route, Wrong};
use crate::seats::Seats;
use crate::token::Token;
use crate::unknown::{Unknown, too_much};
use crate::{demand, exposition, index, metrics, processes, rate, snapshot};

/// What a collector answers.
pub struct Collecting {
    token: Token,
    collector: Arc<Collector>,
    folder: Folder,
    desk: Arc<Desk>,
    pull: Pull,
    counts: Counts,
    /// Whole traces are read by one at a time.
    readers: Seats,
    /// Snapshots are taken by one at a time.
    snapshots: Seats,
}

/// Somebody who comes now is to come again after so many seconds.
const BUSY: u32 = 5;

/// How nice a thread is that reads a whole trace.
const GIVING_WAY: i32 = 5;

impl Collecting {
    /// Of a collector that writes into this folder, for those who have the token.
    ///
    /// # Errors
    /// If there are no threads.
    pub fn new(collector: Arc<Collector>, folder: Folder, token: Token) -> std::io::Result<Self> {
        chain::remove_leftovers(folder.path());
        let desk = Arc::new(Desk::new(Arc::clone(&collector), folder.path().to_owned())?);
        let pull = Pull::new(Arc::clone(&desk));
        let (readers, snapshots) = (Seats::new(1), Seats::new(1));
        Ok(Self {
            token,
            collector,
            folder,
            desk,
            pull,
            counts: Counts::default(),
            readers,
            snapshots,
        })
    }

    fn respond(&self, request: &Request) -> Response {
        if let Err(stranger) = guard::admit(request, &self.token) {
            self.counts.refuse(stranger);
            return stranger.response();
        }
        match route::of(request) {
            Ok(route) => self.follow(route, request),
            Err(wrong) => refuse(wrong),
        }
    }

    fn follow(&self, route: Route, request: &Request) -> Response {
        let folder = || self.folder.path().to_owned();
        match route {
            Route::Index => self.index(request),
            Route::Metrics { open } => self.metrics(open),
            Route::Processes { ended: false } => self.processes(),
            Route::Processes { ended: true } => self.ended(),
            Route::Profile { pid, first, seconds } => self.pull.answer(pid, first, seconds),
            Route::Trace { pid, minutes } => self.read(|| demand::trace(&folder(), pid, minutes)),
            Route::Report { pid, minutes, question } => {
                self.read(|| demand::report(&folder(), pid, minutes, *question))
            }
            Route::Page { pid } => self.read(|| demand::page(&folder(), pid)),
            Route::Rate { pid, interval } => rate::answer(&self.collector, pid, interval),
            Route::Snapshot { pid, file } => match self.snapshots.take() {
                Some(_seat) => snapshot::answer(&self.collector, pid, file),
                None => Response::later("a snapshot is being taken", BUSY),
            },
        }
    }

    /// Reads a whole trace for somebody, if nobody else has one read.
    fn read(&self, answer: impl FnOnce() -> Response) -> Response {
        match self.readers.take() {
            Some(_seat) => {
                // Recording comes first: this thread, which ends with the answer, gives way.
                let _ = setpriority_process(None, GIVING_WAY);
                answer()
            }
            None => Response::later("another trace is being read", BUSY),
        }
    }

    fn index(&self, request: &Request) -> Response {
        let token = request.authorization.is_none().then(|| self.token.reveal());
        self.with_rows(|rows| {
            let mut response = Response::ok("text/html", index::page(rows, token).into_bytes());
            response.policy = index::POLICY.to_owned();
            response
        })
    }

    fn processes(&self) -> Response {
        self.with_rows(|rows| document(processes::recorded(rows)))
    }

    fn with_rows(
        &self,
        answer: impl FnOnce(&[(lifetrace_recorder::ListedSession, Result<Holding, String>)]) -> Response,
    ) -> Response {
        let rows = self.desk.ask(|followers| {
            let known = followers.look();
            let holding = |known: Result<&Follower, Unknown>| {
                known
                    .and_then(|it| it.holding().ok_or(Unknown::Behind))
                    .map_err(|why| why.sentence())
            };
            known.into_iter().map(|(session, known)| (session, holding(known))).collect::<Vec<_>>()
        });
        rows.map_or_else(too_much, |rows| answer(&rows))
    }

    fn metrics(&self, open: bool) -> Response {
        let begun = self.collector.recorded(false).begun;
        self.with_rows(|rows| {
            let rows: Vec<_> =
                rows.iter().map(|(session, held)| (session.clone(), held.clone().ok())).collect();
            let (own, counted) = (Own::of(self.folder.path()), self.counts.so_far());
            let families = metrics::families(&rows, begun, self.folder.figures(), &own, &counted);
            let text = exposition::text(&families, open);
            Response::ok(exposition::media_type(open), text.into_bytes())
        })
    }

    fn ended(&self) -> Response {
        let sessions = self.collector.recorded(false).sessions;
        let is_recorded = |pid| sessions.iter().any(|session| session.pid == pid);
        let traces = lifetrace_recorder::traces_in(self.folder.path());
        document(processes::ended(&traces, is_recorded))
    }
}

impl Site for Collecting {
    fn answer(&self, request: &Request) -> Response {
        let response = self.respond(request);
        self.counts.answer(response.status);
        response
    }

    fn note(&self, refused: Refused) {
        self.counts.note(refused);
    }
}

fn refuse(wrong: Wrong) -> Response {
    match wrong {
        Wrong::NotFound => Response::refusal(404, "here is nothing; / says what there is"),
        Wrong::Method(names) => Response::refusal(405, &format!("this is asked for by {names}"))
            .with("Allow", names.to_owned()),
        Wrong::Query(why) => Response::refusal(400, &why),
    }
}

fn document(text: serde_json::Result<String>) -> Response {
    text.map_or_else(|error| Response::refusal(500, &error.to_string()), Response::json)
}
