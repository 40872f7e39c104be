//! Whose a connection is: the kernel says it, of both kinds.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::process::geteuid;

use super::stream::Stream;

/// In the kernel's list, of a connection that stands.
const ESTABLISHED: &str = "01";

/// Whether it is this user's, or root's, who can do all that this user can.
pub(super) fn is_ours(stream: &Stream) -> bool {
    owner(stream).is_some_and(|user| user == 0 || user == geteuid().as_raw())
}

/// The user at the other end; nothing if that cannot be found out.
fn owner(stream: &Stream) -> Option<u32> {
    match stream {
        Stream::Unix(stream) => getsockopt(stream, PeerCredentials).ok().map(|peer| peer.uid()),
        Stream::Tcp(stream) => owner_of_tcp(stream),
    }
}

/// Both ends are on this machine, so the other one is in the kernel's list, with its user.
fn owner_of_tcp(stream: &TcpStream) -> Option<u32> {
    let (ours, theirs) = (stream.local_addr().ok()?, stream.peer_addr().ok()?);
    let list = if ours.is_ipv4() { "/proc/self/net/tcp" } else { "/proc/self/net/tcp6" };
    let list = fs::read_to_string(list).ok()?;
    let (ours, theirs) = (written(ours), written(theirs));
    list.lines().find_map(|line| owner_in(line, &theirs, &ours))
}

/// The user in a line of the list, if it is of that end. One that is closed is of no user, and says 0: it is not believed.
fn owner_in(line: &str, local: &str, remote: &str) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let is_it = words.next()? == local && words.next()? == remote && words.next()? == ESTABLISHED;
    let user = words.nth(3)?.parse().ok()?;
    let inode = words.nth(1)?;
    (is_it && inode != "0").then_some(user)
}

/// As the kernel writes it: words of four bytes as this machine has them in memory, and the port.
fn written(address: SocketAddr) -> String {
    let bytes = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word));
    let words: String = words.map(|word| format!("{word:08X}")).collect();
    format!("{words}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn our_own_connections_are_ours() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let stream = Stream::Tcp(listener.accept().unwrap().0);
            assert_eq!(owner(&stream), Some(geteuid().as_raw()), "{address}");
        }
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(is_ours(&Stream::Unix(one)));
    }

    #[test]
    fn a_connection_that_was_closed_is_nobodys() {
        let line = |state, user, inode| {
            format!(
                "  3: 0100007F:D431 0100007F:1F90 {state} 00000000:00000000 00:00000000 00000000 {user:>5} 0 {inode} 1 0 20"
            )
        };
        let of = |line: String| owner_in(&line, "0100007F:D431", "0100007F:1F90");
        assert_eq!(of(line("01", 1000, "5511")), Some(1000));
        assert_eq!(of(line("06", 0, "0")), None);
        assert_eq!(of(line("04", 0, "0")), None);
        assert_eq!(of(line("01", 0, "0")), None);
        assert_eq!(owner_in(&line("01", 1000, "5511"), "0100007F:1F90", "0100007F:D431"), None);
        assert_eq!(of("  sl  local_address rem_address   st".to_owned()), None);
    }

    #[test]
    fn addresses_are_written_as_the_kernel_does() {
        let expected =
            if cfg!(target_endian = "little") { "0100007F:1F90" } else { "7F000001:1F90" };
        assert_eq!(written("127.0.0.1:8080".parse().unwrap()), expected);
    }
}
