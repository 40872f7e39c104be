//! A frame as Valgrind's tools print it: `0x10A2B3: name (file.c:12)`, `0x10A2B3: ??? (in /usr/bin/perl)`.

use lifetrace_trace::event::Location;
use lifetrace_trace::frame::{Frame, FrameKind};

/// What Valgrind calls a function whose name it doesn't know.
const NAMELESS: &str = "???";

/// What a line of the frame table stands for.
pub fn parse(text: &str) -> Frame {
    let (address, rest) = match text.split_once(": ") {
        Some((address, rest)) if is_address(address) => (Some(address), rest),
        _ => (None, text),
    };
    let (name, place) = split_place(rest);
    let (filename, line, column) = match place.strip_prefix("in ") {
        Some(object) => (object, 0, 0),
        None => file_and_line(place),
    };
    let base = filename.rsplit('/').next().unwrap_or_default();
    let defname = match (name, address) {
        (NAMELESS, Some(address)) if !base.is_empty() => {
            format!("{base}+{}", address.to_lowercase()).into()
        }
        (NAMELESS, Some(address)) => address.to_lowercase().into(),
        _ => name.into(),
    };
    let (start_char, end_char) = (column, column);
    let location = Location { filename: filename.into(), line, start_char, end_char, defname };
    Frame { locations: vec![location], kind: FrameKind::Native, module: None }
}

fn is_address(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Names have parentheses as well: the place is in the last ones, after a space.
fn split_place(text: &str) -> (&str, &str) {
    let inner = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    inner.unwrap_or((text, ""))
}

/// `file:line`, `file:line:column` or `file`.
fn file_and_line(place: &str) -> (&str, u32, u32) {
    let number = |text: &str| text.parse().ok();
    let Some((before, Some(last))) = place.rsplit_once(':').map(|(a, b)| (a, number(b))) else {
        return (place, 0, 0);
    };
    match before.rsplit_once(':').map(|(file, line)| (file, number(line))) {
        Some((file, Some(line))) => (file, line, last),
        _ => (before, last, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, file: &str, line: u32, column: u32) {
        let frame = parse(text);
        let [location] = &frame.locations[..] else { panic!("{frame:?}") };
        assert_eq!((&*location.defname, &*location.filename), (name, file), "{text}");
        assert_eq!((location.line, location.start_char), (line, column), "{text}");
    }

    #[test]
    fn frames() {
        check("0x10919E: main (a.c:12)", "main", "a.c", 12, 0);
        check("0x23AFAD: ??? (in /usr/bin/perl)", "perl+0x23afad", "/usr/bin/perl", 0, 0);
        check("0x23B904: Perl_pp (in /usr/bin/perl)", "Perl_pp", "/usr/bin/perl", 0, 0);
        check("0x4C3: std::f(int (*)(char)) (x.h:7)", "std::f(int (*)(char))", "x.h", 7, 0);
        check("0x55: a::b::{{closure}} (src/a.rs:32:11)", "a::b::{{closure}}", "src/a.rs", 32, 11);
        check("0x1FFF: ???", "0x1fff", "", 0, 0);
        check("[root]", "[root]", "", 0, 0);
        check("a: b", "a: b", "", 0, 0);
        check("", "", "", 0, 0);
        check("0x1: f (g)", "f", "g", 0, 0);
    }
}
