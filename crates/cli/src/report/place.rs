//! What a place is called.

use lifetrace_analysis::Place;

use crate::human;

/// The function, in full.
pub fn function(place: &Place<'_>) -> String {
    match place {
        Place::Known(location) if location.defname.is_empty() => "(unnamed function)".to_owned(),
        Place::Known(location) => human::printable(&location.defname).into_owned(),
        Place::Unknown(code) => format!("(unknown frame {:#x})", code.0),
        Place::NoBacktrace => "(no backtrace)".to_owned(),
    }
}

/// `file:line`; nothing if the function's name has it all.
pub fn source(place: &Place<'_>) -> Option<String> {
    let Place::Known(location) = place else { return None };
    let file = human::printable(&location.filename);
    match location.line {
        0 if file.is_empty() || location.defname.starts_with(base_name(&file)) => None,
        0 => Some(file.into_owned()),
        line => Some(format!("{file}:{line}")),
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::event::Location;
    use lifetrace_trace::ids::LocationCode;

    use super::*;

    fn check(function_name: &str, file: &str, line: u32, expected: (&str, Option<&str>)) {
        let location = Location {
            filename: file.into(),
            line,
            start_char: 0,
            end_char: 0,
            defname: function_name.into(),
        };
        let place = Place::Known(&location);
        assert_eq!((function(&place).as_str(), source(&place).as_deref()), expected);
    }

    #[test]
    fn places() {
        check("f", "/src/a.c", 3, ("f", Some("/src/a.c:3")));
        check("f", "/lib/libz.so.1", 0, ("f", Some("/lib/libz.so.1")));
        check("libz.so.1+0x12", "/lib/libz.so.1", 0, ("libz.so.1+0x12", None));
        check("", "", 0, ("(unnamed function)", None));
        check("f\n", "a\x1b", 1, ("f\u{fffd}", Some("a\u{fffd}:1")));
        assert_eq!(function(&Place::Unknown(LocationCode(255))), "(unknown frame 0xff)");
        assert_eq!(source(&Place::NoBacktrace), None);
    }
}
