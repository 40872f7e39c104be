//! Names of functions and files in as many columns as there are.
//!
//! A C++ or Rust name says least in its generic arguments, so these go first, then the parameters, then
//! what is between its beginning and its last component. A path says least at its beginning.

use super::columns::{beginning, columns, ending};

const ELLIPSIS: char = '…';

/// A file and its folders, of which a line of a backtrace shows no more.
const ENOUGH_COMPONENTS: usize = 3;

/// A function keeps at least so many columns, whatever its file takes.
const LEAST_NAME: usize = 20;

/// A function and its file in so many columns, two of them between both; all of both where there is no
/// end.
pub fn place(function: &str, source: &str, room: Option<usize>) -> (String, String) {
    let Some(room) = room else { return (function.to_owned(), source.to_owned()) };
    let room = room.saturating_sub(2);
    let for_name = columns(function).min(LEAST_NAME.max(room / 2));
    let source = shorten_path(source, room.saturating_sub(for_name));
    let beside = if source.is_empty() { room + 2 } else { room - columns(&source) };
    (shorten_function(function, beside), source)
}

/// The beginning of `text`, in so many columns.
pub fn shorten_end(text: &str, room: Option<usize>) -> String {
    match room {
        Some(room) if columns(text) > room => {
            format!("{}{ELLIPSIS}", beginning(text, room.saturating_sub(1)))
        }
        _ => text.to_owned(),
    }
}

/// `function` in so many columns.
pub fn shorten_function(function: &str, room: usize) -> String {
    let fits = |name: &String| columns(name) <= room;
    let whole = function.to_owned();
    let attempts =
        [|name: &str| empty_brackets(name, '<', '>'), |name: &str| empty_brackets(name, '(', ')')];
    let mut name = whole;
    for attempt in attempts {
        if fits(&name) {
            break;
        }
        name = attempt(&name);
    }
    if fits(&name) { name } else { without_middle(&name, room) }
}

/// The end of `path` that tells files apart for somebody who knows the program.
pub fn last_components(path: &str) -> &str {
    path.rmatch_indices('/').nth(ENOUGH_COMPONENTS - 1).map_or(path, |(at, _)| &path[at + 1..])
}

/// `path` in so many columns, by whole components as far as possible; nothing where not even
/// the line's number has room.
pub fn shorten_path(path: &str, room: usize) -> String {
    if columns(path) <= room {
        return path.to_owned();
    }
    let room = room.saturating_sub(1);
    let tails = path.match_indices('/').map(|(at, _)| &path[at..]);
    let mut fitting = tails.filter(|tail| columns(tail) <= room);
    match fitting.next() {
        Some(tail) => format!("{ELLIPSIS}{tail}"),
        None if path.rsplit_once(':').is_some_and(|(_, line)| line.len() + 1 >= room) => {
            String::new()
        }
        None => format!("{ELLIPSIS}{}", ending(path, room)),
    }
}

/// `name` with nothing but an ellipsis between outermost brackets. In Rust's `<Type as Trait>::method`
/// the first bracket stays, and those in it are emptied.
fn empty_brackets(name: &str, open: char, close: char) -> String {
    match name.strip_prefix('<') {
        Some(rest) if open == '<' => format!("<{}", empty_deeper_than(rest, 1, open, close)),
        _ => empty_deeper_than(name, 0, open, close),
    }
}

/// `name`, before which so many brackets are open that stay. Arrows and operators are left alone as far
/// as they do not unbalance the brackets.
fn empty_deeper_than(name: &str, mut kept: usize, open: char, close: char) -> String {
    let (mut short, mut depth, mut previous) = (String::new(), kept, ' ');
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        if character == close && previous != '-' && depth > 0 {
            depth -= 1;
            kept = kept.min(depth);
        }
        if depth <= kept {
            short.push(character);
        }
        if character == open {
            depth += 1;
            if depth == kept + 1 && characters.peek() != Some(&close) {
                short.push(ELLIPSIS);
            }
        }
        previous = character;
    }
    short
}

/// The beginning of `name` and its last component, or as much of that as there is room for.
fn without_middle(name: &str, room: usize) -> String {
    let room = room.saturating_sub(1);
    let last = columns(&name[last_component(name)..]);
    let end = if last < room { last } else { room / 2 };
    let (start, end) = (beginning(name, room - end), ending(name, end));
    format!("{}{ELLIPSIS}{end}", start.trim_end_matches([':', '.']))
}

