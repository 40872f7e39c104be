//! Signals while a command is recorded.
//!
//! The terminal sends SIGINT and SIGQUIT to the command as well as to us: it decides what they
//! mean, and we go on. SIGTERM and SIGHUP are passed on to it. Signals that whoever started us
//! wants ignored stay so, for us and for the command. A trace that exceeds the limit of files' sizes is
//! an error like a full disk, not a death by SIGXFSZ. Once the command has ended, each of them ends
//! the recording of what it has left behind; so does Ctrl-C twice in quick succession, at any time.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lifetrace_recorder::Control;
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, iterator};

use super::snapshots::SnapshotSignal;

/// Two Ctrl-C within this time mean us.
const QUICK: Duration = Duration::from_secs(1);

/// Signals that are caught, and wait for somebody to attend to them.
pub(in super::super) struct Signals {
    caught: iterator::Signals,
    /// Which of them means a snapshot.
    snapshot: Option<i32>,
}

/// Somebody attends to them.
pub(super) struct Attended {
    command_has_ended: Arc<AtomicBool>,
}

impl Signals {
    /// To be called before the command starts: executing it gives it the default actions again.
    ///
    /// # Errors
    /// The system's.
    pub(in super::super) fn catch(snapshot: Option<SnapshotSignal>) -> io::Result<Signals> {
        let ignored = ignored_signals(&fs::read_to_string("/proc/self/status").unwrap_or_default());
        // Its handler sets a flag that nobody reads: then the write fails.
        flag::register(Signal::XFSZ.as_raw(), Arc::default())?;
        let caught = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];
        let caught = caught.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
        let snapshot = snapshot.map(|SnapshotSignal(signal)| signal);
        let caught = iterator::Signals::new(caught.chain(snapshot))?;
        Ok(Signals { caught, snapshot })
    }

    /// Has those passed on that are not sent to the whole terminal.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn pass_on(mut self, forward: impl Fn(i32) + Send + 'static) -> io::Result<()> {
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            let signals = self.caught.forever();
            signals.filter(|signal| matches!(*signal, SIGTERM | SIGHUP)).for_each(forward);
        })?;
        Ok(())
    }

    /// Has each of them end the recording of a process that is not ours.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(in super::super) fn end_recording(mut self, control: Control) -> io::Result<()> {
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            let mut snapshots = Snapshots::default();
            for signal in self.caught.forever() {
                match Some(signal) == self.snapshot {
                    true => snapshots.take(&control),
                    false => control.stop(),
                }
            }
        })?;
        Ok(())
    }

    /// # Errors
    /// When no thread can be started.
    pub(super) fn attend(mut self, control: Control) -> io::Result<Attended> {
        let command_has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&command_has_ended);
        let mut last_interrupt = None;
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            let mut snapshots = Snapshots::default();
            for signal in self.caught.forever() {
                let again = signal == SIGINT && is_quick(last_interrupt.replace(Instant::now()));
                if Some(signal) == self.snapshot {
                    snapshots.take(&control);
                } else if again || ended.load(Ordering::Acquire) {
                    control.stop();
                } else if matches!(signal, SIGTERM | SIGHUP) {
                    control.forward(signal);
                }
            }
        })?;
        Ok(Attended { command_has_ended })
    }
}

/// Those that a signal asks for: they take time, in which other signals are to be heard.
#[derive(Default)]
struct Snapshots(Option<JoinHandle<()>>);

impl Snapshots {
    /// While they are being taken, another signal is one too many.
    fn take(&mut self, control: &Control) {
        if self.0.as_ref().is_none_or(JoinHandle::is_finished) {
            let control = control.clone();
            let builder = std::thread::Builder::new().name("snapshots".into());
            self.0 = builder.spawn(move || control.snapshot_all("signal")).ok();
        }
    }
}

impl Attended {
    pub(super) fn command_has_ended(&self) {
        self.command_has_ended.store(true, Ordering::Release);
    }
}

fn is_quick(last: Option<Instant>) -> bool {
    last.is_some_and(|last| last.elapsed() < QUICK)
}

/// The set of signals that a process ignores; signal N is bit N - 1.
fn ignored_signals(status: &str) -> u64 {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_bits() {
        assert_eq!(ignored_signals("SigBlk:\t00ff\nSigIgn:\t0000000000001001\n"), 0x1001);
        assert_eq!(ignored_signals("potato"), 0);
        assert_eq!(ignored_signals("SigIgn:\tpotato"), 0);
    }

    /// Rust's runtime ignores SIGPIPE, number 13, and no other.
    #[test]
    fn our_own_are_found() {
        let own = ignored_signals(&fs::read_to_string("/proc/self/status").unwrap());
        assert_eq!(own & 1 << 12, 1 << 12);
    }

    #[test]
    fn quick_is_within_a_second() {
        assert!(!is_quick(None));
        assert!(is_quick(Some(Instant::now())));
        assert!(!is_quick(Instant::now().checked_sub(QUICK)));
    }
}
