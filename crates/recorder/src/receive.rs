//! The thread that drains all rings.
//!
//! It sleeps until there is something worth waking up for: not at all while a ring is filling, longer
//! and longer, up to [`LONGEST_SLEEP`], while a ring could hold many times of what it finds; the end of
//! a process and a new session wake it. A sleeping receiver costs nothing, and one that wakes often
//! takes the processor from the target that it reads from, again and again. A ring holds what a target
//! sends meanwhile.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver as Inbox, Sender, SyncSender, TryRecvError};
use std::time::Duration;

use lifetrace_transport::codec::MAX_LEN;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use crate::clock::monotonic_now;
use crate::looking::Requests;
use crate::observe::ObserverHandle;
use crate::outcome::SessionEnd;
use crate::session::{Flow, MessageBuffer, Session};
use crate::switch::Switch;
use crate::wakeup::Wakeup;

const LONGEST_SLEEP: Duration = Duration::from_millis(20);
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

/// What is sent to the receiver.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A new session.
    Session(Box<Session>),
    /// This process has executed another program: nothing will come from the earlier one. The
    /// answer is whether that had anything to say.
    Replaced(Pid, SyncSender<bool>),
    /// This process has given up its session, and begins another.
    Returned(Pid),
}

/// For those who tell it.
#[derive(Debug)]
pub(crate) struct ReceiverHandle {
    arrivals: Sender<Arrival>,
    wakeup: Arc<Wakeup>,
    switch: Arc<Switch>,
}

/// The thread that drains all rings, and whose sessions they are.
pub(crate) struct Receiver {
    arrivals: Inbox<Arrival>,
    sessions: Vec<Session>,
    departed: Departed,
    wakeup: Arc<Wakeup>,
    stop: Arc<Wakeup>,
    switch: Arc<Switch>,
    looks: Arc<Requests>,
    observer: ObserverHandle,
    is_stopping: bool,
    buffer: MessageBuffer,
}

impl ReceiverHandle {
    /// Has the receiver look at the rings now.
    pub(crate) fn wake(&self) {
        self.wakeup.raise();
    }

    pub(crate) fn wakeup(&self) -> Arc<Wakeup> {
        Arc::clone(&self.wakeup)
    }

    /// A session's agent must not have its segment before this.
    pub(crate) fn send(&self, arrival: Arrival) {
        if let Arrival::Session(session) = &arrival {
            session.set_paused(self.switch.is_paused());
        }
        // The receiver outlives its handles; were it gone, the session would be, too.
        let _ = self.arrivals.send(arrival);
        self.wakeup.raise();
    }
}

