//! Why nothing is known of a process, and what is said then.

use crate::http::Response;

/// Somebody who comes now is to come again after so many seconds.
const BUSY: u32 = 5;
const BEHIND: u32 = 2;

/// Why nothing is known of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It is not being recorded.
    NotRecorded,
    /// It is being read: what is known now is not all.
    Behind,
    /// So many others are followed already.
    TooMany(usize),
    /// Its trace cannot be read: why.
    Unreadable(String),
}

impl Unknown {
    /// In words.
    pub fn sentence(&self) -> String {
        match self {
            Self::NotRecorded => "is not being recorded".to_owned(),
            Self::Behind => "its trace is being read; ask again".to_owned(),
            Self::TooMany(others) => format!("{others} other processes are followed"),
            Self::Unreadable(why) => why.clone(),
        }
    }

    /// To who has asked for that process.
    pub fn response(&self, pid: u32) -> Response {
        match self {
            Self::NotRecorded => not_recorded(pid),
            Self::Behind => Response::later(&format!("process {pid}: {}", self.sentence()), BEHIND),
            Self::TooMany(_) => {
                Response::later(&format!("process {pid}: {}", self.sentence()), BUSY)
            }
            Self::Unreadable(why) => Response::refusal(500, &format!("process {pid}: {why}")),
        }
    }
}

/// What there is of one that has ended is said as well.
fn not_recorded(pid: u32) -> Response {
    Response::refusal(
        404,
        &format!(
            "process {pid} is not being recorded now: /processes lists those that are, and /processes?ended=1 those that have \
             ended, of which there are /processes/PID/report, /page and /trace"
        ),
    )
}

/// The desk has too much to do.
pub fn too_much() -> Response {
    Response::later("too much is being asked at once", BEHIND)
}
