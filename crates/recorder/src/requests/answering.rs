//! The recorder's side of a request.

use std::os::fd::OwnedFd;

use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::asking::ROOM;
use super::release::Release;
use super::{listed, snapshot};
use crate::snapshots::Desk;

/// Reads one request, and answers it. What has been begun is finished before the recorder leaves.
pub(crate) fn answer(connection: &OwnedFd, desk: &Desk, release: &Release) {
    let mut bytes = vec![0; ROOM];
    let Ok((length, _)) = recv(connection, &mut bytes[..], RecvFlags::empty()) else { return };
    let _at_work = desk.begin_work();
    let packets = answer_to(&bytes[..length], desk, release);
    let packets =
        packets.unwrap_or_else(|| vec![b"failed\0the recorder is of another version".into()]);
    // Who has asked may have gone.
    let _ = packets
        .iter()
        .try_for_each(|packet| send(connection, packet, SendFlags::NOSIGNAL).map(drop));
}

/// The packets of the answer; `None` if the request is not understood.
fn answer_to(request: &[u8], desk: &Desk, release: &Release) -> Option<Vec<Vec<u8>>> {
    let fields: Vec<&[u8]> = request.split(|&byte| byte == 0).collect();
    let (word, rest) = fields.split_first()?;
    let answer = match (*word, rest) {
        (b"sessions", _) => return listed::answer(rest, &*release.progress),
        (b"detach", _) => release.answer(),
        (b"records", &[pid]) => snapshot::records(pid, desk),
        (b"snapshot", _) => snapshot::answer(rest, desk)?,
        _ => return None,
    };
    Some(vec![answer])
}