impl Receiver {
    /// A receiver that ends all sessions when `stop` is raised, pauses them with `switch`, and has
    /// their processes observed; `looks` says which are to be looked through.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub(crate) fn new(
        stop: Arc<Wakeup>,
        switch: Arc<Switch>,
        looks: Arc<Requests>,
        observer: ObserverHandle,
    ) -> io::Result<(Receiver, ReceiverHandle)> {
        let (sender, arrivals) = mpsc::channel();
        let wakeup = Arc::new(Wakeup::new()?);
        let handle = ReceiverHandle {
            arrivals: sender,
            wakeup: Arc::clone(&wakeup),
            switch: Arc::clone(&switch),
        };
        let receiver = Receiver {
            arrivals,
            sessions: Vec::new(),
            departed: Departed::default(),
            wakeup,
            stop,
            switch,
            looks,
            observer,
            is_stopping: false,
            buffer: Box::new([0; MAX_LEN]),
        };
        Ok((receiver, handle))
    }

    /// Runs until nobody can send new sessions and all are over.
    pub(crate) fn run(mut self) {
        let mut sleep = SHORTEST_SLEEP;
        while self.welcome() || !self.sessions.is_empty() {
            sleep = next_sleep(sleep, self.pass());
            self.sleep(sleep);
        }
    }

    /// Takes in what has arrived; false when nothing more can.
    fn welcome(&mut self) -> bool {
        loop {
            match self.arrivals.try_recv() {
                Ok(Arrival::Session(mut session)) => {
                    session.have_observed(self.observer.clone());
                    self.sessions.push(*session);
                }
                Ok(Arrival::Replaced(pid, answer)) => {
                    // Who asks does not wait for ever.
                    let _ = answer.send(self.replace(pid));
                }
                Ok(Arrival::Returned(pid)) => {
                    let sessions = self.sessions.iter_mut();
                    let own = sessions.filter(|session| session.pid == pid);
                    own.for_each(|session| session.close(SessionEnd::Stopped));
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Closes the sessions of a process; returns whether there were samples in any.
    fn replace(&mut self, pid: Pid) -> bool {
        let mut has_samples = self.departed.take(pid);
        for session in self.sessions.iter_mut().filter(|session| session.pid == pid) {
            session.replace();
            session.pass(&mut self.buffer);
            has_samples |= session.has_samples();
        }
        has_samples
    }

    fn pass(&mut self) -> Flow {
        if self.is_stopping {
            self.sessions.iter_mut().for_each(Session::end);
        }
        for process in self.looks.take() {
            let sessions = self.sessions.iter_mut();
            sessions.filter(|session| session.pid == process).for_each(Session::want_look);
        }
        let (buffer, is_paused) = (&mut self.buffer, self.switch.is_paused());
        let count = self.sessions.len();
        let flows = self.sessions.iter_mut().map(|session| {
            session.set_paused(is_paused);
            session.look_for_exec(count);
            session.pass(buffer)
        });
        let flow = flows.max().unwrap_or(Flow::Trickle);
        self.departed.take_in(self.sessions.extract_if(.., |session| session.is_over()));
        flow
    }

    /// Closed sessions and a stop that has been noticed would wake us again and again.
    fn sleep(&mut self, longest: Duration) {
        let open = self.sessions.iter().filter(|session| !session.is_closed());
        let (now, count) = (monotonic_now(), self.sessions.len());
        let look = open.clone().map(|session| session.until_next_look(now, count)).min();
        // One that is overdue is of a process that ends.
        let look = look.unwrap_or(longest).max(SHORTEST_SLEEP);
        let longest = longest.min(look);
        let stop = (!self.is_stopping).then_some(self.stop.as_fd());
        let mut polled: Vec<PollFd<'_>> = [self.wakeup.as_fd()]
            .into_iter()
            .chain(open.map(|session| session.process.as_fd()))
            .chain(stop)
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
        if poll(&mut polled, Some(&timeout)).is_ok() {
            let ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
            self.react(&ready);
        }
    }

    fn react(&mut self, ready: &[bool]) {
        let mut ready = ready.iter().copied();
        if ready.next() == Some(true) {
            self.wakeup.clear();
        }
        let open = self.sessions.iter_mut().filter(|session| !session.is_closed());
        for (session, died) in open.zip(&mut ready) {
            if died {
                session.close(SessionEnd::Died);
            }
        }
        self.is_stopping |= ready.next() == Some(true);
    }
}

/// Those that have executed another program lately and had samples before. The other program may say
/// hello yet, and what it asks is whether its name is free.
#[derive(Debug, Default)]
struct Departed(VecDeque<Pid>);

impl Departed {
    /// More than these are not on their way.
    const MOST: usize = 64;

    fn take_in(&mut self, sessions: impl Iterator<Item = Session>) {
        let departed =
            sessions.filter(|session| session.has_left_by_exec() && session.has_samples());
        self.0.extend(departed.map(|session| session.pid));
        let most = self.0.len().saturating_sub(Self::MOST);
        self.0.drain(..most);
    }

    fn take(&mut self, pid: Pid) -> bool {
        let before = self.0.len();
        self.0.retain(|departed| *departed != pid);
        self.0.len() < before
    }
}

fn next_sleep(last: Duration, flow: Flow) -> Duration {
    match flow {
        Flow::Trickle => (last * 2).clamp(SHORTEST_SLEEP, LONGEST_SLEEP),
        Flow::Steady => last.max(SHORTEST_SLEEP),
        Flow::Torrent => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_wakes_as_often_as_the_flow_is_worth() {
        let mut sleep = SHORTEST_SLEEP;
        for _ in 0..10 {
            sleep = next_sleep(sleep, Flow::Trickle);
        }
        assert_eq!(sleep, LONGEST_SLEEP);
        assert_eq!(next_sleep(sleep, Flow::Steady), LONGEST_SLEEP);
        sleep = next_sleep(sleep, Flow::Torrent);
        assert_eq!(sleep, Duration::ZERO);
        assert_eq!(next_sleep(sleep, Flow::Steady), SHORTEST_SLEEP);
    }
}
