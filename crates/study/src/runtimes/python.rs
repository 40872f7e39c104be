//! Python.

use super::Runtime;

pub(super) const PYTHON: Runtime =
    Runtime { name: "python", notice, young: "it is young", counted: |_| None, young_heap: None };

/// The code of a Python whose small objects were not sampled.
pub const SMALL_UNHEARD: &str = "python-small-unheard";

fn notice(code: &str) -> Option<&'static str> {
    Some(match code {
        "python-unknown" => {
            "has a Python of a version whose frames are not known yet (those of 3.9 to 3.14 are): backtraces have the \
             interpreter's own functions instead"
        }
        "python-free-threaded" => {
            "has a Python without a global lock, whose frames are not read yet: backtraces have the interpreter's own \
             functions instead"
        }
        SMALL_UNHEARD => {
            "has objects of up to 512 bytes in arenas of Python's own which are not sampled (because of \
             --no-small-objects, PYTHONMALLOC, -X dev or tracemalloc, or as it is of another version): neither what lives \
             of them nor what leaks is in the trace"
        }
        _ => return None,
    })
}
