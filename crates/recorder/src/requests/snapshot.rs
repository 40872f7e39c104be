//! A snapshot that a command asks for.
//!
//! ```text
//! records\0PID                                              whether that process is one of the recorder's
//! yes, no
//! snapshot\0PID\0PATH\0CAUSE\0OVERWRITE\0MEMORY\0PATIENCE      the path may be empty; numbers are decimal
//! saved\0PATH\0BLOCKS\0BYTES\0PAUSE\0CPU\0MEMORY\0COPIED\0LENGTH    nanoseconds, bytes; COPIED may be empty
//! looked\0TRACE           there is no heap of objects; it is looked through for lost blocks
//! failed\0WHY
//! ```

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Pid;

use super::asking::{AskError, exchange, socket_in};
use crate::snapshots::{Desk, SavedSnapshot, SnapshotError, SnapshotWish};
use crate::socket;

/// What a recorder has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// A snapshot is saved.
    Saved(SavedSnapshot),
    /// The process has no heap of objects, so it is looked through for lost blocks; what is found will be in this trace.
    Looked(PathBuf),
}

/// Has the recorder of a process take a snapshot of it, and waits until it is saved.
///
/// # Errors
/// [`AskError`].
pub fn ask(pid: u32, wish: &SnapshotWish) -> Result<Done, AskError> {
    let no_process = |error| AskError::NoProcess { pid, error };
    let environment = std::fs::read(format!("/proc/{pid}/environ")).map_err(no_process)?;
    let socket = socket_in(&environment).or_else(|| recorder_of(pid));
    let socket = socket.ok_or(AskError::NotRecorded(pid))?;
    let answer = exchange(&socket, &request(pid, wish));
    let answer = answer.map_err(|error| AskError::NoRecorder { pid, error })?;
    understand(&answer)
}

/// Servers that call themselves something else (redis, postgres, puma) write over their environment; so each recorder
/// is asked.
fn recorder_of(pid: u32) -> Option<PathBuf> {
    let question = [b"records", pid.to_string().as_bytes()].join(&0);
    socket::within_reach().find(|socket| exchange(socket, &question).is_ok_and(|it| it == b"yes"))
}

/// The recorder's side: whether a process is one of its own.
pub(super) fn records(pid: &[u8], desk: &Desk) -> Vec<u8> {
    let is_ours = process(pid).is_some_and(|pid| desk.records(pid));
    if is_ours { b"yes".into() } else { b"no".into() }
}

fn request(pid: u32, wish: &SnapshotWish) -> Vec<u8> {
    let path = wish.path.as_deref().unwrap_or("".as_ref()).as_os_str().as_bytes();
    let numbers = [u64::from(wish.overwrite), wish.memory, wish.patience.as_millis() as u64];
    let mut fields = vec![b"snapshot".to_vec(), pid.to_string().into_bytes()];
    fields.extend([path, wish.cause.as_bytes()].map(<[u8]>::to_vec));
    fields.extend(numbers.map(|number| number.to_string().into_bytes()));
    fields.join(&0)
}

fn understand(answer: &[u8]) -> Result<Done, AskError> {
    let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    match fields[..] {
        [b"failed", why] => Err(AskError::Refused(text(why))),
        [b"looked", trace] => Ok(Done::Looked(OsString::from_vec(trace.to_vec()).into())),
        [b"saved", path, ref numbers @ ..] => {
            let number = |at: usize| numbers.get(at).and_then(|it| text(it).parse::<u64>().ok());
            let whole = |at: usize| number(at).unwrap_or(0);
            Ok(Done::Saved(SavedSnapshot {
                path: OsString::from_vec(path.to_vec()).into(),
                blocks: whole(0),
                bytes: whole(1),
                pause: Duration::from_nanos(whole(2)),
                cpu: Duration::from_nanos(whole(3)),
                memory: whole(4),
                copied: number(5),
                file_bytes: whole(6),
            }))
        }
        _ => Err(AskError::Refused(format!("the recorder answers {:?}", text(answer)))),
    }
}