/// Where the last component of a name begins, its separator included: `::push` of `std::vec::push`. One in
/// braces, such as `{{closure}}`, says nothing without the one before.
fn last_component(name: &str) -> usize {
    let (mut depth, mut from) = (0_usize, name.len());
    for (at, character) in name.char_indices().rev() {
        match character {
            ')' | '}' | ']' | '>' => depth += 1,
            '(' | '{' | '[' | '<' => depth = depth.saturating_sub(1),
            ':' | '.' if depth == 0 && at + 1 < from => {
                from = if name[..at].ends_with(':') { at - 1 } else { at };
                if !name[at + 1..].starts_with('{') {
                    return from;
                }
            }
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions() {
        let check =
            |function, columns, expected| assert_eq!(shorten_function(function, columns), expected);
        check("main", 4, "main");
        check("std::vector<int>::at(unsigned long)", 35, "std::vector<int>::at(unsigned long)");
        check("std::vector<int>::at(unsigned long)", 34, "std::vector<…>::at(unsigned long)");
        check("std::vector<std::pair<a, b> >::at(unsigned long)", 24, "std::vector<…>::at(…)");
        check("std::vector<int>::at(unsigned long)", 12, "std…::at(…)");
        check("f(void (*)(int))", 10, "f(…)");
        check("<a::Box<dyn b::F> as c::D<(e,)>>::call", 30, "<a::Box<…> as c::D<…>>::call");
        check("<a::Box<dyn b::F>>::call<x>", 20, "<a::Box<…>>::call<…>");
        check("f()", 2, "f…");
        check("<<<<", 2, "<…");
        check("alloc::collections::btree::map::insert", 20, "alloc::coll…::insert");
        check("core::iter::Map::next::{{closure}}", 24, "core…::next::{{closure}}");
        check("Stdlib.Hashtbl.MakeSeeded.replace", 20, "Stdlib.Hash….replace");
        check("a_function_of_c_with_a_long_name", 15, "a_funct…ng_name");
        check("short::a_function_of_rust_with_a_long_name", 15, "short…ng_name");
        check("operator->", 5, "op…->");
        check("Données.読み込み.メモリ", 15, "Données….メモリ");
    }

    #[test]
    fn places() {
        let check = |function, source, room, expected: [&str; 2]| {
            let (name, file) = place(function, source, room);
            assert_eq!([name.as_str(), file.as_str()], expected);
        };
        let (long, file) = ("a::".repeat(20) + "insert", "src/a/very/long/path/main.rs:123");
        check(&long, file, None, [&long, file]);
        check("main", file, Some(80), ["main", file]);
        check("main", file, Some(36), ["main", "…/a/very/long/path/main.rs:123"]);
        check(&long, file, Some(50), ["a::a::a::a::a::a…::insert", "…/long/path/main.rs:123"]);
        check("main", file, Some(20), ["main", "…/main.rs:123"]);
        check(&long, file, Some(20), ["a::a::a::a…::insert", ""]);
    }

    #[test]
    fn ends_of_texts() {
        assert_eq!(shorten_end("perl -e 1", Some(6)), "perl …");
        assert_eq!(shorten_end("perl -e 1", Some(9)), "perl -e 1");
        assert_eq!(shorten_end("perl -e 1", None), "perl -e 1");
    }

    #[test]
    fn ends_of_paths() {
        assert_eq!(last_components("/build/x/src/objects/call.c:1"), "src/objects/call.c:1");
        assert_eq!(last_components("/call.c:1"), "/call.c:1");
        assert_eq!(last_components("call.c:1"), "call.c:1");
    }

    #[test]
    fn paths() {
        let check = |path, columns, expected| assert_eq!(shorten_path(path, columns), expected);
        check("/a/b/c.c:1", 10, "/a/b/c.c:1");
        check("/a/bbb/c.c:1", 11, "…/bbb/c.c:1");
        check("/a/bbb/c.c:1", 10, "…/c.c:1");
        check("/long/directory/names/c.c:1", 16, "…/names/c.c:1");
        check("unbroken_name.c:123", 8, "…e.c:123");
        check("unbroken_name.c:123", 5, "");
        check("libunbroken.so", 4, "….so");
    }
}
