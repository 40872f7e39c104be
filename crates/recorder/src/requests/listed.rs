//! Sessions that go on, as other commands are told of them.
//!
//! ```text
//! sessions\0VERSION\0WATCHES                WATCHES is 1 where what is recorded is to be in the traces soon
//! session\0PID\0PARENT\0PROGRAM\0TRACE\0SINCE\0SAMPLES\0BYTES\0RESIDENT\0LOST     one packet each; numbers are decimal
//! end\0BEGUN
//! ```

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use lifetrace_trace::ids::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Of the request and its answer.
const VERSION: &str = "1";

/// Of a program's name, so that a session fits into a packet.
const LONGEST_NAME: usize = 1 << 10;

/// What a recorder is recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// In the order in which they began.
    pub sessions: Vec<ListedSession>,
    /// How many have begun, those that are over included.
    pub begun: u64,
}

/// A session that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// Process id.
    pub pid: u32,
    /// The process's parent when the session began.
    pub parent: u32,
    /// What it was run as.
    pub program: String,
    /// The trace file, as the recorder sees the file system; empty if there is none.
    pub trace: PathBuf,
    /// When the session began.
    pub since: Timestamp,
    /// Allocations sampled so far.
    pub samples: u64,
    /// Bytes of the trace so far.
    pub bytes: u64,
    /// Resident memory when the recorder looked last.
    pub resident: u64,
    /// Events that should be in the trace and are not.
    pub lost: u64,
}

/// What the wall clock shows.
pub(crate) fn now() -> Timestamp {
    let now = clock_gettime(ClockId::Realtime);
    Timestamp(now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000)
}

/// Who knows of sessions.
pub(crate) trait Listed {
    /// What is being recorded.
    fn recorded(&self) -> Recorded;

    /// Somebody reads the traces while they are written.
    fn watch(&self);
}

/// What is asked. If `watches` is true, traces are written sooner for a moment.
pub(crate) fn request(watches: bool) -> Vec<u8> {
    ["sessions", VERSION, if watches { "1" } else { "0" }].join("\0").into_bytes()
}

/// A packet of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Session(ListedSession),
    End(u64),
}

pub(crate) fn understand(answer: &[u8]) -> Option<Said> {
    let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
    let number = |field: &[u8]| str::from_utf8(field).ok()?.parse::<u64>().ok();
    match fields[..] {
        [b"end", begun] => Some(Said::End(number(begun)?)),
        [b"session", pid, parent, program, trace, since, samples, bytes, resident, lost] => {
            Some(Said::Session(ListedSession {
                pid: number(pid)?.try_into().ok()?,
                parent: number(parent)?.try_into().ok()?,
                program: String::from_utf8_lossy(program).into_owned(),
                trace: OsString::from_vec(trace.to_vec()).into(),
                since: Timestamp(number(since)?),
                samples: number(samples)?,
                bytes: number(bytes)?,
                resident: number(resident)?,
                lost: number(lost)?,
            }))
        }
        _ => None,
    }
}

/// The recorder's side: what follows after `sessions`, and the packets of the answer; `None` if it is not understood.
pub(super) fn answer(fields: &[&[u8]], host: &impl Listed) -> Option<Vec<Vec<u8>>> {
    let &[version, watches] = fields else { return None };
    (version == VERSION.as_bytes()).then_some(())?;
    if watches == b"1" {
        host.watch();
    }
    let recorded = host.recorded();
    let end = format!("end\0{}", recorded.begun).into_bytes();
    Some(recorded.sessions.iter().map(told).chain([end]).collect())
}

fn told(session: &ListedSession) -> Vec<u8> {
    let name = session.program.replace('\0', "");
    let ends = name.char_indices().map(|(at, character)| at + character.len_utf8());
    let length = ends.take_while(|&end| end <= LONGEST_NAME).last().unwrap_or(0);
    let name = &name.as_bytes()[..length];
    let ListedSession { since, samples, bytes, resident, lost, .. } = *session;
    let mut fields = vec![b"session".to_vec()];
    fields.extend([session.pid, session.parent].map(|number| number.to_string().into_bytes()));
    fields.extend([name, session.trace.as_os_str().as_bytes()].map(<[u8]>::to_vec));
    let numbers = [since.0, samples, bytes, resident, lost];
    fields.extend(numbers.map(|number| number.to_string().into_bytes()));
    fields.join(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_come_back() {
        let session = ListedSession {
            pid: 7,
            parent: 3,
            program: "a b\u{1b}".into(),
            trace: "/tmp/x y.lt".into(),
            since: Timestamp(5),
            samples: 1,
            bytes: 2,
            resident: 4,
            lost: u64::MAX,
        };
        assert_eq!(understand(&told(&session)), Some(Said::Session(session.clone())));
        let long = ListedSession { program: "ü".repeat(LONGEST_NAME), ..session };
        let Some(Said::Session(cut)) = understand(&told(&long)) else { panic!() };
        assert_eq!(cut.program, "ü".repeat(LONGEST_NAME / 2));
        assert_eq!(understand(b"end\09"), Some(Said::End(9)));
        for odd in [&b""[..], b"end", b"session\x001", b"failed\0why"] {
            assert_eq!(understand(odd), None);
        }
    }
}
