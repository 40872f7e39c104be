//! Names of functions and files in as many columns as there are.
//!
//! A C++ or Rust name says least in its generic arguments, so these go first, then the parameters,
//! then the end. A path says least at its beginning.

const ELLIPSIS: char = '…';

/// A file and its folders, of which a line of a backtrace shows no more.
const ENOUGH_COMPONENTS: usize = 3;

/// `function` in at most `columns` characters.
pub fn shorten_function(function: &str, columns: usize) -> String {
    let fits = |name: &String| name.chars().count() <= columns;
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
    if fits(&name) { name } else { cut(&name, columns) }
}

/// The end of `path` that tells files apart for somebody who knows the program.
pub fn last_components(path: &str) -> &str {
    path.rmatch_indices('/').nth(ENOUGH_COMPONENTS - 1).map_or(path, |(at, _)| &path[at + 1..])
}

/// `path` in at most `columns` characters, by whole components as far as possible.
pub fn shorten_path(path: &str, columns: usize) -> String {
    if path.chars().count() <= columns {
        return path.to_owned();
    }
    let room = columns.saturating_sub(1);
    let tails = path.match_indices('/').map(|(at, _)| &path[at..]);
    let mut fitting = tails.filter(|tail| tail.chars().count() <= room);
    match fitting.next() {
        Some(tail) => format!("{ELLIPSIS}{tail}"),
        None => {
            let skipped = path.chars().count() - room;
            std::iter::once(ELLIPSIS).chain(path.chars().skip(skipped)).collect()
        }
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

fn cut(name: &str, columns: usize) -> String {
    name.chars().take(columns.saturating_sub(1)).chain([ELLIPSIS]).collect()
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
        check("std::vector<int>::at(unsigned long)", 12, "std::vector…");
        check("f(void (*)(int))", 10, "f(…)");
        check("<a::Box<dyn b::F> as c::D<(e,)>>::call", 30, "<a::Box<…> as c::D<…>>::call");
        check("<a::Box<dyn b::F>>::call<x>", 20, "<a::Box<…>>::call<…>");
        check("f()", 2, "f…");
        check("<<<<", 2, "<…");
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
    }
}
