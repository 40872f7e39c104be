//! Kinds of memory, and their names in a session.
//!
//! They are few and stay. A list is never changed but replaced, so that nobody waits for it, a forked
//! child least of all.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use lifetrace_agent::guard::Entered;
use lifetrace_transport::message::{FrameKind, FrameName, MemoryKind};

use crate::hooks::aside;
use crate::name_once::NameOnce;

#[derive(Debug)]
struct Kind {
    name: &'static str,
    /// In brackets.
    label: String,
    sent: NameOnce,
}

type Kinds = Vec<Arc<Kind>>;

/// By number.
static KINDS: ArcSwapOption<Kinds> = ArcSwapOption::const_empty();

/// The last kind stands for all that there is no room for.
const OTHER: &str = "other";

/// The number of the kind with that name, which the session knows then; `None` if it cannot be sent.
pub(crate) fn send_name(at: &mut Entered, name: &'static str) -> Option<MemoryKind> {
    aside(|| {
        let (number, kind) = of_name(name);
        let number = MemoryKind::new(number)?;
        let name = FrameName {
            frame: number.frame(),
            kind: FrameKind::default(),
            is_first: true,
            is_last: true,
            line: 0,
            start_char: 0,
            end_char: 0,
            function: kind.label.as_bytes(),
            file: b"",
        };
        kind.sent.send(at, name);
        Some(number)
    })
}

/// What a kind was called.
pub(crate) fn name(kind: MemoryKind) -> &'static str {
    let kinds = KINDS.load();
    kinds
        .as_ref()
        .and_then(|kinds| kinds.get(usize::from(kind.number())))
        .map_or(OTHER, |it| it.name)
}

fn of_name(name: &'static str) -> (u16, Arc<Kind>) {
    if let Some(known) = KINDS.load().as_ref().and_then(|kinds| find(kinds, name)) {
        return known;
    }
    KINDS.rcu(|kinds| {
        let mut kinds = kinds.as_deref().cloned().unwrap_or_default();
        if find(&kinds, name).is_none() {
            let name = if kinds.len() + 1 < usize::from(MemoryKind::MOST) { name } else { OTHER };
            kinds.push(Arc::new(Kind { name, label: format!("[{name}]"), sent: NameOnce::new() }));
        }
        Some(Arc::new(kinds))
    });
    let kinds = KINDS.load();
    let found = kinds.as_ref().and_then(|kinds| find(kinds, name));
    found.unwrap_or_else(|| unreachable!("a kind that was just added"))
}

/// If there is no room for more, any name is that of the last.
fn find(kinds: &Kinds, name: &str) -> Option<(u16, Arc<Kind>)> {
    let is_full = kinds.len() == usize::from(MemoryKind::MOST);
    let found = kinds.iter().position(|kind| kind.name == name);
    let index = found.or_else(|| is_full.then(|| kinds.len() - 1))?;
    Some((index as u16, Arc::clone(&kinds[index])))
}
