//! What Rust's run time changes before `main`, as it was. \[UNSAFE\]
//!
//! It opens `/dev/null` in place of standard streams that are closed, and ignores SIGPIPE. Both are
//! good for us, and not for the command, which is to get what whoever started us meant for it. So a
//! function that runs before the run time does takes note.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);

/// The standard streams that were closed when this process began.
pub(crate) fn closed_streams() -> impl Iterator<Item = i32> {
    (0..).zip(&CLOSED).filter(|(_, closed)| closed.load(Ordering::Relaxed)).map(|(fd, _)| fd)
}

/// Whether SIGPIPE was ignored when this process began.
pub(crate) fn ignored_sigpipe() -> bool {
    SIGPIPE_IGNORED.load(Ordering::Relaxed)
}

/// Has the kernel keep the ends of our children for us, even if whoever started us ignores SIGCHLD:
/// the command ignores it then, too, so this is for after its start.
pub(crate) fn keep_ends_of_children() {
    // SAFETY: restores the default action, and nobody in this process has another one.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

#[used]
#[unsafe(link_section = ".init_array")]
static TAKE_NOTE: extern "C" fn() = take_note;

extern "C" fn take_note() {
    for (descriptor, closed) in (0..).zip(&CLOSED) {
        // SAFETY: asks about a number, whatever it stands for.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        closed.store(flags == -1, Ordering::Relaxed);
    }
    // SAFETY: all-zero is a valid sigaction, into which the kernel's is written.
    let pipe = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action);
        action
    };
    SIGPIPE_IGNORED.store(pipe.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
}
