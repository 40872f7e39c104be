//! What the recorder is told of pages.

use lifetrace_agent::context;
use lifetrace_agent::guard::{self, Entered, Entry};
use lifetrace_transport::message::{BacktraceDelta, Body, Frames, Place, SourceKind, Step};

use crate::interpose::Malloc;
use crate::{sample, unwind};

pub(super) const PAGE: usize = 4096;

/// Of the pages that lie wholly or in part behind `start`, and not behind `end`.
#[cold]
#[inline(never)]
pub(super) fn say_between(step: Step, start: usize, end: usize) {
    let (start, end) = (round_up(start, PAGE), round_up(end, PAGE));
    if start < end {
        say(step, start, end - start);
    }
}

/// Whether the system takes that for pages.
pub(super) fn is_whole(start: usize, bytes: usize) -> bool {
    start.is_multiple_of(PAGE) && bytes != 0
}

pub(super) fn round_up(bytes: usize, page: usize) -> usize {
    bytes.checked_next_multiple_of(page).unwrap_or(bytes)
}

/// Tells the recorder. A thread that is in the agent cannot; that is counted.
#[cold]
#[inline(never)]
pub(super) fn say(step: Step, start: usize, bytes: usize) {
    let Entry::Recording(mut entered) = sample::enter_started(&Malloc) else {
        return guard::count_lost_birth();
    };
    let pages = Place::new(start as u64, bytes as u64);
    match step {
        // What is allocated now is not of interest, but what was there before is.
        Step::Mapped | Step::Opened if entered.session().header.paused() => {
            bare(&mut entered, Step::Unmapped, pages);
        }
        Step::Mapped | Step::Opened | Step::Landed => {
            unwind::capture(&mut entered, 0);
            context::refresh(&mut entered);
            entered.send_with_backtrace(SourceKind::Malloc, |backtrace| Body::Pages {
                step,
                pages,
                backtrace,
            });
        }
        _ => bare(&mut entered, step, pages),
    }
}

/// Without a backtrace.
fn bare(entered: &mut Entered, step: Step, pages: Place) {
    let backtrace = BacktraceDelta { shared: 0, fresh: Frames::Words(&[]), truncated: false };
    entered.send(Body::Pages { step, pages, backtrace });
}
