//! A command that wants something of a recorder that runs: it says hello at the recorder's socket, and sends one packet.
//!
//! ```text
//! snapshot\0PID\0PATH\0CAUSE\0OVERWRITE\0MEMORY\0PATIENCE      the path may be empty; numbers are decimal
//! saved\0PATH\0BLOCKS\0BYTES\0PAUSE\0CPU\0MEMORY\0COPIED\0LENGTH    nanoseconds, bytes; COPIED may be empty
//! looked\0TRACE           there is no heap of objects; it is looked through for lost blocks
//! failed\0WHY
//! ```

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifetrace_transport::handshake::{Hello, SOCKET_VARIABLE, abstract_twin};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};
use rustix::process::Pid;

use super::desk::Desk;
use super::error::SnapshotError;
use super::wishes::{SavedSnapshot, SnapshotWish};

/// Longer packets are no requests.
const ROOM: usize = 16 << 10;

/// Why a recorder could not be asked, or what it has answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is no such process, or it is somebody else's.
    #[error("process {pid}: {error}")]
    NoProcess {
        /// Its number.
        pid: u32,
        /// What the system says.
        error: io::Error,
    },
    /// Its environment does not tell of a recorder.
    #[error(
        "process {0} was not started by `lifetrace record`, or has a recorder of its own inside"
    )]
    NotRecorded(u32),
    /// The recorder does not listen.
    #[error("the recorder of process {pid} cannot be reached: {error}")]
    NoRecorder {
        /// Its number.
        pid: u32,
        /// What the system says.
        error: io::Error,
    },
    /// It says why not.
    #[error("{0}")]
    Refused(String),
}

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
    let socket = socket_in(&environment).ok_or(AskError::NotRecorded(pid))?;
    let answer = exchange(&socket, &request(pid, wish));
    let answer = answer.map_err(|error| AskError::NoRecorder { pid, error })?;
    understand(&answer)
}

/// What a process was told at its start.
fn socket_in(environment: &[u8]) -> Option<PathBuf> {
    let mut variables = environment.split(|&byte| byte == 0);
    let value = variables.find_map(|variable| {
        variable.strip_prefix(SOCKET_VARIABLE.as_bytes())?.strip_prefix(b"=")
    })?;
    Some(OsString::from_vec(value.to_vec()).into())
}

fn exchange(socket: &Path, request: &[u8]) -> io::Result<Vec<u8>> {
    let connection = reach(socket)?;
    send(&connection, &Hello::Request.to_bytes(), SendFlags::NOSIGNAL)?;
    send(&connection, request, SendFlags::NOSIGNAL)?;
    let mut answer = vec![0; ROOM];
    let (length, _) = recv(&connection, &mut answer[..], RecvFlags::empty())?;
    answer.truncate(length);
    if answer.is_empty() {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    Ok(answer)
}

fn reach(socket: &Path) -> io::Result<OwnedFd> {
    let connection =
        || socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let path = socket.as_os_str().as_bytes();
    let at = |address: SocketAddrUnix| {
        let connection = connection()?;
        connect(&connection, &address)?;
        Ok::<_, rustix::io::Errno>(connection)
    };
    let direct = match path.strip_prefix(b"@") {
        Some(name) => at(SocketAddrUnix::new_abstract_name(name)?),
        None => at(SocketAddrUnix::new(socket)?),
    };
    match (direct, abstract_twin(path)) {
        (Err(_), Some(twin)) => Ok(at(SocketAddrUnix::new_abstract_name(twin)?)?),
        (result, _) => Ok(result?),
    }
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

/// The recorder's side: reads one request, and answers it.
pub(crate) fn answer(connection: &OwnedFd, desk: &Desk) {
    let mut bytes = vec![0; ROOM];
    let Ok((length, _)) = recv(connection, &mut bytes[..], RecvFlags::empty()) else { return };
    let _at_work = desk.begin_work();
    let answer = match parse(&bytes[..length]) {
        Some((pid, wish)) => answer_to(pid, &wish, desk),
        None => b"failed\0the recorder is of another version".to_vec(),
    };
    // Who has asked may have gone.
    let _ = send(connection, &answer, SendFlags::NOSIGNAL);
}

fn answer_to(pid: Pid, wish: &SnapshotWish, desk: &Desk) -> Vec<u8> {
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

fn parse(request: &[u8]) -> Option<(Pid, SnapshotWish)> {
    let fields: Vec<&[u8]> = request.split(|&byte| byte == 0).collect();
    let [b"snapshot", pid, path, cause, overwrite, memory, patience] = fields[..] else {
        return None;
    };
    let number = |field| str::from_utf8(field).ok()?.parse::<u64>().ok();
    let path = (!path.is_empty()).then(|| OsString::from_vec(path.to_vec()).into());
    let wish = SnapshotWish {
        cause: String::from_utf8_lossy(cause).into_owned(),
        path,
        overwrite: number(overwrite)? != 0,
        memory: number(memory)?,
        patience: Duration::from_millis(number(patience)?),
    };
    Some((Pid::from_raw(i32::try_from(number(pid)?).ok()?)?, wish))
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
        let (pid, parsed) = parse(&request(77, &wish)).unwrap();
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
            assert!(parse(odd).is_none() && understand(odd).is_err());
        }
        let refused = understand(b"failed\0process 5 has ended").unwrap_err();
        assert_eq!(refused.to_string(), "process 5 has ended");
    }

    #[test]
    fn the_socket_is_in_the_environment() {
        let environment = b"A=1\0LIFETRACE_SOCKET=/run/x/socket\0B=\0";
        assert_eq!(socket_in(environment).unwrap(), Path::new("/run/x/socket"));
        assert_eq!(socket_in(b"XLIFETRACE_SOCKET=/x\0"), None);
    }
}