/// The recorder's side: what follows after `snapshot`, and the answer; `None` if it is not understood.
pub(super) fn answer(fields: &[&[u8]], desk: &Desk) -> Option<Vec<u8>> {
    let (pid, wish) = parse(fields)?;
    Some(done(pid, &wish, desk))
}

fn done(pid: Pid, wish: &SnapshotWish, desk: &Desk) -> Vec<u8> {
    match desk.take(pid, wish) {
        Ok(saved) => told(&saved),
        Err(error @ SnapshotError::NotSampled(_)) => match desk.look(pid) {
            Some(trace) => [b"looked", trace.as_os_str().as_bytes()].join(&0),
            None => refused(&error),
        },
        Err(error) => refused(&error),
    }
}

fn refused(error: &SnapshotError) -> Vec<u8> {
    [b"failed", error.to_string().as_bytes()].join(&0)
}

fn parse(fields: &[&[u8]]) -> Option<(Pid, SnapshotWish)> {
    let &[pid, path, cause, overwrite, memory, patience] = fields else { return None };
    let number = |field| str::from_utf8(field).ok()?.parse::<u64>().ok();
    let path = (!path.is_empty()).then(|| OsString::from_vec(path.to_vec()).into());
    let wish = SnapshotWish {
        cause: String::from_utf8_lossy(cause).into_owned(),
        path,
        overwrite: number(overwrite)? != 0,
        memory: number(memory)?,
        patience: Duration::from_millis(number(patience)?),
    };
    Some((process(pid)?, wish))
}

fn process(field: &[u8]) -> Option<Pid> {
    Pid::from_raw(str::from_utf8(field).ok()?.parse().ok()?)
}

fn told(saved: &SavedSnapshot) -> Vec<u8> {
    let nanos = |duration: Duration| (duration.as_nanos() as u64).to_string();
    let numbers = [
        saved.blocks.to_string(),
        saved.bytes.to_string(),
        nanos(saved.pause),
        nanos(saved.cpu),
        saved.memory.to_string(),
        saved.copied.map_or_else(String::new, |bytes| bytes.to_string()),
        saved.file_bytes.to_string(),
    ];
    let path = saved.path.as_os_str().as_bytes();
    let mut fields = vec![b"saved".to_vec(), path.to_vec()];
    fields.extend(numbers.into_iter().map(String::into_bytes));
    fields.join(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_come_back() {
        let wish = SnapshotWish {
            cause: "asked for".into(),
            path: Some("/tmp/a b.lth".into()),
            overwrite: true,
            memory: 1 << 30,
            patience: Duration::from_secs(10),
        };
        let asked = request(77, &wish);
        let fields: Vec<&[u8]> = asked.split(|&byte| byte == 0).collect();
        let (pid, parsed) = parse(&fields[1..]).unwrap();
        assert_eq!(fields[0], b"snapshot");
        assert_eq!(pid.as_raw_nonzero().get(), 77);
        assert_eq!(format!("{parsed:?}"), format!("{wish:?}"));
        let saved = SavedSnapshot {
            path: "/tmp/a b.lth".into(),
            blocks: 1,
            bytes: 2,
            pause: Duration::from_nanos(3),
            cpu: Duration::from_nanos(4),
            memory: 5,
            copied: None,
            file_bytes: 6,
        };
        assert_eq!(understand(&told(&saved)).unwrap(), Done::Saved(saved.clone()));
        let copied = SavedSnapshot { copied: Some(7), ..saved };
        assert_eq!(understand(&told(&copied)).unwrap(), Done::Saved(copied));
        let looked = understand(b"looked\0/tmp/a b.lt").unwrap();
        assert_eq!(looked, Done::Looked("/tmp/a b.lt".into()));
        for odd in [&b""[..], b"saved", b"snapshot\0x", b"failed"] {
            assert!(parse(&[odd]).is_none() && understand(odd).is_err());
        }
        let refused = understand(b"failed\0process 5 has ended").unwrap_err();
        assert_eq!(refused.to_string(), "process 5 has ended");
    }
}
