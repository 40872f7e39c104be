//! What the child says, item by item.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;

use lifetrace_transport::stream::{Decoder, Field, Head, Item, MOST_BYTES, Malformed};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recv, recvmsg};
use rustix::process::Pid;

/// A child that is at work says something many times a second, unless it is given no processor.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why there is no next item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The child has ended.
    Ended,
    /// It has said nothing for too long.
    Stuck,
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

/// Who says the first thing: the child, which its parent has made the connection for. `None` if nothing comes, or the system
/// does not say.
pub(super) fn sender(connection: &OwnedFd) -> Option<Pid> {
    // Without a limit one waits longer, that is all.
    let _ = set_socket_timeout(connection, Timeout::Recv, Some(PATIENCE));
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut room = [IoSliceMut::new(&mut byte)];
    recvmsg(connection, &mut room, &mut attached, RecvFlags::PEEK).ok()?;
    attached.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(credentials) => Some(credentials.pid),
        _ => None,
    })
}

/// Has `listen` hear of all that comes, until it wants no more or the child has ended.
///
/// # Errors
/// Why nothing more can be heard, or what `listen` fails with.
pub(super) fn hear<E: From<Stop>>(
    connection: &OwnedFd,
    mut listen: impl FnMut(Heard<'_>) -> Result<Wish, E>,
) -> Result<(), E> {
    // Without a limit one waits longer, that is all.
    let _ = set_socket_timeout(connection, Timeout::Recv, Some(PATIENCE));
    let mut room = vec![0; MOST_BYTES];
    let mut position: Decoder<'static> = Decoder::default();
    let (mut fields, mut block) = (Vec::new(), None);
    loop {
        let length = receive(connection, &mut room)?;
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

/// Length of the next packet.
fn receive(connection: &OwnedFd, room: &mut [u8]) -> Result<usize, Stop> {
    loop {
        match recv(connection, &mut *room, RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Err(Stop::Stuck),
            Ok((0, _)) | Err(_) => return Err(Stop::Ended),
            Ok((_, length)) => return Ok(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use lifetrace_transport::stream::{Encoder, Form};
    use rustix::net::{
        AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, connect, send,
        socket_with, socketpair,
    };
    use rustix::process::getpid;

    use super::*;

    /// What is heard of these packets, as text, and how it ends.
    fn heard(packets: &[Vec<u8>]) -> (Vec<String>, Result<(), Stop>) {
        let (flags, kind) = (SocketFlags::CLOEXEC, SocketType::SEQPACKET);
        let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None).unwrap();
        for packet in packets {
            send(&theirs, packet, SendFlags::empty()).unwrap();
        }
        drop(theirs);
        let mut all = Vec::new();
        let end = hear(&ours, |heard| {
            all.push(format!("{heard:?}"));
            Ok(if all.len() == 3 { Wish::Nothing } else { Wish::More })
        });
        (all, end)
    }

    /// A kind; a block, whose fields begin in a packet and end in the next one; a sample.
    fn packets() -> [Vec<u8>; 2] {
        let mut room = [0; 256];
        let mut encoder = Encoder::new(&mut room);
        encoder.put(&Item::Kind { form: Form::Fields, word: 0, name: b"x" });
        encoder.block(&Head { kind: 0, address: 64, bytes: 32, outside: 0 });
        encoder.field(Field::Next);
        let first = encoder.take().to_vec();
        encoder.field(Field::To(8));
        encoder.end_of_fields();
        encoder.put(&Item::Sample { id: 7, address: 64 });
        [first, encoder.take().to_vec()]
    }

    #[test]
    fn a_block_may_go_on_in_the_next_packet() {
        let (all, end) = heard(&packets());
        assert_eq!(end, Ok(()));
        assert!(all[1].contains("[Next, To(8)]"), "{all:?}");
        assert!(all[2].contains("Sample { id: 7"), "{all:?}");
    }

    #[test]
    fn an_end_and_nonsense_are_told() {
        let [first, second] = packets();
        let (all, end) = heard(std::slice::from_ref(&first));
        assert_eq!((all.len(), end), (1, Err(Stop::Ended)));
        assert_eq!(heard(&[vec![5, 1]]).1, Err(Stop::Malformed));
        let (all, end) = heard(&[first, second[..2].to_vec(), vec![0xff; 20]]);
        assert_eq!((all.len(), end), (2, Err(Stop::Malformed)));
    }

    /// What is accepted has from the listener that it says who has sent something.
    #[test]
    fn who_speaks_is_known_whoever_has_connected() {
        let name = format!("lifetrace-test-{}", std::process::id());
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
        let listener = crate::socket::listener(&address).unwrap();
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let client = socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
        connect(&client, &address).unwrap();
        send(&client, b"said", SendFlags::empty()).unwrap();
        let served = accept(&listener).unwrap();
        assert_eq!(sender(&served), Some(getpid()));
        // It is still there to be heard.
        let mut bytes = [0; 8];
        assert_eq!(recv(&served, &mut bytes[..], RecvFlags::empty()).unwrap().0, 4);
        drop(client);
        assert_eq!(sender(&served), None);
    }
}
