//! How locations look, with and without symbols.

use std::path::Path;

use blazesym::symbolize::{CodeInfo, Sym};
use lifetrace_trace::event::Location;

use super::ObjectFile;
use super::fit::fit;
use crate::modules::FileAddress;

/// A function and what is inlined into it at this address, outermost first.
pub(super) fn resolved(object: &ObjectFile, symbol: &Sym<'_>) -> Vec<Location> {
    let name = match symbol.size {
        // A label without a size may have nothing to do with the code that follows it.
        None if symbol.offset > 0 && symbol.code_info.is_none() => {
            format!("{}+{:#x}", without_hash(&symbol.name), symbol.offset)
        }
        _ => without_hash(&symbol.name).to_owned(),
    };
    let outer = location(object, name, symbol.code_info.as_deref());
    let inlined = symbol.inlined.iter().map(|function| {
        let name = without_hash(&function.name).to_owned();
        location(object, name, function.code_info.as_ref())
    });
    fit(std::iter::once(outer).chain(inlined).collect())
}

/// A function at a line of a file; that of the module itself if none is known.
pub(super) fn placed(
    object: &ObjectFile,
    name: &str,
    file: Option<&str>,
    line: u32,
    column: u32,
) -> Location {
    Location {
        filename: file.unwrap_or(object.name()).into(),
        line,
        start_char: column,
        end_char: column,
        defname: without_hash(name).into(),
    }
}

/// An address in a file that has no symbol for it: `libfoo.so.1+0x1234`.
pub(super) fn unresolved(object: &ObjectFile, address: FileAddress) -> Location {
    let file = Path::new(object.name()).file_name().unwrap_or_default().to_string_lossy();
    location(object, format!("{file}+{:#x}", address.0), None)
}

pub(super) fn anonymous(address: u64) -> Location {
    Location {
        filename: "[anonymous]".into(),
        line: 0,
        start_char: 0,
        end_char: 0,
        defname: format!("{address:#x}").into(),
    }
}

fn location(object: &ObjectFile, defname: String, code: Option<&CodeInfo<'_>>) -> Location {
    let column = code.and_then(|code| code.column).map_or(0, u32::from);
    Location {
        filename: match code {
            Some(code) => code.to_path().to_string_lossy().into(),
            None => object.name().into(),
        },
        line: code.and_then(|code| code.line).unwrap_or(0),
        start_char: column,
        end_char: column,
        defname: defname.into(),
    }
}

/// Removes what rustc's older mangling puts behind every path: `::h` and 16 hexadecimal digits.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hashes_are_removed() {
        for (name, expected) in [
            ("core::fmt::write::h0123456789abcdef", "core::fmt::write"),
            ("core::fmt::write", "core::fmt::write"),
            ("a::h0123456789abcde", "a::h0123456789abcde"),
            ("a::h0123456789abcdeg", "a::h0123456789abcdeg"),
            ("std::vector<int>::hash", "std::vector<int>::hash"),
        ] {
            assert_eq!(without_hash(name), expected);
        }
    }
}
