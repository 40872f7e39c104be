//! Processes whose sessions begin in the midst of their lives: their recorder was away, or came later than they.

use std::time::Duration;

use lifetrace_transport::handshake::{Origin, Unheard};

use crate::notice::Notice;

/// What a trace says of that, if its process says that it is so.
pub(crate) fn notice(origin: Origin) -> Option<Notice> {
    match origin {
        Origin::Late(Unheard(0)) => Some(Notice::BeganLate(None)),
        Origin::Late(Unheard(millis)) => Some(Notice::Unheard(Duration::from_millis(millis))),
        Origin::Exec | Origin::Fork => None,
    }
}
