//! The tables of a profile: strings, functions, frames and object files, each with a number.
//!
//! They are in the order in which they were asked for, so that the same profile has the same bytes.

use std::fmt::Write;

use lifetrace_trace::fact::Module;
use rustc_hash::FxHashMap;

use crate::proto::{Function, Line, Location, Mapping, ValueType};

/// Strings, each once; the first is empty.
#[derive(Debug)]
pub struct Strings {
    /// In the order of their numbers.
    pub all: Vec<String>,
    indices: FxHashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self { all: Vec::new(), indices: FxHashMap::default() };
        strings.index("");
        strings
    }
}

impl Strings {
    /// The place of `text` in the table.
    pub fn index(&mut self, text: &str) -> i64 {
        if let Some(&index) = self.indices.get(text) {
            return index;
        }
        let index = self.all.len() as i64;
        self.all.push(text.to_owned());
        self.indices.insert(text.to_owned(), index);
        index
    }

    /// What is counted, and in what.
    pub fn value_type(&mut self, kind: &str, unit: &str) -> ValueType {
        ValueType { kind: self.index(kind), unit: self.index(unit) }
    }
}

/// Frames, and the functions that they are in.
#[derive(Debug, Default)]
pub struct Code {
    /// Their ids are their places, from 1.
    pub locations: Vec<Location>,
    /// Their ids are their places, from 1.
    pub functions: Vec<Function>,
    function_ids: FxHashMap<(i64, i64), u64>,
}

impl Code {
    /// A new frame in an object file, or in none if that is 0; its id. Lines are innermost first.
    pub fn add(&mut self, mapping_id: u64, line: Vec<Line>) -> u64 {
        let id = self.locations.len() as u64 + 1;
        self.locations.push(Location { id, mapping_id, line });
        id
    }

    /// The id of the function of that name in that file.
    pub fn function(&mut self, name: &str, file: &str, strings: &mut Strings) -> u64 {
        let (name, filename) = (strings.index(name), strings.index(file));
        *self.function_ids.entry((name, filename)).or_insert_with(|| {
            let id = self.functions.len() as u64 + 1;
            // Readers take a function whose system name is its name for one that is still to be
            // demangled, and cut off what is in brackets.
            self.functions.push(Function { id, name, system_name: 0, filename });
            id
        })
    }
}

/// The one that stands for the program where no object files are known.
pub const EXECUTABLE: u64 = 1;

/// The id of an object file, where they are known.
pub fn mapping_id(module: &Module) -> u64 {
    u64::from(module.number) + 1
}

/// The object files; the program if none are known. Without them, or if they were not said to have
/// everything, readers would look for the files on their own machine.
pub fn mappings<'a>(
    modules: impl IntoIterator<Item = &'a Module>,
    executable: &str,
    strings: &mut Strings,
) -> Vec<Mapping> {
    let mapping = |module: &Module| Mapping {
        id: mapping_id(module),
        memory_start: module.start,
        memory_limit: module.end,
        file_offset: module.start.saturating_sub(module.bias),
        filename: strings.index(&module.path),
        build_id: strings.index(&hex(&module.build_id)),
        ..complete()
    };
    let known: Vec<Mapping> = modules.into_iter().map(mapping).collect();
    if known.is_empty() {
        return vec![Mapping { id: EXECUTABLE, filename: strings.index(executable), ..complete() }];
    }
    known
}

fn complete() -> Mapping {
    Mapping {
        has_functions: true,
        has_filenames: true,
        has_line_numbers: true,
        has_inline_frames: true,
        ..Mapping::default()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("memory takes all");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_functions_are_there_once() {
        let (mut strings, mut code) = (Strings::default(), Code::default());
        let main = code.function("main", "a.rs", &mut strings);
        let other = code.function("main", "b.rs", &mut strings);
        assert_eq!((main, other, code.function("main", "a.rs", &mut strings)), (1, 2, 1));
        assert_eq!(strings.all, ["", "main", "a.rs", "b.rs"]);
        assert_eq!((code.add(0, Vec::new()), code.add(0, Vec::new())), (1, 2));
    }

    /// `go tool pprof` demangles those whose system name is the same: of `<A as T>::f` and
    /// `<B as T>::f` it leaves `::f`, and adds them up.
    #[test]
    fn names_are_for_people_only() {
        let (mut strings, mut code) = (Strings::default(), Code::default());
        for name in ["<r::A as r::Make>::make", "<r::B as r::Make>::make", "f(int)::operator()"] {
            code.function(name, "r.rs", &mut strings);
        }
        assert!(code.functions.iter().all(|function| function.system_name != function.name));
    }

    #[test]
    fn without_object_files_the_program_stands_for_all() {
        let mut strings = Strings::default();
        let mapping = &mappings([], "/bin/x", &mut strings)[0];
        assert_eq!((mapping.id, mapping.filename, mapping.has_functions), (EXECUTABLE, 1, true));
    }

    #[test]
    fn object_files_have_their_build_ids_in_hexadecimal() {
        let module = Module {
            number: 4,
            start: 0x3000,
            end: 0x4000,
            bias: 0x1000,
            build_id: vec![0xab, 1],
            path: "/lib/x.so".into(),
        };
        let mut strings = Strings::default();
        let mapping = &mappings([&module], "/bin/x", &mut strings)[0];
        assert_eq!((mapping.id, mapping.file_offset), (5, 0x2000));
        assert_eq!(strings.all, ["", "/lib/x.so", "ab01"]);
    }
}
