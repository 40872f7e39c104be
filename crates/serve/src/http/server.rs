//! Connections until their requests are whole, and who answers these.
//!
//! One thread waits for all connections at once, so that those that say nothing cost no thread. When there are too many the
//! one that has waited longest goes: whoever has something to say has said it by then. Each whole request has a thread of
//! its own until it is answered; there are [`MOST_ANSWERS`] of these at most.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use super::listener::Listener;
use super::peer;
use super::request::{self, Head, Method, Request};
use super::response::Response;
use super::stream::Stream;

/// Connections whose requests are not whole yet.
const MOST_WAITING: usize = 256;

/// Requests that are being answered.
const MOST_ANSWERS: usize = 32;

/// Within this time a request is whole, and each piece of an answer is taken.
const PATIENCE: Duration = Duration::from_secs(10);

/// The system has no descriptors left: it may have some again then.
const PAUSE: Duration = Duration::from_millis(200);

/// Who answers.
pub trait Site: Send + Sync + 'static {
    /// The answer to a request. It may take its time: others are answered meanwhile.
    fn answer(&self, request: &Request) -> Response;

    /// Whether other users' processes are answered as well; if not, they are refused whatever they know.
    fn is_for_all_users(&self) -> bool {
        false
    }

    /// Somebody has got no answer of the site's.
    fn note(&self, _refused: Refused) {}
}

/// Why somebody has got no answer of a site's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is another user's process.
    User,
    /// It has sent no request.
    Malformed,
    /// Too many are being answered, or wait.
    Busy,
    /// The answer could not be made: that is a fault of ours.
    Failed,
}

/// Ends a server; clones end the same.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Ending>);

#[derive(Debug)]
struct Ending {
    is_over: AtomicBool,
    bell: OwnedFd,
}

impl Stop {
    /// Of a server that is to go on.
    ///
    /// # Errors
    /// If there are no descriptors left.
    pub fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Ending { is_over: AtomicBool::new(false), bell })))
    }

    /// Lets nobody in any more. Returns at once; what is being answered is still answered.
    pub fn raise(&self) {
        self.0.is_over.store(true, Ordering::Release);
        // It can only fail if it has rung very often.
        let _ = rustix::io::write(&self.0.bell, &1u64.to_ne_bytes());
    }

    fn is_raised(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }
}

/// A connection whose request is not whole yet.
struct Waiting {
    stream: Stream,
    bytes: Vec<u8>,
    since: Instant,
}

/// Serves a site until it is stopped.
pub fn serve(listener: &Listener, site: &Arc<dyn Site>, stop: &Stop) {
    let (mut waiting, busy) = (Vec::<Waiting>::new(), Arc::new(AtomicUsize::new(0)));
    while !stop.is_raised() {
        let (is_knocked, ready) = wait(listener, &waiting, stop);
        let pairs = waiting.into_iter().zip(ready);
        let heard = pairs.filter_map(|(one, ready)| match ready {
            true => one.hear(site, &busy),
            false => Some(one),
        });
        waiting = heard.filter(|one| one.since.elapsed() < PATIENCE).collect();
        if is_knocked {
            let_in(listener, site, &mut waiting);
        }
    }
}

/// Waits until there is something to do: whether somebody knocks, and who of those that wait has said something.
fn wait(listener: &Listener, waiting: &[Waiting], stop: &Stop) -> (bool, Vec<bool>) {
    let until = waiting.iter().map(|one| one.since + PATIENCE).min();
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let timeout = left.map(|left| Timespec {
        tv_sec: left.as_secs() as i64,
        // A little later than too early, again and again.
        tv_nsec: i64::from(left.subsec_nanos().max(1_000_000)),
    });
    let streams = waiting.iter().map(|one| one.stream.as_fd());
    let all = [stop.0.bell.as_fd(), listener.as_fd()].into_iter().chain(streams);
    let mut polled: Vec<_> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    if poll(&mut polled, timeout.as_ref()).is_err_and(|error| error != Errno::INTR) {
        thread::sleep(PAUSE);
    }
    let mut ready = polled.iter().map(|one| !one.revents().is_empty()).skip(1);
    (ready.next().unwrap_or(false), ready.collect())
}

/// Takes all who knock. Other users' get a word and go; with too many the oldest goes.
fn let_in(listener: &Listener, site: &Arc<dyn Site>, waiting: &mut Vec<Waiting>) {
    for _ in 0..MOST_WAITING {
        let stream = match listener.accept() {
            Ok(stream) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
            Err(_) => return thread::sleep(PAUSE),
        };
        if stream.set_nonblocking(true).is_err() {
            continue;
        }
        if !site.is_for_all_users() && !peer::is_ours(&stream) {
            site.note(Refused::User);
            let why = "is for the processes of the collector's user, and root's";
            dismiss(stream, Response::refusal(403, why));
            continue;
        }
        if waiting.len() >= MOST_WAITING {
            waiting.remove(0);
            site.note(Refused::Busy);
        }
        waiting.push(Waiting { stream, bytes: Vec::new(), since: Instant::now() });
    }
}

/// Says a word to whoever gets nothing else: as much of it as is taken at once.
fn dismiss(mut stream: Stream, response: Response) {
    // What it has sent is taken, so that it hears the word before the end.
    let _ = stream.read(&mut [0; 4096]);
    let _ = response.write(&mut stream, true);
    stream.finish();
}

