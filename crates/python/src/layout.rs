//! Where the interpreter keeps what a backtrace is made of.
//!
//! From 3.13 on the interpreter publishes it ([`published`](crate::published)). Before that each series has its own, which
//! never changes within it: figures that a compiler has made of its headers, for 64-bit systems.

use crate::lines::Lines;
use crate::version::Version;

/// Where things are, in bytes from where the structure begins that they are a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Of a thread's state: the number by which pthread knows it.
    pub(crate) thread: usize,
    pub(crate) chain: Chain,
    pub(crate) frame: Frame,
    pub(crate) code: Code,
    pub(crate) text: Text,
    pub(crate) lines: Lines,
}

/// How frames follow each other, and which of them are of one activation of the interpreter: a call of its loop, which may
/// run several Python functions that call each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chain {
    /// Each frame is one activation. From 3.10 on something of each lies on the machine's stack, and leads to the next.
    Each { newest: usize, on_stack: Option<OnStack> },
    /// The first frame of an activation says so. 3.11.
    Marked { on_stack: OnStack, newest: usize, is_first: usize },
    /// The first frame of an activation is called by one that is none, and lies on the machine's stack. `owner` of these is
    /// `least_owner` or more.
    Between { from: From, owner: usize, least_owner: u8 },
}

/// What of an activation lies on the machine's stack: where a thread's state has the newest, and where each has the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OnStack {
    pub(crate) newest: usize,
    pub(crate) next: usize,
}

/// Where the newest frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// In the thread's state.
    State(usize),
    /// In what the thread's state has at the first of these, at the second. 3.12.
    Behind(usize, usize),
}

/// Of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its caller.
    pub(crate) previous: usize,
    /// Its code.
    pub(crate) code: usize,
    pub(crate) at: At,
}

/// Where it is in its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// A number of so many bytes each, as an `int`.
    Index(usize, u32),
    /// An address.
    Address(usize),
}

/// Of a code object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) file: usize,
    /// The function's name, with those that it is within if there is such a thing.
    pub(crate) name: usize,
    pub(crate) lines: usize,
    pub(crate) first_line: usize,
    /// Where the instructions begin that a frame's address is among.
    pub(crate) instructions: usize,
}

/// Of a text: where its characters are, if all are ASCII, and if not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) ascii: usize,
    pub(crate) other: usize,
}

/// Of an object: where its type is, and of one that has a length, where that is.
pub(crate) const TYPE: usize = 8;
pub(crate) const LENGTH: usize = 16;
/// Where the bytes of a `bytes` are.
pub(crate) const BYTES: usize = 32;

impl Layout {
    /// That of a version that does not publish it.
    pub(crate) fn known(version: Version) -> Option<Layout> {
        match (version.major, version.minor) {
            (3, 9) => Some(PYTHON_3_9),
            (3, 10) => Some(PYTHON_3_10),
            (3, 11) => Some(PYTHON_3_11),
            (3, 12) => Some(PYTHON_3_12),
            _ => None,
        }
    }
}

const PYTHON_3_9: Layout = Layout {
    thread: 176,
    chain: Chain::Each { newest: 24, on_stack: None },
    frame: Frame { previous: 24, code: 32, at: At::Index(104, 1) },
    code: Code { file: 104, name: 112, lines: 120, first_line: 40, instructions: 0 },
    text: Text { ascii: 48, other: 72 },
    lines: Lines::Increments,
};

const PYTHON_3_10: Layout = Layout {
    chain: Chain::Each { newest: 24, on_stack: Some(OnStack { newest: 48, next: 8 }) },
    frame: Frame { previous: 24, code: 32, at: At::Index(96, 2) },
    lines: Lines::Ranges,
    ..PYTHON_3_9
};

const PYTHON_3_11: Layout = Layout {
    thread: 152,
    chain: Chain::Marked { on_stack: OnStack { newest: 56, next: 16 }, newest: 8, is_first: 68 },
    frame: Frame { previous: 48, code: 32, at: At::Address(56) },
    code: Code { file: 112, name: 128, lines: 136, first_line: 72, instructions: 184 },
    text: Text { ascii: 48, other: 72 },
    lines: Lines::Locations,
};

const PYTHON_3_12: Layout = Layout {
    thread: 136,
    chain: Chain::Between { from: From::Behind(56, 0), owner: 70, least_owner: 3 },
    frame: Frame { previous: 8, code: 0, at: At::Address(56) },
    code: Code { file: 112, name: 128, lines: 136, first_line: 68, instructions: 192 },
    text: Text { ascii: 40, other: 56 },
    lines: Lines::Locations,
};
