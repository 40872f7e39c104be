//! The socket by which a session is begun. \[UNSAFE\]

use core::ffi::{c_char, c_int};
use core::mem::{offset_of, zeroed};

use super::descriptor::Descriptor;
use super::raw;

/// Where a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// In the file system.
    Path(&'a [u8]),
    /// In the network namespace.
    Abstract(&'a [u8]),
}

impl Address<'_> {
    /// With its length; `None` if the name is too long.
    fn encode(self) -> Option<(libc::sockaddr_un, usize)> {
        // The first byte of an abstract name is zero.
        let (name, skipped) = match self {
            Address::Path(path) => (path, 0),
            Address::Abstract(name) => (name, 1),
        };
        // SAFETY: all-zero is a valid sockaddr_un.
        let mut address: libc::sockaddr_un = unsafe { zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let room = address.sun_path.get_mut(skipped..)?;
        if name.len() >= room.len() {
            return None;
        }
        for (to, from) in room.iter_mut().zip(name) {
            *to = *from as c_char;
        }
        let length = offset_of!(libc::sockaddr_un, sun_path) + skipped + name.len();
        Some((address, length))
    }
}

/// Connects to a `SOCK_SEQPACKET` socket; every operation on it ends after `patience_millis`.
pub fn connect(address: Address<'_>, patience_millis: u64) -> Option<Descriptor> {
    let (address, length) = address.encode()?;
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: plain numbers.
    let socket = unsafe { raw::call(libc::SYS_socket, [libc::AF_UNIX as usize, kind as usize]) };
    let socket = Descriptor::of(socket.ok()?);
    be_patient(&socket, patience_millis);
    let arguments = [socket.number() as usize, &raw const address as usize, length];
    // SAFETY: reads an address of that length.
    unsafe { raw::call(libc::SYS_connect, arguments) }.ok()?;
    Some(socket)
}

fn be_patient(socket: &Descriptor, millis: u64) {
    let patience =
        libc::timeval { tv_sec: (millis / 1000) as _, tv_usec: (millis % 1000 * 1000) as _ };
    let (level, at) = (libc::SOL_SOCKET as usize, &raw const patience as usize);
    for option in [libc::SO_SNDTIMEO, libc::SO_RCVTIMEO] {
        let arguments =
            [socket.number() as usize, level, option as usize, at, size_of_val(&patience)];
        // SAFETY: reads one struct of the length given with it.
        let _ = unsafe { raw::call(libc::SYS_setsockopt, arguments) };
    }
}

/// Sends one packet; whether all of it went.
pub fn send(socket: &Descriptor, bytes: &[u8]) -> bool {
    let (start, flags) = (bytes.as_ptr() as usize, libc::MSG_NOSIGNAL as usize);
    let arguments = [socket.number() as usize, start, bytes.len(), flags];
    // SAFETY: reads `bytes`.
    unsafe { raw::call(libc::SYS_sendto, arguments) == Ok(bytes.len()) }
}

/// Receives one packet and the descriptor that must come with it; `None` on anything else.
pub fn receive(socket: &Descriptor, bytes: &mut [u8]) -> Option<(usize, Descriptor)> {
    #[repr(C, align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all-zero is a valid msghdr.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    let flags = libc::MSG_CMSG_CLOEXEC as usize;
    let arguments = [socket.number() as usize, &raw mut message as usize, flags];
    // SAFETY: the message describes the two buffers above.
    let received = unsafe { raw::call(libc::SYS_recvmsg, arguments) }.ok()?;
    // SAFETY: the kernel filled `control` with whole headers, which these macros walk.
    let descriptor = unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return None;
        }
        libc::CMSG_DATA(header).cast::<c_int>().read_unaligned()
    };
    Some((received, Descriptor::of(descriptor as usize)))
}
