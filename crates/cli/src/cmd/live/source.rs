//! Who says what is being recorded: recorders of this machine, or our own.

use std::io::ErrorKind;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::bail;
use lifetrace_live::process::{Session, Sessions};
use lifetrace_recorder::{
    AskError, Control, ListedSession, Recorded, Recorder, recorder_of, recorders,
};

/// Recorders that are new are looked for so often.
const SEARCHES: Duration = Duration::from_secs(5);

/// A recorder that hears that somebody reads its traces has written all that it knew within this time.
const SETTLING: Duration = Duration::from_millis(1200);

/// Who says what is being recorded.
pub struct Source {
    kind: Kind,
    wanted: Option<u32>,
    /// Whether other processes of its recorder are left out.
    is_alone: bool,
}

enum Kind {
    /// Those that there are, and when they were looked for.
    All(Vec<Recorder>, Instant),
    /// The one that records a process, as long as it is there.
    One(Option<Box<Recorder>>),
    /// The one in this process.
    Own(Control),
}

impl Source {
    /// The recorder of a process, or all that this user has.
    ///
    /// # Errors
    /// If nobody records it.
    pub fn find(wanted: Option<u32>) -> anyhow::Result<Self> {
        let kind = match wanted {
            None => Kind::All(recorders(), Instant::now()),
            Some(pid) => Kind::One(Some(Box::new(recorder_or_advice(pid)?))),
        };
        if matches!(&kind, Kind::All(found, _) if found.is_empty()) {
            bail!("nothing is being recorded now, as far as this user may see\n  {ADVICE}");
        }
        Ok(Self { kind, wanted, is_alone: false })
    }

    /// The recorder in this process.
    pub fn own(control: Control) -> Self {
        Self { kind: Kind::Own(control), wanted: None, is_alone: false }
    }

    /// The recorder in this process, which has attached to that one.
    pub fn own_of(control: Control, pid: u32) -> Self {
        Self { wanted: Some(pid), ..Self::own(control) }
    }

    /// Leaves out all processes but the one that was asked for, if one was.
    pub fn alone(self) -> Self {
        Self { is_alone: true, ..self }
    }

    /// The process that was asked for.
    pub fn wanted(&self) -> Option<u32> {
        self.wanted
    }

    /// What is being recorded now.
    pub fn sessions(&mut self) -> Sessions {
        match &mut self.kind {
            Kind::Own(control) => of_recorded(&control.recorded(true), |path| path.trace.clone()),
            Kind::One(recorder) => {
                *recorder = recorder.take().and_then(|it| ask_again(&it)).map(Box::new);
                let sessions = recorder.as_deref().map(of_recorder).unwrap_or_default();
                if self.is_alone { only(sessions, self.wanted) } else { sessions }
            }
            Kind::All(found, searched) => {
                ask_all(found, searched);
                found.iter().map(of_recorder).fold(Sessions::default(), |mut all, it| {
                    all.all.extend(it.all);
                    all.begun += it.begun;
                    all
                })
            }
        }
    }

    /// Waits until what happened so far is in the traces.
    pub fn settle(&mut self) {
        self.sessions();
        sleep(SETTLING);
    }

    /// Whether no recorder is there any more.
    pub fn is_over(&self) -> bool {
        match &self.kind {
            Kind::All(found, _) => found.is_empty(),
            Kind::One(recorder) => recorder.is_none(),
            Kind::Own(_) => false,
        }
    }
}

const ADVICE: &str =
    "lifetrace attach PID records one that runs, lifetrace live -- CMD runs one and shows it";

/// Whether nobody records a process, as far as this user may see.
pub fn is_unrecorded(pid: u32) -> bool {
    matches!(recorder_of(pid, false), Err(AskError::NotRecorded(_)))
}

fn recorder_or_advice(pid: u32) -> anyhow::Result<Recorder> {
    match recorder_of(pid, true) {
        Ok(recorder) => Ok(recorder),
        Err(AskError::NotRecorded(_)) => {
            bail!(
                "nobody records process {pid}, or somebody whom this user may not ask\n  {ADVICE}"
            )
        }
        Err(error) => Err(error.into()),
    }
}

/// Asks those that are known, and now and then looks for others.
fn ask_all(found: &mut Vec<Recorder>, searched: &mut Instant) {
    if searched.elapsed() >= SEARCHES {
        *found = recorders();
        *searched = Instant::now();
    }
    *found = found.iter().filter_map(ask_again).collect();
}

/// What a recorder says now; one that has no time to answer says what it said last. Nothing if it has gone.
fn ask_again(recorder: &Recorder) -> Option<Recorder> {
    match recorder.ask_again() {
        Ok(recorder) => Some(recorder),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Some(recorder.clone()),
        Err(_) => None,
    }
}

/// The process that was asked for.
fn only(mut sessions: Sessions, wanted: Option<u32>) -> Sessions {
    sessions.all.retain(|session| wanted.is_none_or(|pid| session.pid == pid));
    sessions
}

fn of_recorder(recorder: &Recorder) -> Sessions {
    of_recorded(&recorder.recorded, |session| recorder.path_of(&session.trace))
}

fn of_recorded(
    recorded: &Recorded,
    path: impl Fn(&ListedSession) -> std::path::PathBuf,
) -> Sessions {
    let session = |listed: &ListedSession| Session {
        pid: listed.pid,
        parent: listed.parent,
        program: listed.program.clone(),
        trace: Some(path(listed)).filter(|path| !path.as_os_str().is_empty()),
        since: listed.since,
        bytes: listed.bytes,
        lost: listed.lost,
    };
    Sessions { all: recorded.sessions.iter().map(session).collect(), begun: recorded.begun }
}
