//! Python.

use super::Runtime;

pub(super) const PYTHON: Runtime =
    Runtime { name: "python", notice, young: "it is young", counted: |_| None, young_heap: None };

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
        _ => return None,
    })
}
