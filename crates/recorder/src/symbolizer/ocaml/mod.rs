//! What the linker calls `camlStdlib__List__map_456`, OCaml's runtime calls `Stdlib__List.map`. One function has
//! one name, however its frame was found: the runtime's.
//!
//! The runtime has names for calls alone if a program was compiled without `-g`; its tables are in the file, so the
//! name of a function is there as soon as anything in it has one ([`tables`]). Of others the linker's name is
//! taken apart ([`Function`]).

mod tables;

use std::fmt;

use blazesym::symbolize::Sym;
use lifetrace_trace::event::Location;

use super::ObjectFile;
use tables::Functions;

/// What the runtime calls the OCaml function that the linker calls so, if it is one.
pub(crate) fn function_name(symbol: &str) -> Option<String> {
    Function::of(symbol).map(|function| function.to_string())
}

/// The names of a file's OCaml functions.
#[derive(Debug)]
pub(super) struct Names(Option<Functions>);

/// Whether the linker calls an OCaml function so.
pub(super) fn is_ocaml(symbol: &str) -> bool {
    symbol
        .strip_prefix("caml")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

impl Names {
    /// Those that the file has; none where its tables are not to be had.
    pub(super) fn read(object: &ObjectFile) -> Names {
        Names(object.file().and_then(|file| tables::read(file, object.sources())))
    }

    /// Calls the function at `symbol` as the runtime does.
    pub(super) fn rename(&self, symbol: &Sym<'_>, location: &mut Location) {
        let Some(function) = Function::of(&symbol.name) else { return };
        let code = symbol.addr..symbol.addr + symbol.size.unwrap_or(0) as u64;
        let mut names = self.0.iter().flat_map(|functions| functions.in_code(code.clone()));
        // Without `-g` there are calls from code that was inlined, which go by the function that it is from.
        if let Some(name) = names.find(|name| function.may_be(&name.function)) {
            location.defname = name.function.clone();
            location.filename = name.file.clone();
        } else {
            location.defname = function.to_string().into();
        }
    }
}

/// What a symbol tells of a function. Modules within a file's are not in it.
#[derive(Debug)]
struct Function<'a> {
    module: &'a str,
    /// Empty of the module's own code.
    value: String,
}

impl<'a> Function<'a> {
    /// `camlStdlib__List__map_456`, or, since OCaml 5.1, `camlStdlib__List.map_456`. `None` if it is made otherwise.
    fn of(symbol: &'a str) -> Option<Function<'a>> {
        let rest = is_ocaml(symbol).then(|| &symbol["caml".len()..])?;
        let (module, value) = split(rest)?;
        let value = match value.rsplit_once('_') {
            Some((name, stamp)) if is_number(stamp) => unescaped(name),
            _ => unescaped(value),
        };
        let value = match value.as_str() {
            "" => return None,
            "entry" => String::new(),
            "fun" => "(fun)".to_owned(),
            _ => value,
        };
        Some(Function { module, value })
    }

    /// Whether the runtime may call it `name`.
    fn may_be(&self, name: &str) -> bool {
        let Some(inner) = name.strip_prefix(self.module) else { return false };
        match inner.strip_suffix(&self.value) {
            Some("") => self.value.is_empty(),
            Some(modules) => modules.starts_with('.') && modules.ends_with('.'),
            None => false,
        }
    }
}

impl fmt::Display for Function<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.as_str() {
            "" => f.write_str(self.module),
            value => write!(f, "{}.{value}", self.module),
        }
    }
}

/// A module's name (which may have two underscores in it) and that of a value, which has no capital first.
fn split(rest: &str) -> Option<(&str, &str)> {
    if let Some(parts) = rest.split_once('.') {
        return Some(parts);
    }
    let parts = rest.match_indices("__").filter(|(at, _)| {
        let before = rest[..*at].rsplit("__").next().unwrap_or_default();
        before.starts_with(|c: char| c.is_ascii_uppercase())
    });
    let (at, _) = parts.last()?;
    Some((&rest[..at], &rest[at + 2..]))
}

/// What a symbol may not have in it is there as `$` and two hexadecimal digits.
fn unescaped(name: &str) -> String {
    let mut parts = name.split('$');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match digits.filter(u8::is_ascii_graphic) {
            Some(byte) => whole.extend([char::from(byte).to_string().as_str(), &part[2..]]),
            None => whole.extend(["$", part]),
        }
    }
    whole
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_taken_apart() {
        let name = |symbol| Function::of(symbol).map(|function| function.to_string());
        let check = |symbol, expected| assert_eq!(name(symbol).as_deref(), expected);
        check("camlNodbg__build_81", Some("Nodbg.build"));
        check("camlNodbg.build_81", Some("Nodbg.build"));
        check("camlStdlib__List__map_456", Some("Stdlib__List.map"));
        check("camlDune__exe__Main__go_up_12", Some("Dune__exe__Main.go_up"));
        check("camlNodbg__with__two_12", Some("Nodbg.with__two"));
        check("camlNodbg__f$27_7", Some("Nodbg.f'"));
        check("camlNodbg__$2b$2b_7", Some("Nodbg.++"));
        check("camlNodbg__fun_123", Some("Nodbg.(fun)"));
        check("camlNodbg__entry", Some("Nodbg"));
        check("camlNodbg__a$zz_1", Some("Nodbg.a$zz"));
        check("camlNodbg", None);
        check("caml_program", None);
        check("caml", None);
        check("camlÄ__x_1", None);
    }

    #[test]
    fn names_within_a_function_may_be_of_what_is_inlined() {
        let check = |symbol, name, expected| {
            assert_eq!(Function::of(symbol).unwrap().may_be(name), expected, "{symbol} {name}");
        };
        check("camlPlain__kept_170", "Plain.kept", true);
        check("camlPlain__kept_170", "Plain.Inner.kept", true);
        check("camlPlain__kept_170", "Account.kept", false);
        check("camlPlain__kept_170", "Plain.promoted", false);
        check("camlPlain__kept_170", "Plain.unkept", false);
        check("camlPlain__kept_170", "Plainkept", false);
        check("camlPlain__$2b$2e_1", "Plain.+.", true);
        check("camlPlain__fun_170", "Plain.Inner.f.(fun)", true);
        check("camlPlain__entry", "Plain", true);
        check("camlPlain__entry", "Plain.f", false);
    }
}
