//! What the child says, item by item.

use std::os::fd::OwnedFd;

use lifetrace_transport::stream::{Decoder, Field, Head, Item, MOST_BYTES, Malformed};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// Why there is no next item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The child has ended.
    Ended,
    /// What it says makes no sense.
    Malformed,
}

impl From<Malformed> for Stop {
    fn from(_: Malformed) -> Stop {
        Stop::Malformed
    }
}

/// What a listener hears.
#[derive(Debug)]
pub(super) enum Heard<'a> {
    /// Anything but a block.
    Item(Item<'a>),
    /// A block with its fields.
    Block(Head, &'a [Field]),
}

/// Has `listen` hear of all that comes, until it wants no more or the child has ended.
///
/// # Errors
/// Why nothing more can be heard, or what `listen` fails with.
pub(super) fn hear<E: From<Stop>>(
    connection: &OwnedFd,
    mut listen: impl FnMut(Heard<'_>) -> Result<Wish, E>,
) -> Result<(), E> {
    let mut room = vec![0; MOST_BYTES];
    let mut position: Decoder<'static> = Decoder::default();
    let (mut fields, mut block) = (Vec::new(), None);
    loop {
        let length = receive(connection, &mut room).ok_or(Stop::Ended)?;
        let mut decoder = position.next_packet(&room[..length]);
        while !decoder.is_used_up() {
            let wish = match block.take() {
                Some(head) => match take_fields(&mut decoder, &mut fields).map_err(Stop::from)? {
                    true => listen(Heard::Block(head, &fields))?,
                    false => {
                        block = Some(head);
                        Wish::More
                    }
                },
                None => match decoder.item().map_err(Stop::from)? {
                    Some(Item::Block(head)) => {
                        fields.clear();
                        block = Some(head);
                        Wish::More
                    }
                    Some(item) => listen(Heard::Item(item))?,
                    None => Wish::More,
                },
            };
            if wish == Wish::Nothing {
                return Ok(());
            }
        }
        position = decoder.next_packet(&[]);
    }
}

/// What a listener wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    More,
    Nothing,
}

/// Whether these were all.
fn take_fields(decoder: &mut Decoder<'_>, fields: &mut Vec<Field>) -> Result<bool, Malformed> {
    while !decoder.is_used_up() {
        match decoder.field()? {
            Some(field) => fields.push(field),
            None => return Ok(true),
        }
    }
    Ok(false)
}

/// Length of the next packet; none when the child has ended.
fn receive(connection: &OwnedFd, room: &mut [u8]) -> Option<usize> {
    loop {
        match recv(connection, &mut *room, RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            result => return result.ok().map(|(length, _)| length).filter(|&length| length > 0),
        }
    }
}
