//! An object's class, as the innermost frame of its backtrace. \[UNSAFE\]
//!
//! Classes have numbers and names as frames do. Their names are had at once and whole, so nothing waits for them.

use lifetrace_agent::sender::Sender;
use lifetrace_transport::message::{Body, FrameName};

use crate::numbers::Key;
use crate::vm::{Value, Vm};
use crate::{kind, terms};

/// Bytes of a class's name; the rest of a longer one is cut off.
const MOST: usize = 200;

/// That of a class, or of one of the machine's own types, which have none: such a key has no object.
///
/// # Safety
/// The object of an event of a new one, in its hook.
pub(crate) unsafe fn key(vm: &Vm, object: Value) -> Key {
    // SAFETY: by contract.
    unsafe {
        match vm.classes.of(object) {
            Some(class) => Key::new(class, 0),
            None => Key::new(0, kind::of(object) as i32),
        }
    }
}

/// Whether that is a key of a class.
///
/// # Safety
/// Its object is alive, if there is one.
pub(crate) unsafe fn is_one(key: Key) -> bool {
    // SAFETY: by contract. A frame's object is of one of the machine's own types.
    key.object() == 0 || unsafe { kind::is_class(key.object()) }
}

/// Reports the name of a class; whether that was taken.
///
/// # Safety
/// The machine's lock is the caller's, and the class alive.
pub(crate) unsafe fn send_name(vm: &Vm, sender: &mut Sender<'_>, key: Key, number: u32) -> bool {
    let mut text = Text::default();
    text.push(b"[class ");
    // SAFETY: by contract.
    match (key.object() != 0).then(|| unsafe { vm.classes.name(key.object()) }) {
        Some(Some((name, true))) => text.push(name),
        Some(Some((name, false))) => {
            text.push(b"anonymous, of ");
            text.push(name);
        }
        Some(None) => text.push(b"anonymous"),
        None => {
            text.push(b"internal ");
            text.push(kind::name(key.line()).as_bytes());
        }
    }
    text.push(b"]");
    sender.send(Body::FrameName(FrameName {
        frame: number.into(),
        kind: terms::CLASS,
        is_first: true,
        is_last: true,
        line: 0,
        start_char: 0,
        end_char: 0,
        function: text.bytes(),
        file: b"",
    }))
}

/// A name under construction.
struct Text {
    bytes: [u8; MOST + 1],
    length: usize,
}

impl Default for Text {
    fn default() -> Text {
        Text { bytes: [0; MOST + 1], length: 0 }
    }
}

impl Text {
    /// As much of it as there is room for; one byte always is, for the end.
    fn push(&mut self, more: &[u8]) {
        let room = if more.len() == 1 { MOST + 1 } else { MOST } - self.length;
        let more = &more[..more.len().min(room)];
        self.bytes[self.length..self.length + more.len()].copy_from_slice(more);
        self.length += more.len();
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_has_its_end() {
        let mut text = Text::default();
        text.push(b"[class ");
        text.push(&[b'x'; 300]);
        text.push(b"more");
        text.push(b"]");
        assert_eq!(text.bytes().len(), MOST + 1);
        assert!(text.bytes().starts_with(b"[class xx") && text.bytes().ends_with(b"x]"));
    }
}
