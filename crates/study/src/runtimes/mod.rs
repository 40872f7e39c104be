//! What users are told of managed runtimes: a file about each of them that has something to say.

mod ocaml;
mod python;
mod ruby;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::facts::Counted;

pub use python::SMALL_UNHEARD as PYTHON_SMALL_UNHEARD;

/// A managed runtime, as a reader of traces has to know it.
#[derive(Debug)]
pub struct Runtime {
    /// As traces name it.
    name: &'static str,
    /// What goes on after the program's name, of a notice with this code.
    notice: fn(&str) -> Option<&'static str>,
    /// What goes on after "... is young: ": how much of it may be dead.
    pub young: &'static str,
    /// A sentence about what it has counted itself, by its own names.
    pub counted: fn(&BTreeMap<Arc<str>, Counted>) -> Option<String>,
    /// How it is told the size of its young heap.
    pub young_heap: Option<YoungHeap>,
}

/// How a runtime is told the size of its young heap, in words.
#[derive(Debug)]
pub struct YoungHeap {
    /// The setting as it is.
    pub now: fn(u64) -> String,
    /// All that a user has to say for another.
    pub then: fn(u64) -> String,
}

const RUNTIMES: &[Runtime] = &[ocaml::OCAML, python::PYTHON, ruby::RUBY];

/// The runtime of a trace that names it so. Those that name none, or only the program's machine code, are OCaml's:
/// Memtrace's have no name for it.
pub fn of_trace(name: Option<&str>) -> Option<&'static Runtime> {
    let name = name.filter(|&name| name != "native").unwrap_or(ocaml::OCAML.name);
    RUNTIMES.iter().find(|runtime| runtime.name == name)
}

/// What goes on after the program's name, of a notice about a runtime.
pub(crate) fn of_notice(code: &str) -> Option<&'static str> {
    RUNTIMES.iter().find_map(|runtime| (runtime.notice)(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(of: Option<&str>) -> Option<&'static str> {
        of_trace(of).map(|runtime| runtime.name)
    }

    #[test]
    fn a_trace_that_names_no_runtime_is_of_ocaml() {
        for of in [None, Some("native"), Some("ocaml")] {
            assert_eq!(name(of), Some("ocaml"));
        }
        assert_eq!(name(Some("fake")), None);
    }

    #[test]
    fn notices_have_words() {
        assert!(of_notice("no-ocaml").unwrap().starts_with("has no OCaml heap"));
        assert_eq!(of_notice("own-allocator"), None);
    }
}
