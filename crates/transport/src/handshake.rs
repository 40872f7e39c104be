//! The first and only words over the socket.
//!
//! The agent connects (`AF_UNIX`, `SOCK_SEQPACKET`, path in [`SOCKET_VARIABLE`], or else its
//! [`abstract_twin`]) and sends one [`Hello`]. The recorder, which learns pid, uid and gid from the kernel, answers with one
//! [`Welcome`], the segment's descriptor attached (`SCM_RIGHTS`); or closes the connection, and
//! then the process is not traced. The agent waits a bounded time, maps the segment, and closes
//! both descriptors. While the agent waits, the recorder may read `/proc/<pid>`: exe, command line.

use crate::segment::PROTOCOL_VERSION;

/// A string of its own in programs that have an agent linked in, by which they join the recorder that
/// [`SOCKET_VARIABLE`] names.
pub const JOINS_MARK: &[u8] = b"lifetrace-joins-a-recorder";

/// Environment variable with the path of the recorder's socket.
pub const SOCKET_VARIABLE: &str = "LIFETRACE_SOCKET";

/// Before the path in [`SOCKET_VARIABLE`] where a standing recorder listens: one that may come later, or go and come
/// again. Agents look for it from time to time. It has no abstract socket, since anybody could have that while the recorder
/// is away.
pub const STANDING: &[u8] = b"standing:";

/// The path where a standing recorder listens, if it is one's.
pub fn standing(address: &[u8]) -> Option<&[u8]> {
    address.strip_prefix(STANDING)
}

/// Name of the abstract socket that the recorder has beside the one at `path`, for processes that have
/// left the part of the file system where that is. It does not tell the path's last component, which
/// may be a secret.
pub fn abstract_twin(path: &[u8]) -> Option<&[u8]> {
    let end = path.iter().rposition(|&byte| byte == b'/')?;
    path.get(..end).filter(|directory| directory.first() == Some(&b'/'))
}

/// Why a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A fresh process image: the command itself, or a child after exec.
    Exec,
    /// A child of a traced process, by fork, without exec.
    Fork,
    /// A process that has been running for some time, whose recorder was gone or has come only now.
    Late(Late),
}

/// What a process says that has been running for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// Since when nobody has heard it.
    pub unheard: Unheard,
    /// Whether the agent of the managed runtime that it may have begins in the midst of a program, too.
    pub can_begin_managed: bool,
}

/// For how long nobody has heard a process that has had a recorder before, in milliseconds; 0 if it had none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unheard(pub u64);

impl Unheard {
    /// There was no recorder before.
    pub const NEVER_HEARD: Unheard = Unheard(0);

    /// The longest that can be told: eight years.
    const LONGEST: u64 = (1 << 38) - 1;
}

/// Agent to recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hello {
    /// A session begins.
    Session(Origin),
    /// A child comes to tell of its parent's heap, as it was asked for by this token ([`Wish`](crate::snapshot::Wish)):
    /// one that [`token`] has made. There is no welcome; it sends what it finds.
    Snapshot(u64),
    /// A command wants something of the recorder, and sends it: see `recorder`'s `requests`.
    Request,
    /// A traced process is about to end, and waits for the recorder to notice. There is no answer.
    Leaving,
}

/// By which a child is known again, made of a random number; never 0.
pub fn token(random: u64) -> u64 {
    random >> 16 | TOKEN_MARK << 48
}

const TOKEN_MARK: u64 = 0x4854;

const REQUEST: u64 = 2;
const LEAVING: u64 = 3;

/// In the lowest byte; how long it was is in the others.
const LATE: u64 = 4;

/// As [`LATE`], if a managed runtime's agent can begin.
const LATE_MANAGED: u64 = 5;

/// Recorder to agent, with the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// Length of the segment, in bytes.
    pub segment_bytes: u64,
}

const MAGIC: u32 = 0x4c54_4841;

/// Length of either message, in bytes.
pub const LEN: usize = 16;

impl Hello {
    /// To bytes.
    pub fn to_bytes(self) -> [u8; LEN] {
        message(match self {
            Hello::Session(Origin::Exec) => 0,
            Hello::Session(Origin::Fork) => 1,
            Hello::Session(Origin::Late(late)) => late.to_word(),
            Hello::Request => REQUEST,
            Hello::Leaving => LEAVING,
            Hello::Snapshot(token) => token,
        })
    }

    /// From bytes; `None` when they are not a hello of this protocol version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Hello> {
        Some(match payload(bytes)? {
            0 => Hello::Session(Origin::Exec),
            1 => Hello::Session(Origin::Fork),
            REQUEST => Hello::Request,
            LEAVING => Hello::Leaving,
            other => match Late::from_word(other) {
                Some(late) => Hello::Session(Origin::Late(late)),
                None => Hello::Snapshot(Some(other).filter(|&it| it >> 48 == TOKEN_MARK)?),
            },
        })
    }
}

impl Late {
    fn to_word(self) -> u64 {
        let code = if self.can_begin_managed { LATE_MANAGED } else { LATE };
        code | self.unheard.0.min(Unheard::LONGEST) << 8
    }

    fn from_word(word: u64) -> Option<Late> {
        let (code, millis) = (word & 0xff, word >> 8);
        let is_late = matches!(code, LATE | LATE_MANAGED) && millis <= Unheard::LONGEST;
        let can_begin_managed = code == LATE_MANAGED;
        is_late.then_some(Late { unheard: Unheard(millis), can_begin_managed })
    }
}

/// The version of the protocol that a hello or a welcome is of, whichever that is; `None` if it is neither.
pub fn version_of(bytes: &[u8]) -> Option<u32> {
    let (magic, rest) = bytes.split_at_checked(4)?;
    let version = rest.first_chunk()?;
    (magic == MAGIC.to_le_bytes()).then(|| u32::from_le_bytes(*version))
}

impl Welcome {
    /// To bytes.
    pub fn to_bytes(self) -> [u8; LEN] {
        message(self.segment_bytes)
    }

    /// From bytes; `None` when they are not a welcome of this protocol version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Welcome> {
        Some(Welcome { segment_bytes: payload(bytes)? })
    }
}

fn message(payload: u64) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[4..8].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
    bytes[8..].copy_from_slice(&payload.to_le_bytes());
    bytes
}

fn payload(bytes: &[u8]) -> Option<u64> {
    let bytes: &[u8; LEN] = bytes.try_into().ok()?;
    let (head, payload) = bytes.split_at(8);
    let mut expected = [0; 8];
    expected[..4].copy_from_slice(&MAGIC.to_le_bytes());
    expected[4..].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
    (head == expected).then(|| {
        let mut word = [0; 8];
        word.copy_from_slice(payload);
        u64::from_le_bytes(word)
    })
}
