//! Names that outlive a rebuild.
//!
//! Compilers number what has no name: closures, lambdas, copies of a function that were specialised or
//! split. The numbers change with any change nearby, and Rust's hashes with the compiler. Without
//! them a function is called the same before and after. Two functions of one build may then be called
//! the same as well: [`matching`](super::matching) tells them apart.

use std::borrow::Cow;

/// What compilers append to a copy or a part of a function, perhaps with a number.
const COPIES: &[&str] =
    &["cold", "constprop", "isra", "llvm", "localalias", "lto_priv", "part", "specialized"];

/// A number after one of these is that of a nameless function.
const NUMBERED: &[&str] = &["#", "$_", "'lambda", "lambda_", ".fun_", "__fun_", "(fun_"];

/// What Rust's debug information adds to the names of closures' captures.
const CLOSURES: [(&str, &str); 2] = [("{{closure}}", "{closure}"), ("{closure_env", "{closure")];

/// The name of a function without what changes from build to build.
pub fn rebuilt_name(function: &str) -> Cow<'_, str> {
    let name = without_copies(without_version(function));
    let name = without_hash(name);
    let name = if is_ocaml_symbol(name) { without_stamp(name) } else { name };
    if !name.contains(|c: char| c.is_ascii_digit() || c == '{') {
        return Cow::Borrowed(name);
    }
    let mut name = without_numbers(name);
    for (from, to) in CLOSURES {
        if name.contains(from) {
            name = name.replace(from, to);
        }
    }
    Cow::Owned(without_position(name))
}

/// The name of a source file without its directories, which depend on who built it.
pub fn rebuilt_file(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

/// Of an ELF symbol: `memcpy@@GLIBC_2.14`.
fn without_version(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// `f.constprop.0.cold`, `f(int) [clone .isra.3]`, `f.12`.
fn without_copies(mut name: &str) -> &str {
    loop {
        let shorter = without_clone(name).or_else(|| without_copy(name));
        match shorter {
            Some(shorter) if !shorter.is_empty() => name = shorter,
            _ => return name,
        }
    }
}

fn without_clone(name: &str) -> Option<&str> {
    let (function, _) = name.strip_suffix(']')?.rsplit_once(" [clone ")?;
    Some(function)
}

fn without_copy(name: &str) -> Option<&str> {
    let (function, last) = name.rsplit_once('.')?;
    (is_number(last) || COPIES.contains(&last)).then_some(function)
}

/// Rust's: `::h0123456789abcdef`.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path
        }
        _ => name,
    }
}

/// `camlStdlib__List__map_456`, `camlFoo.bar_12`.
fn is_ocaml_symbol(name: &str) -> bool {
    name.strip_prefix("caml").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn without_stamp(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((function, stamp)) if is_number(stamp) => function,
        _ => name,
    }
}

/// `f::{closure#2}`, `'lambda3'(int)`, `$_4`, `Foo.fun_567`.
fn without_numbers(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[at..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |len| at + len);
        plain.push_str(&rest[..at]);
        if plain == "fun_" || NUMBERED.iter().any(|before| plain.ends_with(before)) {
            plain.truncate(plain.trim_end_matches(['#', '_']).len());
        } else {
            plain.push_str(&rest[at..end]);
        }
        rest = &rest[end..];
    }
    plain + rest
}

/// OCaml's `anon_fn[foo.ml:12,3--45]`.
fn without_position(name: String) -> String {
    let Some((before, inside)) = name.split_once("anon_fn[") else { return name };
    let Some((position, after)) = inside.split_once(']') else { return name };
    let file = position.split_once(':').map_or(position, |(file, _)| file);
    format!("{before}anon_fn[{file}]{after}")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_changes_from_build_to_build_is_dropped() {
        let check = |name: &str, expected| assert_eq!(rebuilt_name(name), expected, "{name}");
        check("alloc::vec::Vec<T>::push::h0123456789abcdef", "alloc::vec::Vec<T>::push");
        check("a::b::{{closure}}::hfedcba9876543210.llvm.123456", "a::b::{closure}");
        check("a::b::{closure#12}::{closure_env#0}<T>", "a::b::{closure}::{closure}<T>");
        check("parse.constprop.0.isra.12.cold", "parse");
        check("parse.part.3", "parse");
        check("counter.1234", "counter");
        check("f(int) [clone .constprop.0] [clone .cold]", "f(int)");
        check(
            "g()::{lambda(int)#2}::operator()(int) const",
            "g()::{lambda(int)}::operator()(int) const",
        );
        check("h()::'lambda0'(int)::operator()", "h()::'lambda'(int)::operator()");
        check("ns::$_17::operator()", "ns::$::operator()");
        check("memcpy@@GLIBC_2.14", "memcpy");
        check("camlStdlib__List__map_456", "camlStdlib__List__map");
        check("camlFoo__fun_1234", "camlFoo__fun");
        check("Foo.bar.fun_1234", "Foo.bar.fun");
        check("fun_12", "fun");
        check("Foo.anon_fn[foo.ml:12,3--45]", "Foo.anon_fn[foo.ml]");
    }

    #[test]
    fn what_has_a_name_keeps_it() {
        for name in [
            "utf8_to_utf16",
            "std::array<int, 5>::at",
            "sha256_block",
            "a::h264::decode",
            "a::hash",
            "Foo#bar",
            "operator new[](unsigned long)",
            "List.map2",
            "camlib_init_2",
            "refun_3",
            ".0",
            "cold",
            "",
        ] {
            assert_eq!(rebuilt_name(name), name);
        }
    }

    #[test]
    fn files_are_known_without_their_directories() {
        assert_eq!(rebuilt_file("/rustc/59807616e1fa/library/alloc/src/vec/mod.rs"), "mod.rs");
        assert_eq!(rebuilt_file("C:\\src\\a.c"), "a.c");
        assert_eq!(rebuilt_file("a.ml"), "a.ml");
        assert_eq!(rebuilt_file(""), "");
    }

    proptest! {
        #[test]
        fn a_rebuilt_name_stays(name in "([a-z]{1,3}|[0-9]|::|\\.|_|#|\\{|\\}|cold|fun_|h[0-9a-f]{16}){0,8}") {
            let once = rebuilt_name(&name).into_owned();
            prop_assert!(once.len() <= name.len());
            if !once.contains(['.', '@', '#', '_', '{', ':']) {
                prop_assert_eq!(&rebuilt_name(&once), &once);
            }
        }
    }
}
