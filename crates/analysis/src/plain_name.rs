//! The path of a function, without what demanglers put around it.
//!
//! Generics, parameters, return types and inline namespaces are dropped, so that
//! `void* std::__1::vector<int>::grow(unsigned long)` becomes `std::vector::grow`. No parser: names
//! that make no sense give names that match nothing.

use std::borrow::Cow;

/// The path of a function alone: `std::vector::grow` of `void* std::__1::vector<int>::grow(unsigned long)`.
pub fn plain_name(function: &str) -> Cow<'_, str> {
    // An ELF symbol's version.
    let function = function.split_once('@').map_or(function, |(name, _)| name);
    if function.starts_with("operator new") || !function.contains(['<', '(', ' ']) {
        return Cow::Borrowed(function);
    }
    let path = match function.strip_prefix('<') {
        Some(rest) => qualified_path(rest),
        None => without_brackets(function),
    };
    let path = path.rsplit(' ').next().unwrap_or(&path);
    Cow::Owned(path.trim_end_matches("::").replace("::__1::", "::").replace("::__cxx11::", "::"))
}

/// The path of Rust's `<Type as Trait>::method`, of which the `<` is gone: through the type if that
/// has a path, else through the trait.
fn qualified_path(rest: &str) -> String {
    let end = depths(rest).find(|&(_, depth)| depth < 0).map_or(rest.len(), |(at, _)| at);
    let (inside, method) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
    let (type_name, trait_name) = split_as(inside);
    let path = without_brackets(type_name.trim_start_matches(['&', '[', '(']));
    let path = if path.contains("::") { path } else { without_brackets(trait_name) };
    path + &without_brackets(method)
}

/// Both sides of an `as` that is in no brackets; `inside` twice if there is none.
fn split_as(inside: &str) -> (&str, &str) {
    const AS: &str = " as ";
    let mut outside = depths(inside).filter(|&(_, depth)| depth == 0).map(|(at, _)| at);
    match outside.find(|&at| inside[at..].starts_with(AS)) {
        Some(at) => (&inside[..at], &inside[at + AS.len()..]),
        None => (inside, inside),
    }
}

/// Each character's place, and how many angle brackets are open after it; arrows do not count.
fn depths(text: &str) -> impl Iterator<Item = (usize, i64)> {
    let (mut depth, mut previous) = (0, ' ');
    text.char_indices().map(move |(at, character)| {
        depth += bracket_step(previous, character);
        previous = character;
        (at, depth)
    })
}

fn bracket_step(previous: char, character: char) -> i64 {
    match character {
        '<' => 1,
        '>' if previous != '-' => -1,
        _ => 0,
    }
}

/// `function` up to its parameters, without what is in angle brackets.
fn without_brackets(function: &str) -> String {
    let function = function.replace("(anonymous namespace)", "anonymous");
    let (mut depth, mut previous) = (0, ' ');
    let mut path = String::with_capacity(function.len());
    for character in function.chars() {
        let step = bracket_step(previous, character);
        previous = character;
        match character {
            '(' if depth == 0 => break,
            _ if depth == 0 && step == 0 => path.push(character),
            _ => depth += step,
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_paths() {
        let check = |function, expected| assert_eq!(plain_name(function), expected);
        check("void* std::__1::vector<int>::grow(unsigned long)", "std::vector::grow");
        check("int (anonymous namespace)::f<a<b> >(int) const", "anonymous::f");
        check("<a::B<c::D> as e::F<G>>::h::<I>", "a::B::h");
        check("<T as e::F<a::B>>::h", "e::F::h");
        check("<dyn Fn() -> a::B as e::F>::h", "e::F::h");
    }
    #[test]
    fn long_names_take_linear_time() {
        for name in
            ["<".repeat(100_000), format!("<{}", "a> as ".repeat(20_000)), "f<->(".repeat(20_000)]
        {
            plain_name(&name);
        }
    }
}