impl Waiting {
    /// Takes what it says; it waits on if that is not all.
    fn hear(mut self, site: &Arc<dyn Site>, busy: &Arc<AtomicUsize>) -> Option<Self> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => return None,
            Ok(read) => self.bytes.extend_from_slice(&buffer[..read]),
            Err(error) if is_for_now(&error) => return Some(self),
            Err(_) => return None,
        }
        match request::read(&self.bytes) {
            Head::Partial => return Some(self),
            Head::Whole(request) => begin(self.stream, *request, site, busy),
            Head::Malformed => {
                site.note(Refused::Malformed);
                dismiss(self.stream, Response::refusal(400, "this is no request without a body"));
            }
        }
        None
    }
}

fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Begins to answer, if that can be done now.
fn begin(stream: Stream, request: Request, site: &Arc<dyn Site>, busy: &Arc<AtomicUsize>) {
    let seat = Seat::take(busy);
    if busy.load(Ordering::Relaxed) > MOST_ANSWERS {
        site.note(Refused::Busy);
        return dismiss(stream, Response::later("too much is being asked at once", 1));
    }
    let site = Arc::clone(site);
    let answer = move || {
        let _seat = seat;
        // Whoever goes away does without an answer.
        let _ = answer(stream, &request, &*site);
    };
    // Without a thread the connection ends.
    let _ = thread::Builder::new().name("http-answer".to_owned()).spawn(answer);
}

fn answer(mut stream: Stream, request: &Request, site: &dyn Site) -> io::Result<()> {
    let made = catch_unwind(AssertUnwindSafe(|| site.answer(request)));
    let response = made.unwrap_or_else(|_| {
        site.note(Refused::Failed);
        Response::refusal(500, "the answer could not be made; that is a fault of Lifetrace")
    });
    stream.set_nonblocking(false)?;
    stream.set_patience(PATIENCE)?;
    response.write(&mut stream, request.method != Method::Head)?;
    stream.finish();
    Ok(())
}

/// One of those that are being answered.
struct Seat(Arc<AtomicUsize>);

impl Seat {
    fn take(busy: &Arc<AtomicUsize>) -> Self {
        busy.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(busy))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{SocketAddr, TcpStream};
    use std::sync::mpsc::{Sender, channel};

    use super::super::Address;
    use super::super::request::LONGEST;
    use super::*;

    /// Says what was asked for; whoever asks for `/slow` waits until a sender is dropped.
    struct Echo(std::sync::Mutex<std::sync::mpsc::Receiver<()>>);

    impl Site for Echo {
        fn answer(&self, request: &Request) -> Response {
            match request.path.as_str() {
                "/slow" => drop(self.0.lock().unwrap().recv()),
                "/fault" => panic!("as asked for"),
                _ => {}
            }
            Response::ok("text/plain", request.path.clone().into_bytes())
        }
    }

    struct Served {
        address: SocketAddr,
        stop: Stop,
        thread: Option<thread::JoinHandle<()>>,
        slow: Option<Sender<()>>,
    }

    impl Served {
        fn new() -> Self {
            let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
            let Address::Loopback(address) = *listener.address() else { panic!() };
            let (slow, wait) = channel();
            let site: Arc<dyn Site> = Arc::new(Echo(wait.into()));
            let stop = Stop::new().unwrap();
            let told = stop.clone();
            let thread = Some(thread::spawn(move || serve(&listener, &site, &told)));
            Self { address, stop, thread, slow: Some(slow) }
        }

        fn send(&self, text: &str) -> TcpStream {
            let mut stream = TcpStream::connect(self.address).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        }

        fn ask(&self, path: &str) -> String {
            hear(self.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")))
        }
    }

    impl Drop for Served {
        fn drop(&mut self) {
            self.slow = None;
            self.stop.raise();
            self.thread.take().unwrap().join().unwrap();
        }
    }

    fn hear(mut stream: TcpStream) -> String {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    #[test]
    fn who_asks_is_answered() {
        let served = Served::new();
        assert!(served.ask("/x").ends_with("\r\n\r\n/x"));
        assert!(hear(served.send("nonsense\r\n\r\n")).starts_with("HTTP/1.1 400 "));
        let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(LONGEST));
        assert!(hear(served.send(&long)).starts_with("HTTP/1.1 400 "));
        let head = hear(served.send("HEAD /x HTTP/1.1\r\n\r\n"));
        assert!(head.contains("Content-Length: 2\r\n") && head.ends_with("\r\n\r\n"));
    }

    /// In pieces, beside hundreds that say nothing, more than are kept.
    #[test]
    fn those_who_say_nothing_hold_nobody_up() {
        let served = Served::new();
        let idle: Vec<_> = (0..600).map(|_| served.send("GET / HT")).collect();
        for _ in 0..10 {
            assert!(served.ask("/x").ends_with("/x"));
        }
        let mut slow = served.send("GET /in/pie");
        assert!(served.ask("/x").ends_with("/x"));
        slow.write_all(b"ces HTTP/1.1\r\n\r\n").unwrap();
        assert!(hear(slow).ends_with("/in/pieces"));
        drop(idle);
    }

    #[test]
    fn with_too_many_answers_under_way_one_is_to_come_again() {
        let served = Served::new();
        let ask = "GET /slow HTTP/1.1\r\n\r\n";
        let slow: Vec<_> = (0..MOST_ANSWERS).map(|_| served.send(ask)).collect();
        let mut refused = String::new();
        while !refused.starts_with("HTTP/1.1 503 ") {
            refused = served.ask("/x");
        }
        assert!(refused.contains("Retry-After: 1\r\n"), "{refused}");
        for _ in &slow {
            served.slow.as_ref().unwrap().send(()).unwrap();
        }
        slow.into_iter().for_each(|one| assert!(hear(one).ends_with("/slow")));
    }

    #[test]
    fn a_fault_of_the_sites_is_no_end() {
        let served = Served::new();
        assert!(served.ask("/fault").starts_with("HTTP/1.1 500 "));
        assert!(served.ask("/x").ends_with("/x"));
    }
}
