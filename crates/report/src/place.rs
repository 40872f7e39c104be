//! What a place is called.

use lifetrace_analysis::Place;
use lifetrace_human as human;

use super::shorten::last_components;

/// The function, in full.
pub fn function(place: &Place<'_>) -> String {
    match place {
        Place::Known(location) if location.defname.is_empty() => "(unnamed function)".to_owned(),
        Place::Known(location) => human::printable(&location.defname).into_owned(),
        Place::Unknown(code) => format!("(unknown frame {:#x})", code.0),
        Place::NoBacktrace => "(no backtrace)".to_owned(),
    }
}

/// `file:line`, or the object file; nothing if the function's name has it all.
pub fn source(place: &Place<'_>) -> Option<String> {
    source_with(place, |path| path, |path| path)
}

/// [`source`], with the columns: `file:line:first-last`.
pub fn exact_source(place: &Place<'_>) -> Option<String> {
    let source = source(place)?;
    Some(match place.columns() {
        Some((first, last)) if last > first => format!("{source}:{first}-{last}"),
        Some((first, _)) => format!("{source}:{first}"),
        None => source,
    })
}

/// The end of [`source`], which is enough for somebody who knows the program.
pub fn brief_source(place: &Place<'_>) -> Option<String> {
    source_with(place, last_components, base_name)
}

/// The file, in full; nothing where none is known.
pub fn file(place: &Place<'_>) -> Option<String> {
    let Place::Known(location) = place else { return None };
    let path = human::printable(&location.filename);
    (!path.is_empty()).then(|| path.into_owned())
}

fn source_with(
    place: &Place<'_>,
    file_part: impl Fn(&str) -> &str,
    object_part: impl Fn(&str) -> &str,
) -> Option<String> {
    let Place::Known(location) = place else { return None };
    let path = human::printable(&location.filename);
    match location.line {
        0 if path.is_empty() || is_offset_in(&location.defname, base_name(&path)) => None,
        0 => Some(object_part(&path).to_owned()),
        line => Some(format!("{}:{line}", file_part(&path))),
    }
}

/// The object file that has no name for the function; nothing if it has one.
pub fn nameless_object(place: &Place<'_>) -> Option<String> {
    let Place::Known(location) = place else { return None };
    let path = human::printable(&location.filename);
    let object = base_name(&path);
    is_offset_in(&location.defname, object).then(|| object.to_owned())
}

/// Whether a function without a name is called `object+0x12ab`.
fn is_offset_in(function: &str, object: &str) -> bool {
    function.strip_prefix(object).is_some_and(|rest| rest.starts_with("+0x"))
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
        check("perl_run", "/usr/bin/perl", 0, ("perl_run", Some("/usr/bin/perl")));
        check("", "", 0, ("(unnamed function)", None));
        check("f\n", "a\x1b", 1, ("f\\u{a}", Some("a\\u{1b}:1")));
        assert_eq!(function(&Place::Unknown(LocationCode(255))), "(unknown frame 0xff)");
        assert_eq!(source(&Place::NoBacktrace), None);
    }
    #[test]
    fn brief_sources() {
        let check = |file: &str, line, expected| {
            let location = Location {
                filename: file.into(),
                line,
                start_char: 0,
                end_char: 0,
                defname: "f".into(),
            };
            assert_eq!(brief_source(&Place::Known(&location)).as_deref(), Some(expected));
        };
        check("/build/x/src/call.c", 7, "x/src/call.c:7");
        check("/usr/lib/libz.so.1", 0, "libz.so.1");
    }
}
