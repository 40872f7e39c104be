//! Profiles, as scrapers pull them: of all so far, or of some seconds from now on.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lifetrace_human as human;
use lifetrace_recorder::ListedSession;
use lifetrace_trace::ids::Timestamp;

use crate::desk::{Desk, Followers};
use crate::follower::{Follower, Holding};
use crate::http::Response;
use crate::ledger::Values;
use crate::profile::{About, profile};
use crate::route::First;
use crate::seats::Seats;
use crate::unknown::{Unknown, too_much};

/// So many differences are taken at a time: each has a thread that waits.
const MOST_WAITING: usize = 8;

/// Traces are written sooner while somebody shows that often that he reads them.
const REMINDER: Duration = Duration::from_secs(1);

/// A trace that nobody has read of late is at most so much behind when one begins to: so long, but no longer than this part
/// of the time that is asked for, the difference waits for it. `go tool pprof` waits for half as long again as it asks for.
const SETTLING: Duration = Duration::from_millis(600);
const SHARE: u32 = 4;

/// Takes profiles.
pub struct Pull {
    desk: Arc<Desk>,
    waiting: Seats,
}

/// What a process had at a moment.
struct Moment {
    session: ListedSession,
    /// Since when it was followed then: numbers of backtraces are of that time.
    followed: Instant,
    values: Vec<Values>,
    /// Allocations sampled.
    samples: u64,
    now: Timestamp,
}

impl Pull {
    /// Of the processes that are followed there.
    pub fn new(desk: Arc<Desk>) -> Self {
        Self { desk, waiting: Seats::new(MOST_WAITING) }
    }

    /// The profile of a process: of all so far, or of so many seconds from now on.
    pub fn answer(&self, pid: u32, first: First, seconds: Option<u32>) -> Response {
        match seconds {
            None => self.finish(pid, move |followers| {
                let follower = followers.follow(pid)?;
                Ok(packed(follower, first, None))
            }),
            Some(seconds) => match self.waiting.take() {
                Some(_seat) => self.difference(pid, first, seconds),
                None => Response::later("too many differences are being waited for", seconds),
            },
        }
    }

    fn difference(&self, pid: u32, first: First, seconds: u32) -> Response {
        let span = Duration::from_secs(seconds.into());
        let before = self.desk.ask(move |followers| followers.follow(pid).map(|_| ()));
        match before {
            None => return too_much(),
            Some(Err(unknown)) => return unknown.response(pid),
            Some(Ok(())) => sleep(SETTLING.min(span / SHARE)),
        }
        let before = match self.desk.ask(move |followers| followers.follow(pid).map(Moment::of)) {
            None => return too_much(),
            Some(Err(unknown)) => return unknown.response(pid),
            Some(Ok(moment)) => moment,
        };
        self.wait(span);
        self.finish(pid, move |followers| {
            let follower = followers.follow_on(&before.session)?;
            if follower.begun() != before.followed {
                return Err(Unknown::Behind);
            }
            Ok(packed(follower, first, Some(&before)))
        })
    }

    /// Meanwhile the recorder is reminded that somebody reads.
    fn wait(&self, span: Duration) {
        let until = Instant::now() + span;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            sleep(left.min(REMINDER));
            self.desk.ask(|followers| drop(followers.sessions()));
        }
    }

    fn finish(
        &self,
        pid: u32,
        job: impl FnOnce(&mut Followers) -> Result<Packed, Unknown> + Send + 'static,
    ) -> Response {
        match self.desk.ask(job) {
            None => too_much(),
            Some(Err(unknown)) => unknown.response(pid),
            Some(Ok(Ok(bytes))) => Response::ok("application/octet-stream", bytes).with(
                "Content-Disposition",
                format!("attachment; filename=\"lifetrace.{pid}.pb.gz\""),
            ),
            Some(Ok(Err(why))) => Response::refusal(500, &format!("process {pid}: {why}")),
        }
    }
}

/// A profile's bytes, or why there are none.
type Packed = Result<Vec<u8>, String>;

impl Moment {
    fn of(follower: &mut Follower) -> Self {
        let held = follower.holding();
        Self {
            session: follower.session().clone(),
            followed: follower.begun(),
            values: follower.values(),
            samples: held.as_ref().map_or(0, |held| held.allocated.samples),
            now: held.map_or(Timestamp(0), |held| held.now),
        }
    }
}

fn packed(follower: &mut Follower, first: First, before: Option<&Moment>) -> Packed {
    let Some(held) = follower.holding() else {
        return Err("nothing is known of it yet".to_owned());
    };
    let mut values = follower.values();
    if let Some(before) = before {
        for (value, before) in values.iter_mut().zip(&before.values) {
            value.iter_mut().zip(before).for_each(|(value, before)| *value -= before);
        }
    }
    let about = about(follower.session(), &held, first, before);
    let mut bytes = Vec::new();
    let written = lifetrace_pprof::write(&profile(follower.ledger(), &values, &about), &mut bytes);
    written.map(|()| bytes).map_err(|error| error.to_string())
}

fn about(session: &ListedSession, held: &Holding, first: First, before: Option<&Moment>) -> About {
    let nanos = |time: Timestamp| i64::try_from(time.0.saturating_mul(1000)).unwrap_or(i64::MAX);
    let begin = before.map_or(held.now, |before| before.now);
    let duration = nanos(held.now) - nanos(begin);
    About {
        time: nanos(begin),
        duration,
        interval: held.sampling.interval_bytes().round() as i64,
        first,
        comments: comments(session, held, before),
    }
}

/// Where the numbers come from, one line each, for people.
fn comments(session: &ListedSession, held: &Holding, before: Option<&Moment>) -> Vec<String> {
    let earlier = before.map_or(0, |before| before.samples);
    let samples = held.allocated.samples.saturating_sub(earlier);
    let trust = match held.sampling.is_exact() {
        true => "exact".to_owned(),
        false => format!(
            "estimated from {samples} sampled allocations, one sample every {:.0} bytes on average",
            held.sampling.interval_bytes()
        ),
    };
    let mut all = vec![
        format!("lifetrace {}", env!("CARGO_PKG_VERSION")),
        format!("pid {}: {}", session.pid, human::printable(&session.program)),
        trust,
    ];
    if before.is_some() {
        all.push("differences between two moments: what is in use may have become less".to_owned());
    } else {
        let since = human::calendar::readable(held.since);
        let [live, allocated] = [&held.live, &held.allocated].map(|it| human::estimate(&it.bytes));
        all.push(format!(
            "in use: {live}; allocated since {since}: {allocated} (± is half of the 95 % interval)"
        ));
    }
    if !held.sampling.hears_all() {
        all.push(
            "not all of the program's memory is heard: the report of its trace says why".to_owned(),
        );
    }
    if held.gaps > 0 {
        all.push(format!("{} files of the process were gone before they were read: what was allocated in their time is not counted", held.gaps));
    }
    let lost: u64 = held.lost.values().sum();
    if lost > 0 {
        all.push(format!("{lost} events are not in the trace"));
    }
    all
}
