//! Processes whose sessions begin in the midst of their lives: their recorder was away, or came later than they.

use std::time::Duration;

use lifetrace_transport::handshake::Origin;

use crate::notice::Notice;

/// What a trace says of that, if its process says that it is so.
pub(crate) fn notice(origin: Origin) -> Option<Notice> {
    let Origin::Late(late) = origin else { return None };
    Some(match late.unheard.0 {
        0 => Notice::BeganLate(None),
        millis => Notice::Unheard(Duration::from_millis(millis)),
    })
}
