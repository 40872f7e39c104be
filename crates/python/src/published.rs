//! What the interpreter says itself of where it keeps things, from 3.13 on: `_Py_DebugOffsets`, with which its global state
//! begins. \[UNSAFE\]

use crate::layout::{At, Chain, Code, Frame, From, Layout, Text};
use crate::lines::Lines;
use crate::read::Place;
use crate::version::Version;

const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");

/// Which of its words are what. Words were added in each series, and stay where they are within one.
struct Words {
    current_frame: usize,
    thread_id: usize,
    previous: usize,
    executable: usize,
    instruction: usize,
    owner: usize,
    file: usize,
    name: usize,
    lines: usize,
    first_line: usize,
    instructions: usize,
    ascii: usize,
}

const PYTHON_3_13: Words = Words {
    current_frame: 23,
    thread_id: 24,
    previous: 29,
    executable: 30,
    instruction: 31,
    owner: 33,
    file: 35,
    name: 37,
    lines: 38,
    first_line: 39,
    instructions: 43,
    ascii: 70,
};

const PYTHON_3_14: Words = Words {
    current_frame: 26,
    thread_id: 27,
    previous: 32,
    executable: 33,
    instruction: 34,
    owner: 36,
    file: 40,
    name: 42,
    lines: 43,
    first_line: 44,
    instructions: 48,
    ascii: 80,
};

/// Whether it works without a global lock.
const FREE_THREADED: usize = 2;

/// What a layout cannot be had for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Several threads run Python at once: their frames are others.
    FreeThreaded,
    /// Of this version nothing is known.
    Version,
}

/// The layout that a global state begins with.
///
/// # Errors
/// [`Unknown`].
///
/// # Safety
/// It is the interpreter's variable `_PyRuntime`.
pub(crate) unsafe fn layout(runtime: Place, version: Version) -> Result<Layout, Unknown> {
    let (words, least_owner) = match (version.major, version.minor) {
        (3, 13) => (PYTHON_3_13, 3),
        (3, 14) => (PYTHON_3_14, 3),
        _ => return Err(Unknown::Version),
    };
    // SAFETY: by contract; it is longer than that.
    let word = |at: usize| unsafe { runtime.get::<u64>(8 * at) };
    if word(0) != COOKIE || word(1) >> 16 != u64::from(version.major << 8 | version.minor) {
        return Err(Unknown::Version);
    }
    if word(FREE_THREADED) != 0 {
        return Err(Unknown::FreeThreaded);
    }
    let at = |word_at: usize| word(word_at) as usize;
    Ok(Layout {
        thread: at(words.thread_id),
        chain: Chain::Between {
            from: From::State(at(words.current_frame)),
            owner: at(words.owner),
            least_owner,
        },
        frame: Frame {
            previous: at(words.previous),
            code: at(words.executable),
            at: At::Address(at(words.instruction)),
        },
        code: Code {
            file: at(words.file),
            name: at(words.name),
            lines: at(words.lines),
            first_line: at(words.first_line),
            instructions: at(words.instructions),
        },
        // A text that is not ASCII has a length in UTF-8, and that, in between.
        text: Text { ascii: at(words.ascii), other: at(words.ascii) + 16 },
        lines: Lines::Locations,
    })
}
