//! Tells systemd how the service is doing (sd_notify(3)).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Says something to the service manager, if there is one. It may not be listening: nothing depends on it.
pub(super) fn notify(message: &str) {
    let Some(address) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match address.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&address),
    };
    if let (Ok(address), Ok(socket)) = (address, UnixDatagram::unbound()) {
        let _ = socket.send_to_addr(message.as_bytes(), &address);
    }
}
