//! How a recorder that runs is asked: one says hello at its socket, sends one packet, and reads the answer.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use lifetrace_transport::handshake::{Hello, SOCKET_VARIABLE, abstract_twin, standing};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};
use rustix::process::geteuid;

/// Longer packets are no requests, nor answers.
pub(super) const ROOM: usize = 16 << 10;

/// Why a recorder could not be asked, or what it has answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is no such process, or it is somebody else's.
    #[error("{}", no_process(*.pid, .error))]
    NoProcess {
        /// Its number.
        pid: u32,
        /// What the system says.
        error: io::Error,
    },
    /// Its environment does not tell of a recorder, and no recorder of this user knows it.
    #[error(
        "process {0} is not recorded by `lifetrace record`, or has a recorder of its own inside"
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

fn no_process(pid: u32, error: &io::Error) -> String {
    match error.kind() {
        _ if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {
            format!("process {pid} has ended")
        }
        io::ErrorKind::NotFound => format!("there is no process {pid}"),
        io::ErrorKind::PermissionDenied if geteuid().is_root() => format!(
            "the system does not let even root look at process {pid}, as in a container without CAP_SYS_PTRACE: give it \
             --cap-add SYS_PTRACE, or run this outside of it"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "process {pid} is another user's, or the system lets nobody look at it: try sudo, or as that user"
        ),
        _ => format!("process {pid} cannot be asked about: {error}"),
    }
}

/// What a process was told at its start.
pub(crate) fn socket_in(environment: &[u8]) -> Option<PathBuf> {
    let mut variables = environment.split(|&byte| byte == 0);
    let value = variables.find_map(|variable| {
        variable.strip_prefix(SOCKET_VARIABLE.as_bytes())?.strip_prefix(b"=")
    })?;
    let value = standing(value).unwrap_or(value);
    Some(OsString::from_vec(value.to_vec()).into())
}

pub(crate) fn exchange(socket: &Path, request: &[u8]) -> io::Result<Vec<u8>> {
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

pub(crate) fn reach(socket: &Path) -> io::Result<OwnedFd> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_there_is_told_in_words() {
        let said = |error: io::Error| AskError::NoProcess { pid: 7, error }.to_string();
        assert_eq!(said(Errno::NOENT.into()), "there is no process 7");
        assert_eq!(said(Errno::SRCH.into()), "process 7 has ended");
        assert!(said(Errno::ACCESS.into()).contains("SYS_PTRACE") == geteuid().is_root());
    }

    #[test]
    fn the_socket_is_in_the_environment() {
        let environment = b"A=1\0LIFETRACE_SOCKET=/run/x/socket\0B=\0";
        assert_eq!(socket_in(environment).unwrap(), Path::new("/run/x/socket"));
        assert_eq!(socket_in(b"XLIFETRACE_SOCKET=/x\0"), None);
    }
}
