//! The observer, at work on this very process.

use super::*;
use crate::process::ProcessImage;

fn wait_for(notes: &Notes, wanted: impl Fn(&Fact) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !notes.take().iter().any(|note| wanted(&note.fact)) {
        assert!(Instant::now() < deadline, "no such fact has been noted");
        std::thread::yield_now();
    }
}

fn title(pid: Pid) -> Title {
    Title::of(&ProcessImage::read(pid))
}

#[test]
fn counters_and_names_come_by_themselves() {
    let observer = ObserverHandle::start(Some(Duration::from_millis(5)), None).unwrap();
    let (pid, notes) = (rustix::process::getpid(), Notes::default());
    observer.watch(Image::of(pid), title(pid), notes.clone());
    wait_for(&notes, |fact| matches!(fact, Fact::Counters(it) if it.resident.is_some()));
    wait_for(&notes, |_| notes.peak(monotonic_now()).is_some_and(|peak| peak.0 > 0));
    let os_id = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    observer.thread_started(pid, ThreadId(3), os_id);
    wait_for(&notes, |fact| matches!(fact, Fact::ThreadName(it) if it.thread.0 == 3));
}

#[test]
fn names_without_counters() {
    let observer = ObserverHandle::start(None, None).unwrap();
    let (pid, notes) = (rustix::process::getpid(), Notes::default());
    observer.watch(Image::of(pid), title(pid), notes.clone());
    let os_id = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    observer.thread_started(pid, ThreadId(3), os_id);
    wait_for(&notes, |fact| !matches!(fact, Fact::Counters(_)));
}

/// However a process sleeps, and whenever it ends after its first moments.
#[test]
fn little_of_a_process_passes_unseen() {
    let interval = Duration::from_millis(100);
    let (mut watched, mut step, mut longest) = (Duration::ZERO, 1, Duration::ZERO);
    while watched < interval * 1000 {
        let rest = rest(interval, step, watched);
        assert!(rest <= interval || rest <= (watched + rest) / UNSEEN, "{rest:?} at {watched:?}");
        (watched, longest) = (watched + rest, longest.max(rest));
        step = (step * 2).min(SLEEPIEST);
    }
    assert_eq!(longest, interval * SLEEPIEST);
}
